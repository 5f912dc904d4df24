# What `crawlnode bench --against scrapy` runs: all links of all pages within a domain, each page into a file.
import itertools
import os

from scrapy.http import HtmlResponse
from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import Spider
from scrapy import Request


class Bench(Spider):
    name = "bench"
    custom_settings = {
        "ROBOTSTXT_OBEY": True, "CONCURRENT_REQUESTS": 32, "CONCURRENT_REQUESTS_PER_DOMAIN": 1, "RETRY_ENABLED": False, "COOKIES_ENABLED": False,
        "LOG_LEVEL": "CRITICAL", "TELNETCONSOLE_ENABLED": False, "DEPTH_LIMIT": 0,
    }

    def __init__(self, seeds, domain, files, **more):
        super().__init__(**more)
        with open(seeds) as lines:
            self.seeds = lines.read().split()
        self.allowed_domains = [domain]
        self.links = LinkExtractor()
        self.files, self.number = files, itertools.count()

    def start_requests(self):
        return (Request(url) for url in self.seeds)

    def parse(self, response):
        with open(os.path.join(self.files, str(next(self.number))), "wb") as file:
            file.write(response.body)
        if isinstance(response, HtmlResponse):
            for link in self.links.extract_links(response):
                yield Request(link.url)
