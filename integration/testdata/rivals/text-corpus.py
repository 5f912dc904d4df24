# The spider that a user of Scrapy would write for a corpus of texts.
from urllib.parse import urlsplit

from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import CrawlSpider, Rule


class Texts(CrawlSpider):
    name = "texts"
    rules = [Rule(LinkExtractor(), callback="page", follow=True)]

    def __init__(self, url):
        self.start_urls = [url]
        self.allowed_domains = [urlsplit(url).hostname]
        super().__init__()

    def page(self, response):
        text = response.xpath("//body//text()[not(ancestor::script or ancestor::style)]").getall()
        yield {"url": response.url, "text": " ".join(" ".join(text).split())}
