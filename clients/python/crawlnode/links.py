"""Links of HTML pages: enough for a worker without other packages."""

from __future__ import annotations

import html.parser
import re
import urllib.parse
from typing import Dict, Iterable, List, NamedTuple, Optional, Sequence, Tuple

from ._archive import decode_text

__all__ = ["Links", "links_of", "nofollow_header"]

# What the cluster takes of a page: so many links, so many bytes together, so many bytes of one.
MAX_LINKS, MAX_LINK_BYTES, MAX_LINK = 10_000, 3 << 20, 2083

# A page is parsed in pieces, in characters. What is left of a piece is a tag or comment without its
# end. The parser reads such a rest again with each piece, and at the end once for each "<" in it:
# so the rest is bounded, and a page of such tags costs no more than another one.
_PIECE, _LONGEST_TAG, _LONGEST_END = 64 << 10, 1 << 20, 4 << 10

_REFRESH = re.compile(r"\s*\d*\.?\d*\s*[;,]?\s*(?:url\s*=\s*)?[\"']?([^\"']*)", re.I)
# The elements that lead to other pages, and the attribute that says where.
_LEADS = {"a": "href", "area": "href", "iframe": "src", "frame": "src"}


class Links(NamedTuple):
    """The links of a page."""

    #: Each once, in the order of the page; none when the page asks for that.
    links: List[str]
    #: How many there were.
    found: int


class _Page(html.parser.HTMLParser):
    def __init__(self, agent: str) -> None:
        super().__init__(convert_charrefs=True)
        self._agents = ("robots", agent.lower())
        self.hrefs: List[str] = []
        self.base: Optional[str] = None
        self.nofollow = False

    def handle_starttag(self, tag: str, attrs: List[Tuple[str, Optional[str]]]) -> None:
        attribute = _LEADS.get(tag)
        if attribute is None and tag not in ("base", "meta"):
            return
        of: Dict[str, str] = {}
        for name, value in attrs:
            of.setdefault(name, value or "")
        if attribute is not None:
            if attribute in of:
                self.hrefs.append(of[attribute])
        elif tag == "base":
            if self.base is None and "href" in of:
                self.base = of["href"]
        elif of.get("name", "").strip().lower() in self._agents:
            words = re.split(r"[\s,]+", of.get("content", "").lower())
            self.nofollow = self.nofollow or "nofollow" in words or "none" in words
        elif of.get("http-equiv", "").strip().lower() == "refresh":
            m = _REFRESH.match(of.get("content", ""))
            if m and m.group(1).strip():
                self.hrefs.append(m.group(1))


def nofollow_header(lines: Iterable[str], agent: str) -> bool:
    """Whether the X-Robots-Tag lines of an answer ask all robots, or agent, not to follow links."""
    agent = agent.lower()
    for line in lines:
        to_us = True
        for part in line.lower().split(","):
            name, colon, rest = part.partition(":")
            name = name.strip()
            # A part such as "unavailable_after: date" is a rule, not a name.
            if colon and name not in ("unavailable_after", "max-snippet", "max-image-preview",
                                      "max-video-preview"):
                to_us, part = name == agent, rest
            if to_us and part.strip() in ("nofollow", "none"):
                return True
    return False


def links_of(
    body: bytes, url: str, *, content_type: str = "text/html", robots_agent: str = "crawlnode",
    x_robots_tag: Sequence[str] = (), absolute: bool = True,
) -> Links:
    """The links of an HTML page that was fetched from url.

    They are absolute; with absolute false those of a page without a base element stay as they are
    written, for the cluster, which resolves them as browsers do.

    A page that says ``nofollow`` to all robots or to robots_agent, in a meta element or in the
    lines of x_robots_tag, has none. Of a long page the first 10,000 are taken, as the cluster does.
    A damaged page has the links that can be read; it is no error.
    """
    page = _Page(robots_agent)
    text = decode_text(body, "", content_type)
    try:
        for start in range(0, len(text), _PIECE):
            page.feed(text[start:start + _PIECE])
            if len(page.rawdata) > _LONGEST_TAG:
                page.rawdata = ""
        page.rawdata = page.rawdata[:_LONGEST_END]
        page.close()
    except (AssertionError, ValueError, RecursionError):
        pass  # older parsers give up on some markup; what came before counts
    if page.nofollow or nofollow_header(x_robots_tag, robots_agent):
        return Links([], len(page.hrefs))
    base = url
    if page.base is not None:
        base = _join(url, page.base) or url
    if page.base is None and not absolute:
        made = [_tidy(href) or "" for href in page.hrefs]
    else:
        made = [_join(base, href) for href in page.hrefs]
    return Links(bounded(link for link in made if link), len(page.hrefs))


_OTHER_SCHEME = re.compile(r"(?!https?:)[a-z][a-z0-9+.-]*:", re.I | re.ASCII)
_INSIDE = re.compile(r"[\t\r\n]")


def _tidy(href: str) -> Optional[str]:
    """A reference as browsers read it, without fragment; None if it has another scheme."""
    href = _INSIDE.sub("", href.strip(" \t\r\n\f\0")).partition("#")[0]
    if _OTHER_SCHEME.match(href):
        return None
    path, mark, query = href.partition("?")
    return path.replace("\\", "/") + mark + query


def _join(base: str, href: str) -> str:
    """The absolute http or https URL of a reference, without fragment; "" if it leads elsewhere."""
    tidy = _tidy(href)
    if tidy is None:
        return ""
    try:
        made = urllib.parse.urldefrag(urllib.parse.urljoin(base, tidy))[0]
    except ValueError:
        return ""
    return made if made[:7].lower() == "http://" or made[:8].lower() == "https://" else ""


def bounded(links: Iterable[str]) -> List[str]:
    """Links as the cluster takes them: each once, within its limits of number and size."""
    seen: Dict[str, None] = {}
    size = 0
    for link in links:
        length = len(link.encode("utf-8", "replace"))
        if link in seen or not 0 < length <= MAX_LINK:
            continue
        size += length
        if len(seen) >= MAX_LINKS or size > MAX_LINK_BYTES:
            break
        seen[link] = None
    return list(seen)
