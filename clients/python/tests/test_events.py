"""The stream of events: pieces, breaks, other nodes, hostile streams."""

import json
import random
import threading
import time
import unittest
from typing import Any, Dict, List

from tests.fake import PATIENCE, Case, Fake, Raw, Request, problem

import crawlnode
from crawlnode import _events
from crawlnode._events import SSEParser

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\nretry: 2000\n\n"


def event(number: int, code: str = "x", second: int = 0, **more: Any) -> Dict[str, Any]:
    made = {"id": number, "time": "2026-11-30T03:%02d:%02d.5Z" % divmod(second, 60),
            "level": "info", "code": code, "message": "says " + code, "node": "n1", "fields": {}}
    made.update(more)
    return made


def sse(*events: Dict[str, Any]) -> bytes:
    return b"".join(b"id: %d\ndata: %s\n\n" % (e["id"], json.dumps(e).encode()) for e in events)


class Log:
    """The events of a fake node. A stream of it gives what is there, and then ends or stays."""

    def __init__(self, *events: Dict[str, Any], stay: bool = False, nodes: Any = ()) -> None:
        self.events, self.stay, self.nodes = list(events), stay, list(nodes)
        self.streams: List[Request] = []

    def __call__(self, r: Request) -> Any:
        if r.path == "/api/v1/nodes":
            return 200, self.nodes
        after = int(r.headers.get("last-event-id") or r.query.get("after") or 0)
        if r.query.get("format") == "json":
            return 200, self.events[-int(r.query["limit"]):]
        self.streams.append(r)
        found = [e for e in self.events if e["id"] > after]
        return Raw([HEAD, b": still here\n\n", sse(*found)], self.stay)


class Parser(unittest.TestCase):
    def test_cuts(self) -> None:
        """Wherever a stream is cut into pieces, and however its lines end, it says the same."""
        text = b"\xef\xbb\xbf: hello\nid: 7\nevent: x\ndata: {\ndata:  1}\n\ndata\n\nretry: 1500\nid: a\0b\ndata: 2\n\ndata: lost"
        want = [("7", "{\n 1}"), ("7", ""), ("7", "2")]
        draw = random.Random(1)
        for end in (b"\n", b"\r\n", b"\r"):
            whole = text.replace(b"\n", end)
            for _ in range(300):
                cuts = sorted(draw.randrange(len(whole) + 1) for _ in range(draw.randrange(8)))
                p, got = SSEParser(), []
                for a, b in zip([0, *cuts], [*cuts, len(whole)]):
                    got += p.feed(whole[a:b])
                self.assertEqual(got, want, (end, cuts))
                self.assertEqual(p.retry, 1.5)

    def test_bounds(self) -> None:
        p = SSEParser()
        with self.assertRaises(crawlnode.ProtocolError):
            for _ in range(100):
                p.feed(b"data: " + b"x" * 100_000)
        p = SSEParser()
        with self.assertRaises(crawlnode.ProtocolError):
            for _ in range(1000):
                p.feed(b"data: " + b"x" * 100_000 + b"\n")

    def test_random_bytes(self) -> None:
        draw = random.Random(2)
        for _ in range(300):
            p = SSEParser()
            for _ in range(20):
                p.feed(bytes(draw.choice(b"\r\n:\0 adtiexy\xff{}") for _ in range(draw.randrange(40))))


class Stream(Case):
    def setUp(self) -> None:
        self._pause, _events._PAUSE = _events._PAUSE, 0.01
        self.addCleanup(setattr, _events, "_PAUSE", self._pause)

    def take(self, stream: crawlnode.EventStream, count: int) -> List[crawlnode.Event]:
        return [next(stream) for _ in range(count)]

    def test_from_now(self) -> None:
        log = Log(event(1), event(2))
        f = self.fake(log)
        stream = self.client(f).events()
        log.events += [event(3, "a"), event(4, "b")]  # after the call, before the first look
        got = self.take(stream, 2)
        self.assertEqual([e.id for e in got], [3, 4])
        self.assertEqual((got[0].code, got[0]["message"], got[0].source),
                         ("a", "says a", "http://" + f.address))

    def test_from_the_beginning(self) -> None:
        f = self.fake(Log(event(1), event(2)))
        self.assertEqual([e.id for e in self.take(self.client(f).events(after=0), 2)], [1, 2])

    def test_empty_log(self) -> None:
        log = Log()
        stream = self.client(self.fake(log)).events()
        log.events.append(event(1))
        self.assertEqual(next(stream).id, 1)

    def test_resumes(self) -> None:
        """Each connection ends after what is there; none is lost and none comes twice."""
        log = Log(event(5))
        f = self.fake(log)
        stream = self.client(f).events(after=5)
        got = []
        for n in range(6, 12):
            log.events.append(event(n))
            got.append(next(stream).id)
        self.assertEqual(got, list(range(6, 12)))
        self.assertIn("last-event-id", log.streams[0].headers)
        self.assertGreater(len(log.streams), 1)

    def test_cut_event(self) -> None:
        """An event that is cut is not one; it comes again, whole."""
        whole = sse(event(1, "a"), event(2, "b"))
        for cut in range(1, len(whole), 7):
            replies = [Raw([HEAD, whole[:cut]]), Raw([HEAD, whole])]

            def answer(r: Request) -> Any:
                if r.path == "/api/v1/nodes":
                    return 200, []
                if r.query.get("format") == "json":
                    return 200, [event(2, "b")]
                return replies.pop(0) if replies else Raw(HEAD, True)

            with self.client(self.fake(answer)) as c:
                self.assertEqual([e.code for e in self.take(c.events(after=0), 2)], ["a", "b"])

    def test_lost_log(self) -> None:
        """A node that has lost its data counts its events anew."""
        log = Log(event(900, "old", 1))
        stream = self.client(self.fake(log)).events()
        log.events[:] = [event(901, "a", 2)]
        self.assertEqual(next(stream).code, "a")
        log.events[:] = [event(1, "b", 3)]
        self.assertEqual(next(stream).code, "b")

    def test_other_node(self) -> None:
        """At another node the stream goes on by time: what was told already is left out."""
        other = Log(event(70, "old", 0), event(71, "a", 101), event(72, "b", 102),
                    event(73, "c", 103), stay=True)
        second = self.fake(other)
        nodes = [{"http": second.address, "state": "alive"}]
        first = self.fake(Log(event(1, "old", 0), event(2, "a", 100), event(3, "b", 101),
                              stay=True, nodes=nodes))
        stream = self.client(first).events(after=1)
        self.assertEqual([e.code for e in self.take(stream, 2)], ["a", "b"])
        first.close()
        e = next(stream)
        self.assertEqual((e.code, e.source), ("c", "http://" + second.address))

    def test_after_an_event(self) -> None:
        log = Log(event(1, "a", 1), event(2, "b", 2), event(3, "c", 3))
        f = self.fake(log)
        known = self.take(self.client(f).events(after=0), 2)[1]
        self.assertEqual(next(self.client(f).events(after=known)).code, "c")

    def test_close_from_another_thread(self) -> None:
        for which in ("stream", "client"):
            with self.subTest(which):
                c = self.client(self.fake(Log(stay=True)))
                stream = c.events()
                got: List[Any] = []
                t = threading.Thread(target=lambda: got.extend(stream))
                t.start()
                deadline = time.monotonic() + PATIENCE
                while stream._stream is None and time.monotonic() < deadline:
                    time.sleep(0.01)
                (stream if which == "stream" else c).close()
                t.join(PATIENCE)
                self.assertFalse(t.is_alive())
                self.assertEqual(got, [])
                self.assertEqual(list(stream), [])

    def test_nobody(self) -> None:
        f = self.fake(Log())
        stream = self.client(f).events(patience=0.2)
        f.close()
        with self.assertRaises(crawlnode.Unreachable):
            next(stream)

    def test_full_node(self) -> None:
        """A node that has too many streams is left for another one."""
        full = Log(event(1, "a", 1))
        first = self.fake(lambda r: full(r) if r.query.get("format") == "json" or "nodes" in r.path
                          else problem(503, "64 clients already", retry_after=10))
        second = self.fake(Log(event(8, "a", 1), event(9, "b", 2), stay=True))
        stream = self.client(first, second).events()
        e = next(stream)
        self.assertEqual(e.source, "http://" + second.address)

    def test_no_stream(self) -> None:
        page = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<html>"
        for reply in (Raw(page), Raw([HEAD, b"data: {\n\n"]), Raw([HEAD, b"data: 7\n\n"]),
                      Raw([HEAD, b"data: " + b"x" * (2 << 20)])):
            with self.subTest(str(reply)[:80]):
                f = self.fake(lambda r: (200, []) if r.query.get("format") == "json" else reply)
                with self.assertRaises(crawlnode.ProtocolError):
                    next(self.client(f).events())

    def test_wrong_after(self) -> None:
        f: Fake = self.fake(Log())
        for after in (-1, True, 1 << 63, "7"):
            with self.subTest(after), self.assertRaises(ValueError):
                self.client(f).events(after=after)  # type: ignore[arg-type]


if __name__ == "__main__":
    unittest.main()
