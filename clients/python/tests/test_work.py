"""Workers: what functions return, leases, other nodes, the end."""

import http.client
import os
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
import unittest
import urllib.error
from email.message import Message
from typing import Any, Dict, List
from unittest import mock

from tests.fake import PATIENCE, Case, Raw, Request, problem

import crawlnode
from crawlnode import _work
from crawlnode._work import category, tasks_of, to_document
from crawlnode.model import WorkerLease


def lease(urls: List[str], number: int = 1, seconds: float = 300.0, state: str = "running") -> Any:
    return {
        "urls": [{"url": u, "priority": 0.5, "host": u.split("/")[2], "ip": "127.0.0.1", "depth": 1,
                  "robots_rules": {"allowed": True, "crawl_delay": None}, "delay_seconds": 1}
                 for u in urls],
        "lease_id": "L%d" % number if urls else "", "lease_expires_at": None,
        "lease_seconds": seconds if urls else 0, "crawl_state": state,
        "user_agent": "crawlnode/1.0 (+me)", "robots_agent": "crawlnode",
    }


def task(url: str = "http://a.test/x/") -> crawlnode.Task:
    return tasks_of(WorkerLease.read(lease([url])), time.monotonic())[0]


class Frontier:
    """The queue of a fake cluster."""

    def __init__(self, *urls: str) -> None:
        self.queue = list(urls)
        self.leased: Dict[str, List[str]] = {}
        self.results: Dict[str, Any] = {}
        self.asked: List[Dict[str, str]] = []
        self.lock = threading.Lock()
        self.seconds = 300.0
        self.endless = False

    def __call__(self, r: Request) -> Any:
        with self.lock:
            if r.path == "/api/v1/nodes":
                return 200, []
            if r.path == "/api/v1/frontier/next":
                self.asked.append(r.query)
                most = int(r.query["batch_size"])
                urls, self.queue = self.queue[:most], self.queue[most:]
                open_ = sum(len(v) for v in self.leased.values())
                done = not urls and not open_ and not self.endless
                made = lease(urls, len(self.asked), self.seconds, "finished" if done else "running")
                if urls:
                    self.leased[made["lease_id"]] = urls
                return 200, made
            document = r.json()
            known = self.leased.get(document["lease_id"])
            if known is None:
                return problem(410, "the lease has ended")
            for result in document["results"]:
                if result["url"] in known:
                    known.remove(result["url"])
                self.results[result["url"]] = result
            return 200, {"processed": len(document["results"]), "ended": 0,
                         "retries_scheduled": sum("error" in x for x in document["results"])}


class Returned(unittest.TestCase):
    def test_table(self) -> None:
        page = b"<a href=y>"
        sha = "sha1:" + __import__("hashlib").sha1(page).hexdigest()
        body = {"http_status": 200, "content_length": len(page), "content_hash": sha}
        found = {**body, "links": ["y"], "links_found": 1}
        headers = Message()
        headers["Retry-After"] = "9"
        for returned, want in (
            (page, found),
            (page.decode(), {**found, "content_type": "text/html"}),
            ((404, []), {"http_status": 404}),
            ((301, ["/y"]), {"http_status": 301, "links": ["/y"], "links_found": 1}),
            ((200, ["/y"], page), {**body, "links": ["/y"], "links_found": 1}),
            (["/y", "/z", "/y"], {"http_status": 200, "links": ["/y", "/z"], "links_found": 3}),
            ([], {"http_status": 200}),
            (crawlnode.Result(200, body=page, content_type="Text/HTML; charset=x"),
             {**found, "content_type": "text/html"}),
            (crawlnode.Result(200, body=page, content_type="image/png"),
             {**body, "content_type": "image/png"}),
            (crawlnode.Result(404, body=page), {**body, "http_status": 404}),
            (crawlnode.Result(200, body=page, x_robots_tag=["nofollow"]), {**body, "links_found": 1}),
            (crawlnode.Result(503, retry_after="7"), {"http_status": 503, "retry_after": 7.0}),
            (crawlnode.Result(503, retry_after="soon"), {"http_status": 503}),
            ({"http_status": 200, "status": "success", "links": ["/y"]},
             {"http_status": 200, "links": ["/y"], "links_found": 1}),
            ({"status": 404}, {"http_status": 404}),
            ({"status": "error", "error": "dns: x"}, {"status": "error", "error": "dns: x"}),
            ({"error": "dns: x"}, {"status": "error", "error": "dns: x"}),
            ({"body": page, "content_length": 5, "links_found": 7, "simhash": "ab"},
             {**found, "content_length": 5, "links_found": 7, "simhash": "ab"}),
            ({"content_hash": "00ff"}, {"http_status": 200, "content_hash": "sha1:00ff"}),
            (["\ud800"], {"http_status": 200, "links": ["?"], "links_found": 1}),
            (urllib.error.HTTPError("u", 429, "m", headers, None),
             {"http_status": 429, "retry_after": 9.0}),
            (KeyError("k"), {"status": "error", "error": "other: KeyError: 'k'"}),
        ):
            with self.subTest(returned):
                got = to_document(task(), returned, 0.5)
                self.assertEqual(got.pop("fetch_time_ms"), 500)
                self.assertEqual(got, {"url": "http://a.test/x/", "status": "success", **want})

    def test_wrong(self) -> None:
        for returned in (None, 7, object(), (200,), ("200", []), (200, "link"), [b"x"], {"links": "x"},
                         {"lnks": []}, {"status": 42}, (True, []), crawlnode.Result(1000)):
            with self.subTest(returned), self.assertRaises((TypeError, ValueError)):
                to_document(task(), returned, 0)

    def test_categories(self) -> None:
        for e, want in (
            (socket.gaierror(-2, "no name"), "dns: "), (ConnectionRefusedError("x"), "connect: "),
            (ssl.SSLError("x"), "tls: "), (socket.timeout("x"), "timeout: "),
            (urllib.error.URLError(socket.gaierror(-2, "x")), "dns: "),
            (urllib.error.URLError("odd"), "other: "), (ConnectionResetError(), "truncated: "),
            (http.client.IncompleteRead(b""), "truncated: "), (http.client.BadStatusLine("x"), "protocol: "),
            (crawlnode.FetchError("tls: no"), "tls: no"), (ZeroDivisionError("x"), "other: Zero"),
        ):
            with self.subTest(e):
                self.assertTrue(category(e).startswith(want), category(e))

    def test_task(self) -> None:
        t = task()
        self.assertEqual((t, t.url, t.host, t.ip, t.depth), (t.url, "http://a.test/x/", "a.test", "127.0.0.1", 1))
        self.assertEqual((t.user_agent, t.robots_agent, t.etag), ("crawlnode/1.0 (+me)", "crawlnode", None))
        self.assertTrue(290 < t.seconds_left <= 300)


class Works(Case):
    def setUp(self) -> None:
        for name, value in (("_PAUSE", 0.01), ("_LEARN_EVERY", 0.0)):
            p = mock.patch.object(_work, name, value)
            p.start()
            self.addCleanup(p.stop)

    def test_whole(self) -> None:
        front = Frontier(*("http://h%d.test/" % i for i in range(50)))
        f = self.fake(front)
        calls: List[str] = []

        def fetch(url: crawlnode.Task) -> Any:
            calls.append(url)
            if url == "http://h7.test/":
                raise ConnectionRefusedError("no")
            return 200, ["/next"]

        seen: List[Any] = []
        s = self.client(f).work(fetch, "w1", threads=5, on_result=lambda t, d: seen.append((t, d)))
        self.assertEqual((s.fetched, s.errors, s.processed, s.retries_scheduled, s.dropped, s.why),
                         (50, 1, 50, 1, 0, "finished"))
        self.assertEqual(sorted(calls), sorted(front.results))
        self.assertEqual(front.results["http://h7.test/"]["error"], "connect: no")
        self.assertTrue(all(q["worker_id"] == "w1" and int(q["batch_size"]) <= 5 for q in front.asked))
        self.assertEqual(len(seen), 50)

    def test_at_most_threads(self) -> None:
        front = Frontier(*("http://h%d.test/" % i for i in range(40)))
        at_once, most, lock = [0], [0], threading.Lock()

        def fetch(url: str) -> Any:
            with lock:
                at_once[0] += 1
                most[0] = max(most[0], at_once[0])
            time.sleep(0.005)
            with lock:
                at_once[0] -= 1
            return []

        self.client(self.fake(front)).work(fetch, threads=3)
        self.assertEqual((most[0], len(front.results)), (3, 40))

    def test_other_node(self) -> None:
        """The first node dies with a result on its way; the results count at the second."""
        front = Frontier(*("http://h%d.test/" % i for i in range(20)))
        second = self.fake(front)

        def answer(r: Request) -> Any:
            if r.path == "/api/v1/nodes":
                return 200, [{"http": second.address, "state": "alive"}]
            if r.path == "/api/v1/frontier/results":
                threading.Thread(target=first.close).start()
                return Raw(b"HTTP/1.1 200 OK\r\n", stay=True)
            return front(r)

        first = self.fake(answer)
        s = self.client(first).work(lambda url: [], threads=4)
        self.assertEqual((s.processed, s.ended, len(front.results)), (20, 0, 20))

    def test_busy_and_too_many(self) -> None:
        front = Frontier("http://a.test/", "http://b.test/")
        refusals = [problem(503, "moving", retry_after=0), problem(429, "too many", retry_after=0)]
        left = {"/api/v1/frontier/next": list(refusals), "/api/v1/frontier/results": list(refusals)}

        def answer(r: Request) -> Any:
            return left[r.path].pop(0) if left.get(r.path) else front(r)

        s = self.client(self.fake(answer)).work(lambda url: [])
        self.assertEqual((s.processed, len(front.results)), (2, 2))

    def test_ended_lease(self) -> None:
        front = Frontier("http://a.test/")

        def answer(r: Request) -> Any:
            if r.path == "/api/v1/frontier/results":
                front.leased.clear()
            return front(r)

        s = self.client(self.fake(answer)).work(lambda url: [])
        self.assertEqual((s.fetched, s.processed, s.ended), (1, 0, 1))

    def test_no_request_after_the_lease(self) -> None:
        front = Frontier("http://a.test/", "http://b.test/")
        front.seconds = 0.0
        f = self.fake(lambda r: (front.leased.clear(), front(r))[1])
        s = self.client(f).work(lambda url: self.fail("too late"))
        self.assertEqual((s.fetched, s.dropped), (0, 2))

    def test_stop(self) -> None:
        front = Frontier("http://a.test/", "http://b.test/")
        front.endless = True
        c = self.client(self.fake(front))

        def fetch(url: str) -> Any:
            c.stop()
            return []

        s = c.work(fetch)
        self.assertEqual((s.why, s.processed, len(front.results)), ("stopped", 2, 2))

    def test_failures(self) -> None:
        """What cannot go on ends the work, with what was done."""
        front = Frontier("http://a.test/", "http://b.test/")
        with self.assertRaises(TypeError):
            self.client(self.fake(front)).work(lambda url: None)
        with self.assertRaises(SystemExit):
            self.client(self.fake(Frontier("http://a.test/"))).work(lambda url: sys.exit(3))
        f = self.fake(lambda r: problem(403, "the token may only read"))
        with self.assertRaises(crawlnode.Forbidden) as caught:
            self.client(f).work(lambda url: [])
        self.assertEqual(caught.exception.report.why, "failed")
        f.close()
        with self.assertRaises(crawlnode.Unreachable):
            self.client(f).work(lambda url: [], patience=0.1)

    def test_hostile_leases(self) -> None:
        good = lease(["http://a.test/"])
        for document in ([], {}, {"urls": 7}, {**good, "lease_id": None}, {**good, "urls": [7]},
                         {**good, "urls": [{"url": 7}]}, lease(["http://a.test/"] * 100)):
            f = self.fake(lambda r: (200, document if "next" in r.path else []))
            with self.subTest(str(document)[:60]), self.assertRaises(crawlnode.ProtocolError):
                self.client(f).work(lambda url: [], threads=4)

    def test_large_results(self) -> None:
        """Results go in requests that a node takes."""
        front = Frontier(*("http://h%d.test/" % i for i in range(60)))
        f = self.fake(front)
        links = ["http://a.test/%s%d" % ("x" * 1000, i) for i in range(2500)]
        self.client(f).work(lambda url: links, threads=60)
        self.assertEqual(len(front.results), 60)
        sizes = [len(r.body) for r in f.requests if r.path.endswith("results")]
        self.assertLess(max(sizes), 16 << 20)

    def test_arguments(self) -> None:
        c = self.client(self.fake(Frontier()))
        for options in ({"threads": 0}, {"threads": 1001}, {"worker_id": ""}, {"worker_id": "x" * 129}):
            with self.subTest(options), self.assertRaises(ValueError):
                c.work(lambda url: [], **options)  # type: ignore[arg-type]
        with self.assertRaises(TypeError):
            c.work("fetch")  # type: ignore[arg-type]

    def test_interrupt(self) -> None:
        """After an interrupt what was leased is reported, and work returns."""
        front = Frontier("http://a.test/")
        front.endless = True
        f = self.fake(front)
        program = (
            "import crawlnode, sys, time\n"
            "def fetch(url):\n print('fetching', flush=True); time.sleep(1); return []\n"
            "s = crawlnode.Client(sys.argv[1], token='').work(fetch)\n"
            "print(s.why, s.processed)\n"
        )
        env = {**os.environ, "PYTHONPATH": os.path.dirname(os.path.dirname(crawlnode.__file__))}
        p = subprocess.Popen([sys.executable, "-c", program, f.address], stdout=subprocess.PIPE,
                             text=True, env=env)
        assert p.stdout is not None
        self.assertEqual(p.stdout.readline(), "fetching\n")
        p.send_signal(signal.SIGINT)
        out, _ = p.communicate(timeout=PATIENCE)
        self.assertEqual((out, p.returncode), ("interrupted 1\n", 0))
        self.assertEqual(len(front.results), 1)


class FetchPage(Case):
    def fetch(self, reply: Raw, path: str = "/p?q", **options: Any) -> Any:
        requests: List[bytes] = []
        server = socket.create_server(("127.0.0.1", 0))

        def serve() -> None:
            sock = server.accept()[0]
            with sock:
                requests.append(sock.recv(1 << 16))
                try:
                    sock.sendall(reply.data)  # type: ignore[arg-type]
                    if reply.stay:
                        sock.recv(1)
                except OSError:
                    pass

        t = threading.Thread(target=serve)
        t.start()
        try:
            one = task("http://a.test:%d%s" % (server.getsockname()[1], path))
            one.etag = '"e"'
            return crawlnode.fetch_page(one, **options), requests
        finally:
            t.join()
            server.close()

    def test_page(self) -> None:
        r, requests = self.fetch(Raw(
            b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 10\r\n"
            b"X-Robots-Tag: x: nofollow\r\n\r\n<a href=y>"))
        self.assertEqual((r.status, r.body, r.content_type, list(r.x_robots_tag)),
                         (200, b"<a href=y>", "text/html", ["x: nofollow"]))
        head = requests[0].decode().split("\r\n")
        self.assertEqual(head[0], "GET /p?q HTTP/1.1")
        for line in ("User-Agent: crawlnode/1.0 (+me)", 'If-None-Match: "e"'):
            self.assertIn(line, head)
        self.assertEqual(sum(line.startswith("Host: a.test:") for line in head), 1)

    def test_answers(self) -> None:
        r, _ = self.fetch(Raw("HTTP/1.1 302 Found\r\nLocation: /\u00e4\r\n\r\n".encode()))
        self.assertEqual((r.status, r.links), (302, ["/\u00e4"]))
        r, _ = self.fetch(Raw(b"HTTP/1.1 503 X\r\nRetry-After: 9\r\n\r\n"), path="/x?")
        self.assertEqual((r.status, r.retry_after), (503, "9"))
        r, requests = self.fetch(Raw(b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * 5000), "/x?", max_body=100)
        self.assertEqual(len(r.body), 100)
        self.assertTrue(requests[0].startswith(b"GET /x? HTTP/1.1\r\n"))

    def test_failures(self) -> None:
        for reply, want in (
            (Raw(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx"), "truncated: "),
            (Raw(b"SSH-2.0\r\n"), "protocol: "), (Raw(b""), "protocol: "),
            (Raw(b"HTTP/1.1 200 OK\r\n", stay=True), "timeout: "),
        ):
            with self.subTest(want), self.assertRaisesRegex(crawlnode.FetchError, want):
                self.fetch(reply, timeout=0.5 if reply.stay else PATIENCE)
        one = task("http://a.test:1/")
        with self.assertRaisesRegex(crawlnode.FetchError, "connect: "):
            crawlnode.fetch_page(one)
        one.ip = ""
        with self.assertRaisesRegex(crawlnode.FetchError, "dns: "):
            crawlnode.fetch_page(one)
        with self.assertRaisesRegex(crawlnode.FetchError, "other: "):
            crawlnode.fetch_page(task("ftp://a.test/"))


if __name__ == "__main__":
    unittest.main()
