"""Calls with one answer: documents, errors, hostile answers, other nodes."""

import datetime
import json
import os
import socket
import tempfile
import threading
import time
import unittest
from unittest import mock

from tests.fake import Case, Raw, problem

import crawlnode
from crawlnode import _http
from crawlnode.errors import printable




def dead_port() -> str:
    """An address at which nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as s:
        return "127.0.0.1:%d" % s.getsockname()[1]


class Addresses(unittest.TestCase):
    def test_forms(self) -> None:
        for text, want in {
            "127.0.0.1:27295": "http://127.0.0.1:27295",
            "localhost": "http://localhost:27295",
            "http://10.0.0.7:80/": "http://10.0.0.7:80",
            "http://crawl.example": "http://crawl.example:80",
            "https://crawl.example": "https://crawl.example:443",
            "HTTPS://crawl.example:9": "https://crawl.example:9",
            "::1": "http://[::1]:27295",
            "[::1]:81": "http://[::1]:81",
            "a:1, b:2,a:1": "http://a:1 http://b:2",
        }.items():
            with self.subTest(text):
                found = _http.parse_addresses(text, "")
                self.assertEqual(" ".join(str(a) for a in found), want)

    def test_wrong(self) -> None:
        for text in ("", "ftp://a", "a:b", "a:0", "a:99999", "a b", "user@host", "a/b", "\x1b[2J:1"):
            with self.subTest(text), self.assertRaises(ValueError):
                crawlnode.Client(text, token="")
        with self.assertRaises(ValueError):
            crawlnode.Client([], token="")

    def test_token_needs_tls(self) -> None:
        pinned = "cn1.read.0011223344556677.99." + "ab" * 16 + ".code"
        for text, token, want in (
            ("127.0.0.1:1", "opaque", "http://127.0.0.1:1"),
            ("crawl.example:1", "opaque", "https://crawl.example:1"),
            ("127.0.0.1:1", pinned, "https://127.0.0.1:1"),
            ("http://crawl.example:1", pinned, "https://crawl.example:1"),
        ):
            with self.subTest(text):
                self.assertEqual(str(_http.parse_addresses(text, token)[0]), want)
        with self.assertRaisesRegex(ValueError, "unencrypted"):
            crawlnode.Client("http://crawl.example:1", token="opaque")
        with self.assertRaisesRegex(ValueError, "token"):
            crawlnode.Client("127.0.0.1:1", token="a\r\nHost: b")

    def test_environment(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "token")
            with open(path, "w") as f:
                f.write("from-file\n")
            for environ, want in (
                ({}, ("http://127.0.0.1:27295", "")),
                ({"CRAWLNODE_ADDR": "127.0.0.1:9"}, ("http://127.0.0.1:9", "")),
                ({"CRAWLNODE_TOKEN": "t"}, ("http://127.0.0.1:27295", "t")),
                ({"CRAWLNODE_TOKEN_FILE": path}, ("http://127.0.0.1:27295", "from-file")),
            ):
                with self.subTest(environ):
                    addresses, token = _http.resolve(None, None, environ)
                    self.assertEqual((str(addresses[0]), token), want)


class Calls(Case):
    def test_status(self) -> None:
        f = self.fake(lambda r: (200, {
            "api_version": "v1", "crawl": {"state": "running"}, "new_field": [{"x": 1}],
            "nodes": [{"id": "1", "http": "127.0.0.1:5", "state": "alive"}],
        }))
        c = self.client(f)
        s = c.status()
        self.assertEqual(s.crawl.state, "running")
        self.assertEqual(s["crawl"]["state"], "running")
        self.assertEqual(s.nodes[0].id, "1")
        self.assertEqual(s.new_field[0].x, 1)  # of a newer node
        self.assertIsInstance(s, crawlnode.Status)
        with self.assertRaises(AttributeError):
            s.no_such_field
        json.dumps(s)
        c.status(scope="node")
        self.assertEqual(f.requests[1].query, {"scope": "node"})

    def test_token_and_proxies(self) -> None:
        f = self.fake(lambda r: (200, {}))
        trap = self.fake(lambda r: (200, {}))
        with mock.patch.dict(os.environ, {"http_proxy": "http://" + trap.address,
                                          "all_proxy": "http://" + trap.address}):
            self.client(f, token="secret").status()
        self.assertEqual(f.requests[0].headers["authorization"], "Bearer secret")
        self.assertEqual(trap.requests, [])

    def test_redirects_are_refused(self) -> None:
        other = self.fake(lambda r: (200, {}))
        f = self.fake(lambda r: (307, b"", {"Location": "http://%s/status" % other.address}))
        with self.assertRaisesRegex(crawlnode.ProtocolError, "redirects"):
            self.client(f, token="secret").status()
        self.assertEqual(other.requests, [])

    def test_seeds(self) -> None:
        def answer(r):
            urls = r.json()["urls"]
            bad = [{"line": i + 1, "input": u, "error": "no URL"} for i, u in enumerate(urls)
                   if u == "bad"]
            return 200, {"accepted": len(urls) - len(bad), "duplicates": 0, "out_of_scope": 0,
                         "invalid": bad}

        f = self.fake(answer)
        c = self.client(f)
        report = c.seeds("http://a.test/%d" % i if i != 1500 else "bad" for i in range(2500))
        self.assertEqual((report.accepted, [b.line for b in report.invalid]), (2499, [1501]))
        self.assertEqual([len(r.json()["urls"]) for r in f.requests], [1000, 1000, 500])
        self.assertEqual(c.seeds("http://one.test/").accepted, 1)
        self.assertEqual(c.seeds({"url": "http://one.test/", "again": True}).accepted, 1)
        self.assertEqual(f.requests[-1].json(), {"urls": [{"url": "http://one.test/", "again": True}]})
        self.assertEqual(c.seeds([]).accepted, 0)
        self.assertEqual(len(f.requests), 5)
        with self.assertRaises(TypeError):
            c.seeds([7])  # type: ignore[list-item]

    def test_seeds_before_an_error(self) -> None:
        f = self.fake(lambda r: (200, {"accepted": 1000, "duplicates": 0, "out_of_scope": 0,
                                       "invalid": []})
                      if len(f.requests) == 1 else problem(403, "not allowed"))
        with self.assertRaises(crawlnode.Forbidden) as caught:
            self.client(f).seeds(str(i) for i in range(1500))
        self.assertEqual(caught.exception.report.accepted, 1000)

    def test_search(self) -> None:
        hit = {"title": "T", "snippet": "s", "link": "http://a.test/", "highlight":
               [{"text": "s", "hit": True}]}
        f = self.fake(lambda r: (200, {"query": r.query["query"], "total": 9, "total_exact": True,
                                       "did_you_mean": None, "results": [hit]}))
        hits = self.client(f).search('"a b" -c &page=7', size=5, page=2)
        self.assertEqual(f.requests[0].query,
                         {"query": '"a b" -c &page=7', "page": "2", "size": "5"})
        self.assertEqual((len(hits), hits.total, hits["total"], hits[0].title, hits[0]["link"]),
                         (1, 9, 9, "T", "http://a.test/"))
        self.assertTrue(hits[0].highlight[0].hit)
        self.assertIsNone(hits.did_you_mean)
        self.assertEqual([h.title for h in hits[:1]], ["T"])

    def test_settings(self) -> None:
        f = self.fake(lambda r: (200, {"state": "running", "version": "3-ab", "untold": [],
                                       "settings": {"delay": "1m30s", "max_depth": 3,
                                                    "ip_delay": None, "include": []}}))
        c = self.client(f)
        s = c.settings()
        self.assertEqual((s["max_depth"], s.max_depth, s.version, s.state), (3, 3, "3-ab", "running"))
        self.assertEqual(s.duration("delay"), datetime.timedelta(seconds=90))
        self.assertIsNone(s.duration("ip_delay"))
        self.assertEqual(dict(s)["delay"], "1m30s")
        c.set(max_depth=4, delay=datetime.timedelta(milliseconds=1500), include={"b", "a"},
              exclude=("x",), robots=None, version=s.version)
        put = f.requests[-1]
        self.assertEqual(put.headers["if-match"], '"3-ab"')
        self.assertEqual(put.json(), {"settings": {
            "max_depth": 4, "delay": "1s500000us", "include": ["a", "b"], "exclude": ["x"],
            "robots": None}})
        for wrong in ({}, {"delay": datetime.timedelta(seconds=-1)}):
            with self.assertRaises(ValueError):
                c.set(**wrong)
        with self.assertRaises(ValueError):
            c.set(version='a"\r\n', max_depth=1)

    def test_errors(self) -> None:
        fields = [{"field": "delay", "detail": "is \x1b[2J wrong"}]
        f = self.fake(lambda r: replies[len(f.requests) - 1])
        replies, want = [], []
        for status, kind in (
            (400, crawlnode.BadRequest), (401, crawlnode.Unauthorized), (403, crawlnode.Forbidden),
            (404, crawlnode.NotFound), (409, crawlnode.Conflict), (410, crawlnode.Gone),
            (412, crawlnode.VersionConflict), (413, crawlnode.TooLarge), (418, crawlnode.ApiError),
            (429, crawlnode.TooMany), (500, crawlnode.ApiError),
        ):
            replies.append(problem(status, "why\x07\u202e", errors=fields, retry_after=7))
            want.append((status, kind))
        c = self.client(f)
        for status, kind in want:
            with self.subTest(status), self.assertRaises(kind) as caught:
                c.status()
            e = caught.exception
            self.assertEqual((e.status, e.retry_after, e.address), (status, 7.0, "http://" + f.address))
            self.assertIs(type(e), kind)
            self.assertEqual(printable(str(e)), str(e))
            self.assertEqual(e.errors[0]["field"], "delay")
            self.assertIn("delay: is", e.detail)
        self.assertEqual(len(f.requests), len(want))  # none was tried again

    def test_hints(self) -> None:
        for reply, kind, text in (
            ((400, b"Client sent an HTTP request to an HTTPS server.\n"), crawlnode.Unauthorized,
             "has a key"),
            ((404, b"<html>nginx"), crawlnode.NotFound, "web page"),
            ((500, b""), crawlnode.ApiError, "no reason"),
            ((503, b"<html>nginx"), crawlnode.Busy, "web page"),
        ):
            with self.subTest(text), self.assertRaisesRegex(kind, text):
                self.client(self.fake(lambda r: reply), patience=0).status()

    def test_busy_is_tried_again(self) -> None:
        f = self.fake(lambda r: (200, {"crawl": {}}) if len(f.requests) > 2
                      else problem(503, "moving", retry_after=0))
        self.client(f).status()
        self.assertEqual(len(f.requests), 3)

    def test_busy_too_long(self) -> None:
        f = self.fake(lambda r: problem(503, "moving", retry_after=600))
        start = time.monotonic()
        with self.assertRaises(crawlnode.Busy) as caught:
            self.client(f).status()
        self.assertEqual(caught.exception.retry_after, 600.0)
        self.assertLess(time.monotonic() - start, 10)  # it does not wait for nothing

    def test_other_nodes(self) -> None:
        good = self.fake(lambda r: (200, {"crawl": {"state": "idle"}}))
        busy = self.fake(lambda r: problem(503, "draining", retry_after=600))
        broken = self.fake(lambda r: Raw(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"))
        c = self.client(dead_port(), busy, broken, good)
        c.status()
        self.assertEqual((len(busy.requests), len(broken.requests), len(good.requests)), (1, 1, 1))
        c.status()  # it stays where it was answered
        self.assertEqual((len(busy.requests), len(broken.requests), len(good.requests)), (1, 1, 2))

    def test_learns_other_nodes(self) -> None:
        second = self.fake(lambda r: (200, {"crawl": {}}))
        nodes = [{"http": second.address, "state": "alive"}, {"http": "[::]:1", "state": "alive"},
                 {"http": "x y", "state": "alive"}, {"http": 7, "state": "alive"}, "x",
                 {"http": "198.51.100.1:1", "state": "failed"}]
        first = self.fake(lambda r: (200, {"crawl": {}, "nodes": nodes}))
        c = self.client(first)
        shy = self.client(first, discover=False, patience=0)
        teller = self.client(first, token="opaque", patience=0)
        for each in (c, shy, teller):
            try:
                each.status()
            except crawlnode.ProtocolError:
                pass  # the odd list
        first.close()
        c.status()
        for each in (shy, teller):
            with self.assertRaises(crawlnode.Unreachable):
                each.status()
        self.assertEqual(len(second.requests), 1)

    def test_lost_answer(self) -> None:
        first = self.fake(lambda r: Raw(b""))
        second = self.fake(lambda r: (200, {"settings": {}, "version": "2", "state": "idle"}))
        c = self.client(first, second)
        with self.assertRaises(crawlnode.Unreachable) as caught:
            c.set(max_depth=1, version="1")  # it may have been done: a repeat would be refused
        self.assertTrue(caught.exception.sent)
        self.assertEqual(c.set(max_depth=1).version, "2")

    def test_nobody(self) -> None:
        with self.assertRaises(crawlnode.Unreachable) as caught:
            self.client(dead_port(), patience=0.3).status()
        self.assertEqual(caught.exception.code, "unreachable")
        self.assertIsNone(caught.exception.status)

    def test_closed(self) -> None:
        began = threading.Event()

        def answer(r):
            began.set()
            return Raw(b"HTTP/1.1 200 OK\r\n", stay=True)

        c = self.client(self.fake(answer))
        caught = []

        def ask():
            try:
                c.status()
            except crawlnode.CrawlnodeError as e:
                caught.append(e)

        t = threading.Thread(target=ask)
        t.start()
        self.assertTrue(began.wait(240))
        c.close()
        t.join(240)
        self.assertIsInstance(caught[0], crawlnode.Closed)
        with self.assertRaises(crawlnode.Closed):
            c.status()


class Hostile(Case):
    def test_not_a_node(self) -> None:
        deep = b"[" * 200_000
        for name, reply in {
            "no JSON": (200, b"<html>"),
            "broken JSON": (200, b'{"crawl": {"state"'),
            "no object": (200, b"[1]"),
            "a part is no object": (200, b'{"nodes": 7, "crawl": [{"x": 1}]}'),
            "deep": (200, deep),
            "binary": (200, bytes(range(256))),
            "no HTTP": Raw(b"SSH-2.0-OpenSSH_9.2\r\n"),
            "long line": Raw(b"HTTP/1.1 200 OK\r\nX: " + b"a" * 100_000 + b"\r\n\r\n"),
            "many lines": Raw(b"HTTP/1.1 200 OK\r\n" + b"X: a\r\n" * 1000 + b"\r\n"),
        }.items():
            with self.subTest(name):
                f = self.fake(lambda r: reply)
                try:
                    self.client(f, patience=0).status()
                except crawlnode.ProtocolError:
                    continue
                # What a client can pass over, it may.
                self.assertEqual(name, "a part is no object")

    def test_wrong_parts(self) -> None:
        ok = {"accepted": 0, "duplicates": 0, "out_of_scope": 0}
        for call, document in (
            (lambda c: c.seeds("x"), {}),
            (lambda c: c.seeds("x"), {**ok, "accepted": "many", "invalid": []}),
            (lambda c: c.seeds("x"), {**ok, "invalid": [{"line": "x"}]}),
            (lambda c: c.search("x"), {"total": 1}),
            (lambda c: c.search("x"), {"results": [1]}),
            (lambda c: c.captures("x"), {"captures": None}),
            (lambda c: c.settings(), {"version": "1"}),
            (lambda c: c.events(), {"id": 1}),
            (lambda c: c.events(), [{"id": "1"}]),
            (lambda c: c.events(), [{"id": 1, "code": "", "message": "", "node": "", "level": "",
                                     "time": "yesterday"}]),
        ):
            with self.subTest(document), self.assertRaises(crawlnode.ProtocolError):
                call(self.client(self.fake(lambda r: (200, document))))

    def test_endless_body(self) -> None:
        sent = []

        def endless():
            yield b"HTTP/1.1 200 OK\r\n\r\n"
            while True:
                sent.append(1)
                yield b" " * (1 << 20)

        with mock.patch.object(_http.Transport.call, "__kwdefaults__",
                               {**_http.Transport.call.__kwdefaults__, "limit": 3 << 20}):
            f = self.fake(lambda r: Raw(endless()))  # type: ignore[arg-type]
            with self.assertRaisesRegex(crawlnode.ProtocolError, "longer"):
                self.client(f).status()
        self.assertLess(len(sent), 30)

    def test_drip(self) -> None:
        def slowly(head):
            yield head
            while not f.ended.wait(0.05):
                yield b"X"

        for head in (b"HTTP/1.1 200 OK\r\nX: ", b"HTTP/1.1 200 OK\r\nContent-Length: 99999\r\n\r\n"):
            with self.subTest(head):
                f = self.fake(lambda r: Raw(slowly(head)))  # type: ignore[arg-type]
                with self.assertRaisesRegex(crawlnode.Unreachable, "too long"):
                    self.client(f, timeout=0.5, patience=0).status()
                f.close()

    def test_huge_error(self) -> None:
        f = self.fake(lambda r: (500, b"x" * (3 << 20)))
        with self.assertRaises(crawlnode.ApiError) as caught:
            self.client(f).status()
        self.assertLess(len(str(caught.exception)), 4000)


class Values(unittest.TestCase):
    def test_times(self) -> None:
        utc = datetime.timezone.utc
        for text, want in {
            "2026-11-30T02:58:14.142514852Z": datetime.datetime(2026, 11, 30, 2, 58, 14, 142514, utc),
            "2026-11-30T02:58:14Z": datetime.datetime(2026, 11, 30, 2, 58, 14, 0, utc),
            "2026-11-30T02:58:60+01:30": datetime.datetime(2026, 11, 30, 1, 28, 59, 0, utc),
        }.items():
            self.assertEqual(crawlnode.parse_time(text), want)
        for text in ("", "2026-11-30", "2026-13-30T02:58:14Z", "2026-11-30T02:58:14", "x" * 99,
                     "0001-01-01T00:00:00+23:00", "\u0662026-11-30T02:58:14Z"):
            with self.subTest(text), self.assertRaises(ValueError):
                crawlnode.parse_time(text)

    def test_durations(self) -> None:
        for text, want in {"0": 0, "0s": 0, "1m30s": 90, "7d": 604800, "1.5h": 5400, "250ms": 0.25,
                           "1s500000us": 1.5}.items():
            self.assertEqual(crawlnode.parse_duration(text), datetime.timedelta(seconds=want))
        for text in ("", "s", "1", "1x", "-1s", "1s ", "9" * 18 + "w"):
            with self.subTest(text), self.assertRaises(ValueError):
                crawlnode.parse_duration(text)

    def test_every_duration_comes_back(self) -> None:
        from crawlnode._record import write_duration
        for micro in (0, 1, 999_999, 1_000_000, 1_500_000, 86_400_000_000, 123_456_789_012):
            d = datetime.timedelta(microseconds=micro)
            self.assertEqual(crawlnode.parse_duration(write_duration(d)), d)



if __name__ == "__main__":
    unittest.main()
