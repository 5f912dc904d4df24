"""One record of an archive (WARC, ISO 28500), and the answer of a web server in it."""

from __future__ import annotations

import importlib
import re
import zlib
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple

from .errors import NoDecoder, NotFound, Unreadable

#: The most that is unpacked of a capture by default, in bytes.
MAX_CONTENT = 64 << 20

# The most bytes of heads (WARC and HTTP) that are read, and how many codings of a body.
_MAX_HEAD, _MAX_CODINGS = 1 << 20, 4

Header = List[Tuple[str, str]]


class Warc(NamedTuple):
    """A record."""

    fields: Dict[str, str]  # by lower-case names
    block: bytes


class Content(bytes):
    """The body of a stored answer, without content codings such as gzip. It is ``bytes``; what is
    known of it are attributes."""

    #: The URL that it was fetched from.
    url: str
    #: The HTTP status of the answer.
    status: int
    #: The media type without parameters, in lower case, as the web server said it; "" without.
    content_type: str
    #: The lines of the answer's head, as (name, value).
    headers: List[Tuple[str, str]]
    #: When it was fetched (RFC 3339, UTC); that of the visit, also when it was unchanged then.
    at: str
    #: Whether the body goes on beyond what was stored or unpacked.
    truncated: bool

    @property
    def body(self) -> bytes:
        """The same as plain ``bytes``."""
        return bytes(self)

    def header(self, name: str) -> Optional[str]:
        """The first header line of that name, in any case; None without one."""
        for key, value in self.headers:
            if key.lower() == name.lower():
                return value
        return None

    def text(self, encoding: Optional[str] = None) -> str:
        """The body as text, by encoding, a byte order mark, the charset of its Content-Type or of
        a meta element, else UTF-8. What cannot be decoded becomes U+FFFD."""
        return decode_text(self, encoding or "", self.header("Content-Type") or "")


_MARKS = ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))
_META_CHARSET = re.compile(
    rb"<meta[^>]{0,500}?charset\s*=\s*[\"']?\s*([A-Za-z0-9_:.-]{1,40})", re.I
)


def decode_text(body: bytes, encoding: str, content_type: str) -> str:
    """The text of a body. It never fails: what cannot be decoded becomes U+FFFD."""
    named = encoding
    if not named:
        for mark, of in _MARKS:
            if body.startswith(mark):
                named = of
                break
    if not named:
        m = re.search(r"charset\s*=\s*[\"']?\s*([A-Za-z0-9_:.-]{1,40})", content_type, re.I)
        inside = None if m else _META_CHARSET.search(body[:4096])
        named = m.group(1) if m else inside.group(1).decode("ascii") if inside else "utf-8"
    if named.lower() in ("iso-8859-1", "latin1", "latin-1", "ascii", "us-ascii"):
        named = "cp1252"  # as browsers read them
    try:
        return bytes(body).decode(named, "replace")
    except (LookupError, ValueError):  # not an encoding of text, or none at all
        return bytes(body).decode("utf-8", "replace")


def parse_member(member: bytes, limit: int) -> Tuple[Warc, bool]:
    """The record in a gzip member or zstd frame, and whether it was cut at limit bytes.
    Unreadable: it is damaged."""
    plain, cut = unpack(member, limit + 2 * _MAX_HEAD)
    end = plain.find(b"\r\n\r\n", 0, _MAX_HEAD)
    if not plain.startswith(b"WARC/") or end < 0:
        raise Unreadable("the capture is no WARC record")
    lines = plain[:end].split(b"\r\n")
    fields = {k.lower(): v for k, v in _header(lines[1:])}
    block = plain[end + 4:]
    length = fields.get("content-length", "")
    if not length.isascii() or not length.isdigit() or len(length) > 18:
        raise Unreadable("the WARC record has no length")
    if len(block) < int(length):
        cut = True
    return Warc(fields, block[:int(length)]), cut


def unpack(member: bytes, limit: int) -> Tuple[bytes, bool]:
    """A gzip member or zstd frame, or bytes that are neither, and whether limit bytes were less
    than all."""
    if member.startswith(b"\x1f\x8b"):
        return _inflate(member, 31, limit)
    if member.startswith(b"\x28\xb5\x2f\xfd"):
        return _bounded(_zstd(member, limit), limit)
    return _bounded(member, limit)


def _bounded(data: bytes, limit: int) -> Tuple[bytes, bool]:
    return data[:limit], len(data) > limit


def _inflate(data: bytes, wbits: int, limit: int) -> Tuple[bytes, bool]:
    """What can be unpacked of one or several gzip members, or a zlib or deflate stream."""
    out = bytearray()
    while data:
        d = zlib.decompressobj(wbits)
        try:
            out += d.decompress(data, limit + 1 - len(out))
        except zlib.error as e:
            if not out:
                raise Unreadable("the packed data is damaged: %s" % e) from None
            return bytes(out[:limit]), True  # what came before is whole
        if len(out) > limit:
            return bytes(out[:limit]), True
        if not d.eof:
            return bytes(out), True
        data = d.unused_data if wbits == 31 and d.unused_data.startswith(b"\x1f\x8b") else b""
    return bytes(out), False


def _module(*names: str) -> Any:
    """The first of some modules that this Python has; None without any."""
    for name in names:
        try:
            return importlib.import_module(name)
        except ImportError:
            continue
    return None


def _zstd(data: bytes, limit: int) -> bytes:
    module = _module("compression.zstd", "backports.zstd", "zstandard")
    if module is None:
        raise NoDecoder(
            "it is packed by zstd, which this Python cannot read: Python 3.14 can, and 3.9 to "
            "3.13 with the package backports.zstd or zstandard"
        )
    try:
        if hasattr(module, "ZstdDecompressor") and module.__name__ != "zstandard":
            return bytes(module.ZstdDecompressor().decompress(data, max_length=limit + 1))
        with module.ZstdDecompressor().stream_reader(data) as r:
            return bytes(r.read(limit + 1))
    except Exception as e:  # each of the modules has errors of its own
        raise Unreadable("the packed data is damaged: %s" % str(e)[:200]) from None


def _brotli(data: bytes, limit: int) -> bytes:
    module = _module("brotli", "brotlicffi")
    if module is None:
        raise NoDecoder(
            "its web server has packed it by Brotli, which this Python cannot read without the "
            "package brotli; raw=True gives it packed"
        )
    out = bytearray()
    d = module.Decompressor()
    feed = getattr(d, "process", None) or d.decompress
    try:  # a little at a time: the module has no limit of its own
        for at in range(0, len(data), 4096):
            out += feed(data[at:at + 4096])
            if len(out) > limit:
                break
    except Exception as e:  # each of the modules has errors of its own
        if not out:
            raise Unreadable("the packed data is damaged: %s" % str(e)[:200]) from None
    return bytes(out)


def _header(lines: List[bytes]) -> Header:
    """Header lines. A line that begins with a blank continues the one before."""
    found: Header = []
    for raw in lines[:10_000]:
        line = raw.decode("utf-8", "replace").rstrip("\r")
        if line[:1] in (" ", "\t") and found:
            found[-1] = (found[-1][0], found[-1][1] + " " + line.strip())
            continue
        name, colon, value = line.partition(":")
        if colon:
            found.append((name.strip(), value.strip()))
    return found


def split_answer(block: bytes) -> Tuple[int, Header, bytes]:
    """Status, head and body of an HTTP answer. Unreadable: it is none."""
    m = re.compile(rb"\r?\n\r?\n").search(block, 0, _MAX_HEAD)
    head, body = (block[:m.start()], block[m.end():]) if m else (block[:_MAX_HEAD], b"")
    lines = head.split(b"\n")
    status = re.match(rb"HTTP/\S+\s+(\d{3})\b", lines[0])
    if status is None:
        raise Unreadable("the capture has no answer of a web server")
    return int(status.group(1)), _header(lines[1:]), body


def decode_body(header: Header, body: bytes, limit: int) -> Tuple[bytes, bool]:
    """The body without its content codings, and whether it was cut."""
    codings: List[str] = []
    for name, value in header:
        if name.lower() == "content-encoding":
            codings += [c.strip().lower() for c in value.split(",")]
    codings = [c for c in codings if c not in ("", "identity", "utf-8")]
    if len(codings) > _MAX_CODINGS:
        raise Unreadable("the body has %d content codings" % len(codings))
    cut = False
    for coding in reversed(codings):
        part = False
        if not body:
            break
        if coding in ("gzip", "x-gzip"):
            if not body.startswith(b"\x1f\x8b"):
                continue  # servers say so of plain bodies, too
            body, part = _inflate(body, 31, limit)
        elif coding == "deflate":
            try:
                body, part = _inflate(body, 15, limit)
            except Unreadable:
                body, part = _inflate(body, -15, limit)
        elif coding in ("br", "zstd"):
            decode: Callable[[bytes, int], bytes] = _brotli if coding == "br" else _zstd
            body, part = _bounded(decode(body, limit), limit)
        else:
            raise Unreadable(
                "the content coding %r is not known; raw=True gives it packed" % coding[:40]
            )
        cut = cut or part
    return body, cut


def content_of(
    url: str, at: str, visit: Warc, stored: Warc, cut: bool, raw: bool, limit: int
) -> Content:
    """The content of a capture: visit is its record, and stored the record that has its body,
    which is another one when the visit found the same again."""
    status, header, body = split_answer(stored.block)
    if not raw:
        body, packed = decode_body(header, body, limit)
        cut = cut or packed
    cut = cut or "warc-truncated" in stored.fields
    return _content(visit.fields.get("warc-target-uri", url), at, status, header, body, cut, limit)


def decoded_content(url: str, at: str, answer: bytes, cut: bool, limit: int) -> Content:
    """The content in an answer whose body a node has decoded."""
    status, header, body = split_answer(answer)
    return _content(url, at, status, header, body, cut, limit)


def _content(
    url: str, at: str, status: int, header: Header, body: bytes, cut: bool, limit: int
) -> Content:
    if len(body) > limit:
        body, cut = body[:limit], True
    made = Content(body)
    made.url, made.status, made.headers, made.at, made.truncated = url, status, header, at, cut
    made.content_type = (made.header("Content-Type") or "").partition(";")[0].strip().lower()
    return made


def nothing_stored(url: str) -> NotFound:
    """The error for a URL without a capture."""
    return NotFound("nothing is stored of %s" % url)
