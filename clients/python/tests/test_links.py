"""Links of pages."""

import random
import unittest

from tests.fake import Case  # noqa: F401 - it makes the module importable

from crawlnode import links_of
from crawlnode.links import MAX_LINK, bounded, nofollow_header

URL = "http://a.test/dir/page?q#f"


class LinksOf(unittest.TestCase):
    def test_tags_without_end(self) -> None:
        # The parser alone would take hours: it looks for the end of each anew.
        for html in ("<a ", "<!--", '<a href="', "<b", "</a ", "<![CDATA[", "<?"):
            page = "<a href=/first>t</a>" + html * (1_000_000 // len(html))
            links = links_of(page.encode(), "http://a.test/")
            self.assertEqual(links.links, ["http://a.test/first"], html)

    def test_table(self) -> None:
        for html, want in {
            '<a href="b">': ["http://a.test/dir/b"],
            "<A HREF=/c#x><area href='?z'>": ["http://a.test/c", "http://a.test/dir/page?z"],
            '<a href="\\"><a href="\\d\\e?\\"><a href="x\n\ty">':
                ["http://a.test/", "http://a.test/d/e?\\", "http://a.test/dir/xy"],
            '<iframe src="//b.test/"><frame src=f>': ["http://b.test/", "http://a.test/dir/f"],
            '<base href="/base/"><base href="/no/"><a href=x>': ["http://a.test/base/x"],
            '<a href="mailto:a@b"><a href="javascript:x"><a href="http://[bad"><a>': [],
            '<a href="x&amp;y=1"><a href=" \n z ">': ["http://a.test/dir/x&y=1", "http://a.test/dir/z"],
            '<meta http-equiv=Refresh content="3; URL=\'next\'">': ["http://a.test/dir/next"],
            '<meta http-equiv=refresh content="3">': [],
            '<a href=x><a href=x>': ["http://a.test/dir/x"],
            '<!-- <a href=x> --><script>"<a href=x>"</script>': [],
            '<meta name=robots content="noindex, NOFOLLOW"><a href=x>': [],
            '<meta name=CrawlNode content=none><a href=x>': [],
            '<meta name=otherbot content=nofollow><a href=x>': ["http://a.test/dir/x"],
            "<a href=x": [], "<![": [], "<!DOCTYPE [<!ENTITY": [],
        }.items():
            with self.subTest(html):
                self.assertEqual(links_of(html.encode(), URL).links, want)

    def test_as_written(self) -> None:
        html = b'<a href=" ../b#f"><a href="#x"><a href="mailto:x"><a href="HTTPS:\\\\c">'
        self.assertEqual(links_of(html, URL, absolute=False).links, ["../b", "HTTPS://c"])
        html = b'<base href=/d/>' + html
        self.assertEqual(links_of(html, URL, absolute=False).links,
                         ["http://a.test/b", "http://a.test/d/", "HTTPS://c"])

    def test_header(self) -> None:
        for lines, want in (
            (["noindex"], False), (["noindex, nofollow"], True), (["None"], True),
            (["otherbot: nofollow"], False), (["otherbot: noindex, nofollow"], False),
            (["otherbot: noindex", "nofollow"], True), (["crawlnode: nofollow"], True),
            (["otherbot: noindex, crawlnode: nofollow"], True),
            (["unavailable_after: 25 Jun 2030 15:00:00 PST, nofollow"], True), ([], False),
        ):
            with self.subTest(lines):
                self.assertEqual(nofollow_header(lines, "CrawlNode"), want)
        page = links_of(b"<a href=x>", URL, x_robots_tag=["nofollow"])
        self.assertEqual((page.links, page.found), ([], 1))

    def test_bounds(self) -> None:
        self.assertEqual(len(bounded("http://a.test/%d" % i for i in range(20_000))), 10_000)
        self.assertEqual(bounded(["http://a.test/" + "x" * MAX_LINK, "", "b"]), ["b"])
        self.assertLess(len(bounded("http://a.test/%s%d" % ("x" * 2000, i) for i in range(5000))), 1600)

    def test_random_markup(self) -> None:
        draw = random.Random(4)
        words = ["<a href=", "<base href=", "<meta ", "'", '"', ">", "<!--", "-->", "<![CDATA[", "]]>",
                 "http://", "[", "&#x110000;", "&amp", "\0", "\xff", "<?", "</", "<script>", "=", " "]
        for _ in range(2000):
            html = "".join(draw.choice(words) for _ in range(draw.randrange(30)))
            for link in links_of(html.encode("latin-1", "replace"), URL).links:
                self.assertTrue(link.lower().startswith(("http://", "https://")))

    def test_deep(self) -> None:
        self.assertEqual(links_of(b"<div>" * 200_000 + b"<a href=x>", URL).found, 1)


if __name__ == "__main__":
    unittest.main()
