"""Captures and contents: records, codings, damage."""

import gzip
import random
import unittest
import zlib
from typing import Any, Dict, List, Optional
from unittest import mock

from tests.fake import Case, Request, problem

import crawlnode
from crawlnode import _archive

URL = "http://a.test/"


def record(
    body: bytes, head: str = "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=iso-8859-1",
    kind: str = "response", length: Optional[int] = None, **fields: str
) -> bytes:
    block = head.encode() + b"\r\n\r\n" + body
    lines = ["WARC/1.1", "WARC-Type: " + kind, "WARC-Target-URI: " + URL]
    lines += ["%s: %s" % (k.replace("_", "-"), v) for k, v in fields.items()]
    lines.append("Content-Length: %d" % (len(block) if length is None else length))
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + block + b"\r\n\r\n"


def capture(offset: int, at: str = "2026-11-30T00:00:00Z", **more: Any) -> Dict[str, Any]:
    return {"at": at, "status": 200, "mime": "text/html", "revisit": False, "file": "a b.warc.gz",
            "offset": offset, "length": 1, "digest": "sha1:A", "node": "n1", **more}


class Contents(Case):
    def archive(self, captures: List[Dict[str, Any]], records: Dict[int, bytes]) -> Any:
        def answer(r: Request) -> Any:
            if r.path == "/api/v1/captures":
                found = captures if r.query["url"] == URL else []
                return 200, {"url": URL, "captures": found}
            if not r.path.startswith("/api/v1/captures/a%20b.warc.gz/"):
                return problem(404, "no such file")
            return 200, records[int(r.path.rpartition("/")[2])]

        return self.client(self.fake(answer))

    def one(self, member: bytes, **options: Any) -> crawlnode.Content:
        content = self.archive([capture(5)], {5: member}).content(URL, **options)
        assert isinstance(content, crawlnode.Content)
        return content

    def test_plain(self) -> None:
        x = self.one(gzip.compress(record("na\u00efve".encode("latin-1"))))
        self.assertEqual((x, x.body, x.text()), (b"na\xefve", b"na\xefve", "na\u00efve"))
        self.assertEqual((x.status, x.content_type, x.url, x.truncated, x.at),
                         (200, "text/html", URL, False, "2026-11-30T00:00:00Z"))
        self.assertEqual(x.header("content-TYPE"), "text/html; charset=iso-8859-1")
        self.assertIsNone(x.header("X"))

    def test_codings(self) -> None:
        text = b"hello " * 1000
        raw = zlib.compressobj(wbits=-15)
        deflated = raw.compress(text) + raw.flush()
        for coding, body in (
            ("gzip", gzip.compress(text)), ("x-gzip", gzip.compress(text[:5]) + gzip.compress(text[5:])),
            ("deflate", zlib.compress(text)), ("deflate", deflated), ("identity", text),
            ("gzip", text), ("gzip, gzip", gzip.compress(gzip.compress(text))), ("", text),
        ):
            head = "HTTP/1.1 200 OK\r\ncontent-encoding: " + coding
            with self.subTest(coding):
                member = gzip.compress(record(body, head))
                self.assertEqual(self.one(member), text)
                self.assertEqual(self.one(member, raw=True), body)

    def test_bombs(self) -> None:
        bomb = gzip.compress(b"\0" * (8 << 20))
        x = self.one(gzip.compress(record(bomb, "HTTP/1.1 200 OK\r\nContent-Encoding: gzip")),
                     limit=1000)
        self.assertEqual((len(x), x.truncated), (1000, True))
        x = self.one(gzip.compress(record(b"\0" * (8 << 20))), limit=1000)
        self.assertEqual((len(x), x.truncated), (1000, True))

    def test_cut(self) -> None:
        body = gzip.compress(bytes(random.Random(1).randrange(256) for _ in range(5000)))[:3000]
        x = self.one(gzip.compress(record(body, "HTTP/1.1 200 OK\r\nContent-Encoding: gzip",
                                          WARC_Truncated="disconnect")))
        self.assertTrue(x.truncated)
        self.assertGreater(len(x), 1000)
        self.assertTrue(self.one(gzip.compress(record(b"x", length=5000))).truncated)

    def test_missing_codings(self) -> None:
        """What this Python cannot unpack, the node does."""
        answer = "HTTP/1.1 200 OK\r\nContent-Type: text/x\r\nContent-Encoding: br\r\n\r\nhello"
        with mock.patch.object(_archive, "_module", lambda *names: None):
            for member in (
                gzip.compress(record(b"x", "HTTP/1.1 200 OK\r\nContent-Encoding: br")),
                gzip.compress(record(b"x", "HTTP/1.1 200 OK\r\nContent-Encoding: zstd")),
                b"\x28\xb5\x2f\xfdxxxx",
            ):
                headers = {"Content-Type": "application/http;msgtype=response",
                           "WARC-Truncated": "length"}

                def node(r: Request) -> Any:
                    if r.path == "/api/v1/captures":
                        return 200, {"url": URL, "captures": [capture(5)]}
                    if r.query.get("form") == "answer":
                        return 200, answer.encode(), headers
                    return 200, member

                c = self.client(self.fake(node))
                with self.subTest(member[:20]):
                    x = c.content(URL)
                    self.assertEqual((x, x.content_type, x.truncated), (b"hello", "text/x", True))
                    if member.startswith(b"\x1f"):
                        self.assertEqual(c.content(URL, raw=True), b"x")
                    headers.clear()  # an earlier release
                    with self.assertRaisesRegex(crawlnode.Unreadable, "earlier release"):
                        c.content(URL)

    def test_damaged(self) -> None:
        good = record(b"x")
        for name, member in {
            "empty": b"", "no gzip": b"\x1f\x8bxxx", "no record": gzip.compress(b"hello"),
            "no length": gzip.compress(good.replace(b"Content-Length", b"X-Length")),
            "odd length": gzip.compress(good.replace(b"Content-Length: ", b"Content-Length: -")),
            "no answer": gzip.compress(good.replace(b"HTTP/1.1 200", b"GOPHER")),
            "coding": gzip.compress(record(b"x", "HTTP/1.1 200 OK\r\nContent-Encoding: " + "gzip," * 9)),
            "unknown": gzip.compress(record(b"x", "HTTP/1.1 200 OK\r\nContent-Encoding: \x1b[2J")),
            "cut": gzip.compress(good)[:30],
        }.items():
            with self.subTest(name), self.assertRaises(crawlnode.Unreadable) as caught:
                self.one(member)
            self.assertNotIn("\x1b", str(caught.exception))

    def test_random_bytes(self) -> None:
        """Whatever stands in an archive, it is read or it is an error of ours."""
        draw = random.Random(3)
        good = record(b"hello", "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n folded")
        for _ in range(2000):
            data = bytearray(good)
            for _ in range(draw.randrange(1, 12)):
                data[draw.randrange(len(data))] = draw.randrange(256)
            try:
                warc, cut = _archive.parse_member(gzip.compress(bytes(data), 1), 1 << 20)
                x = _archive.content_of(URL, "", warc, warc, cut, False, 1 << 20)
                x.text()
            except crawlnode.Unreadable:
                pass

    def test_revisit(self) -> None:
        """A visit that found the same again has the body of the earlier one."""
        same = gzip.compress(record(b"", kind="revisit", WARC_Payload_Digest="sha1:A",
                                    WARC_Refers_To_Target_URI=URL))
        c = self.archive(
            [capture(1), capture(2, digest="sha1:B"), capture(3, "2026-12-01T00:00:00Z", revisit=True)],
            {1: gzip.compress(record(b"first")), 2: gzip.compress(record(b"second")), 3: same})
        x = c.content(URL)
        self.assertEqual((x, x.at), (b"first", "2026-12-01T00:00:00Z"))
        self.assertEqual(c.content(URL, c.captures(URL)[1]), b"second")

    def test_not_modified(self) -> None:
        same = gzip.compress(record(b"", "HTTP/1.1 304 Not Modified", "revisit"))
        c = self.archive(
            [capture(1), capture(3, "2026-12-01T00:00:00Z", status=304, digest=None, revisit=True)],
            {1: gzip.compress(record(b"first")), 3: same})
        self.assertEqual(c.content(URL), b"first")

    def test_nothing(self) -> None:
        c = self.archive([], {})
        self.assertEqual(list(c.captures(URL)), [])
        with self.assertRaisesRegex(crawlnode.NotFound, "nothing is stored"):
            c.content(URL)
        alone = gzip.compress(record(b"", kind="revisit", WARC_Payload_Digest="sha1:Z"))
        with self.assertRaisesRegex(crawlnode.NotFound, "no running node"):
            self.archive([capture(3, revisit=True)], {3: alone}).content(URL)
        for wrong in ({}, {"file": "..", "offset": 1}, {"file": "a", "offset": "1"}):
            with self.subTest(wrong), self.assertRaises(ValueError):
                c.content(URL, wrong)


class Text(unittest.TestCase):
    def test_charsets(self) -> None:
        for body, kind, want in (
            (b"\xe4", "text/html; charset=ISO-8859-1", "\u00e4"),
            (b"\x80", "text/html; charset=latin1", "\u20ac"),
            ("\u00e4".encode(), "", "\u00e4"),
            (b'<meta charset="windows-1251">\xe4', "text/html", '<meta charset="windows-1251">\u0434'),
            (b"\xff\xfea\0", "text/html; charset=utf-8", "a"),
            (b"\xef\xbb\xbfa", "", "a"),
            (b"a\xff", "text/html; charset=no-such", "a\ufffd"),
            (b"a", "text/html; charset=base64", "a"),
            (b"a", 'text/html; charset="', "a"),
        ):
            with self.subTest(body=body, kind=kind):
                self.assertEqual(_archive.decode_text(body, "", kind), want)


if __name__ == "__main__":
    unittest.main()
