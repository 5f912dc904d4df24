"""The client."""

from __future__ import annotations

import datetime
import ssl
import threading
from typing import Any, Callable, Dict, Iterable, List, Mapping, Optional, Set, Type, Union

from ._archive import (
    MAX_CONTENT, Content, Warc, content_of, decoded_content, nothing_stored, parse_member,
)
from ._events import EventStream, addresses_of
from ._http import Answer, Transport, encode, resolve
from ._operations import CAPTURE, CAPTURES, SEARCH, SEEDS, SET, SETTINGS, STATUS
from ._record import R, Results, parse_duration, write_duration
from ._work import Fetch, Task, Work, WorkSummary, default_worker_id
from .errors import CrawlnodeError, NoDecoder, NotFound, ProtocolError, Unreadable
from .model import (
    CaptureReport, CapturesReport, CrawlReport, Event, SearchReport, SearchResult, SeedReport,
    SettingsReport, Status,
)

# Bounds of one request with seeds: URLs, and bytes of JSON.
_SEEDS, _SEED_BYTES = 1000, 4 << 20
# Bytes of a record beyond the content: packed data may be a little longer, and has heads.
_HEADS = 4 << 20

SeedLike = Union[str, Mapping[str, Any]]


class Settings(SettingsReport):
    """The crawl's settings by name, such as ``settings["max_depth"]`` or ``settings.max_depth``.
    Durations and sizes are texts, as on the command line."""

    #: The version of the settings, for the version of Client.set.
    version: str = ""
    #: The crawl's state: idle, running, waiting, paused or finished.
    state: str = ""

    def duration(self, name: str) -> Optional[datetime.timedelta]:
        """A duration such as ``delay``; None when it is not set. KeyError: there is no such
        setting. ValueError: it is no duration."""
        text = self[name]
        if text is None or text == "":
            return None
        return parse_duration(str(text))


class Client:
    """A cluster, by the addresses of some of its nodes. It may be used from many threads.

    address is ``host:port``, with or without ``http://`` or ``https://``, or several of them as a
    list or with commas between. Any node answers for the whole cluster; when one is dead the next
    is asked. None: the variable CRAWLNODE_ADDR, else ``127.0.0.1:27295``.

    token is one that ``crawlnode keygen --role`` made, for a cluster with a key. None: the variable
    CRAWLNODE_TOKEN, or the file that CRAWLNODE_TOKEN_FILE names, else no token. Such a token names
    its cluster: the client speaks TLS, and to no other cluster. Other tokens, as of a proxy in
    between, go over https to a server whose certificate is valid, or to this machine.

    - timeout: for one request, in seconds.
    - patience: how long a request is repeated, at all addresses in turn, while no node can be
      reached, or they answer 503, in seconds. All requests of this client may be repeated
      without harm.
    - discover: let status, events and work learn the addresses of the other nodes from the
      cluster, to go on there when all given ones are dead.
    - context: how certificates are checked, for a proxy with one of its own.

    Proxies of the environment are not used, and no redirect is followed. ValueError: an address or
    the token is none, or the token would travel unencrypted. Nothing is sent before the first call.
    """

    def __init__(
        self,
        address: Union[str, Iterable[str], None] = None,
        token: Optional[str] = None,
        *,
        timeout: float = 40.0,
        patience: float = 10.0,
        discover: bool = True,
        context: Optional[ssl.SSLContext] = None,
    ) -> None:
        addresses, found = resolve(address, token)
        if not timeout > 0 or patience < 0:
            raise ValueError("timeout is more than 0 seconds, and patience not less")
        self._transport = Transport(addresses, found, context, timeout, patience, discover)
        self._lock = threading.Lock()  # of _works
        self._works: Set[Work] = set()

    def __repr__(self) -> str:
        return "Client(%s)" % ", ".join(str(a) for a in self._transport.order())

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def close(self) -> None:
        """Ends everything that runs, in any thread: streams of events end, other calls raise
        Closed. The client cannot be used any more."""
        self.stop()
        self._transport.close()

    # Seeds, status, events.

    def seeds(self, urls: Union[SeedLike, Iterable[SeedLike]]) -> SeedReport:
        """Adds seeds, and returns when they are stored durably: the crawl starts with its first.

        urls is one URL, or any number of them: texts, or dictionaries such as
        ``{"url": "https://example.org/", "priority": 0.9, "again": True}``; again fetches a known
        URL once more. They are sent a thousand at a time. The report counts what was ``accepted``,
        ``duplicates`` and ``out_of_scope``, and lists what is no URL under ``invalid``, each with
        its ``line``: the position in urls, from 1. Adding seeds twice is harmless. An error has
        the report of what was stored before it as its ``report``. Role: operate.
        """
        one = isinstance(urls, (str, Mapping))
        given: Iterable[Any] = [urls] if one else urls  # type: ignore[list-item,assignment]
        total = SeedReport.read({"accepted": 0, "duplicates": 0, "out_of_scope": 0, "invalid": []})
        batch: List[Any] = []
        size, begin = 0, 0
        try:
            for url in given:
                if not isinstance(url, (str, Mapping)):
                    raise TypeError("a seed is a text or a dictionary, not %r" % (url,))
                length = len(encode(url if isinstance(url, str) else dict(url))) + 1
                if batch and (len(batch) >= _SEEDS or size + length > _SEED_BYTES):
                    self._send_seeds(batch, begin, total)
                    begin, batch, size = begin + len(batch), [], 0
                batch.append(str(url) if isinstance(url, str) else dict(url))
                size += length
            if batch:
                self._send_seeds(batch, begin, total)
        except CrawlnodeError as e:
            e.report = total
            raise
        return total

    def _send_seeds(self, batch: List[Any], begin: int, total: SeedReport) -> None:
        answer = self._transport.call(SEEDS, document={"urls": batch})
        report = read(SeedReport, answer)
        try:
            for name in ("accepted", "duplicates", "out_of_scope"):
                total[name] += int(report[name])
            for bad in report.invalid or []:
                bad["line"] = int(bad.line) + begin
                total.invalid.append(bad)
        except (KeyError, TypeError, ValueError, AttributeError) as e:
            raise unlike(answer, e) from None

    def status(self, scope: Optional[str] = None) -> Status:
        """The status of the whole cluster, or with ``scope="node"`` of the answering node alone.
        Unknown values are None. Role: read."""
        answer = self._transport.call(STATUS, query={"scope": scope})
        status = read(Status, answer)
        if scope != "node" and isinstance(status.get("nodes"), list):
            self._transport.learn(addresses_of(status["nodes"]))
        return status

    def events(
        self, after: Union[int, Event, None] = None, *, patience: float = 300.0
    ) -> EventStream:
        """The events of the cluster as they happen: an iterator that waits for the next one.

            for event in client.events():
                print(event.time, event.level, event.code, event.message)

        after is the id of the last event that is known, or that event; 0: begin with the newest
        thousand; None: what happens from this call on. When the connection breaks, the stream goes
        on after the last event, at the same node or at another one, until no node has answered for
        patience seconds. Ids are each node's own, so at another node it goes on by time: clocks
        that differ by more than a minute may repeat an event or leave one out. ``event.source`` is
        the address of the node that told it. The stream ends with its ``close`` or that of the
        client. Role: read.
        """
        return EventStream(self._transport, after, patience)

    # Search and archive.

    def search(self, words: str, size: int = 10, page: int = 1) -> "Results[SearchResult]":
        """Finds pages by their text, the best first: a list with the other fields of the answer as
        attributes, such as ``total`` and ``did_you_mean``.

            for hit in client.search('"white whale" -film', size=5):
                print(hit.title, hit.link, hit.snippet)

        size is the number of results, 1 to 100; page counts from 1. Conflict: the cluster has no
        index (``--index on``). Role: read. Text of pages is not safe to print on a terminal.
        """
        answer = self._transport.call(SEARCH, query={"query": words, "page": page, "size": size})
        report = read(SearchReport, answer)
        return results(report, "results", answer)

    def captures(self, url: str) -> "Results[CaptureReport]":
        """What the cluster has stored of a URL in any spelling, the oldest first: each with the
        fields ``at``, ``status``, ``mime``, ``file``, ``offset``, ``digest`` and more. Role: read.
        """
        answer = self._transport.call(CAPTURES, query={"url": url})
        return results(read(CapturesReport, answer), "captures", answer)

    def content(
        self, url: str, capture: Optional[Mapping[str, Any]] = None, *, raw: bool = False,
        limit: int = MAX_CONTENT,
    ) -> Content:
        """The body of the newest stored answer of a URL, or of one of its captures: ``bytes`` with
        attributes such as ``content_type``, ``status``, ``headers`` and ``text()``.

        Content codings such as gzip are removed, unless raw is true. Without the package brotli,
        and for zstd without Python 3.14 or the package zstandard, a node does it, and gives 10 MiB
        at most. A visit that found nothing new has the body of the earlier one. At most limit bytes
        are unpacked; ``truncated`` says whether there was more. NotFound: nothing is stored. Unreadable: the capture is damaged. Role: read.
        """
        if limit < 1:
            raise ValueError("limit is at least one byte")
        known: List[CaptureReport] = []
        if capture is None:
            known = self.captures(url)
            if not known:
                raise nothing_stored(url)
            capture = known[-1]
        at = str(capture.get("at") or "")
        try:
            visit, cut = self._record(capture, limit)
            stored = visit
            if visit.fields.get("warc-type") == "revisit":
                stored, cut = self._stored(url, capture, visit, known, limit)
            return content_of(url, at, visit, stored, cut, raw, limit)
        except NoDecoder:
            if raw:
                raise
        # The node decodes it.
        answer = self._fetch(capture, limit, "answer")
        if not answer.headers.get("content-type", "").startswith("application/http"):
            raise Unreadable("the node is of an earlier release: it does not decode captures")
        return decoded_content(url, at, answer.body, "warc-truncated" in answer.headers, limit)

    def _fetch(self, capture: Mapping[str, Any], limit: int, form: Optional[str]) -> Answer:
        file, offset = capture.get("file"), capture.get("offset")
        if not isinstance(file, str) or isinstance(offset, bool) or not isinstance(offset, int):
            raise ValueError("this is no capture: %r" % (capture,))
        # A decoded answer has 10 MiB at most, and a packed record may be a little longer.
        most = max(limit, 10 << 20) + _HEADS
        path = {"file": file, "offset": str(offset)}
        return self._transport.call(CAPTURE, path=path, query={"form": form}, limit=most)

    def _record(self, capture: Mapping[str, Any], limit: int) -> Any:
        answer = self._fetch(capture, limit, None)
        try:
            return parse_member(answer.body, limit)
        except NoDecoder:
            raise
        except Unreadable as e:
            where = "%s at %s: " % (capture.get("file"), capture.get("offset"))
            raise Unreadable(where + e.detail) from None

    def _stored(
        self, url: str, capture: Mapping[str, Any], visit: Warc, known: List[CaptureReport],
        limit: int,
    ) -> Any:
        """The record that has the body of a visit which found the same again."""
        digest = visit.fields.get("warc-payload-digest", "")
        targets = [visit.fields.get("warc-refers-to-target-uri") or "", url]
        at = str(capture.get("at") or "")
        for target in targets:
            if not target:
                continue
            found = known if target == url and known else self.captures(target)
            for c in reversed(found):
                if c.get("revisit") or c.get("status") == 304:
                    continue
                if digest and c.get("digest") == digest or not digest and str(c.get("at")) <= at:
                    record, cut = self._record(c, limit)
                    if record.fields.get("warc-type") == "response":
                        return record, cut
        raise NotFound("no running node has the body that %s had on %s" % (url, at))

    # Settings.

    def settings(self) -> Settings:
        """The settings of the crawl, by name, with their ``version``. Role: read."""
        return _settings(self._transport.call(SETTINGS))

    def set(self, *, version: Optional[str] = None, **settings: Any) -> Settings:
        """Changes settings on all nodes while the crawl runs, and returns all of them.

            client.set(max_depth=3, delay=timedelta(seconds=2), exclude=["*/calendar/*"])

        Names are those of the command line with ``_`` for ``-``. Values are numbers, booleans,
        texts, lists of texts, or timedelta for a duration; None is the flag's default. With version
        nothing is changed if somebody has changed the settings since that version
        (VersionConflict). BadRequest: ``errors`` names the wrong settings; none is changed then.
        Role: admin.
        """
        if not settings:
            raise ValueError("no setting is named: set(max_depth=3)")
        document = {"settings": {k: _value(v) for k, v in settings.items()}}
        headers: Dict[str, str] = {}
        if version is not None:
            if not version.isascii() or not version.isprintable() or '"' in version:
                raise ValueError("this is no version of settings: %r" % (version,))
            headers["If-Match"] = '"%s"' % version
        # After a lost answer the version has changed, perhaps by this very request.
        answer = self._transport.call(
            SET, document=document, headers=headers, repeat=version is None
        )
        return _settings(answer)

    # Workers.

    def work(
        self,
        fetch: Fetch,
        worker_id: Optional[str] = None,
        *,
        threads: int = 16,
        until_finished: bool = True,
        patience: float = 300.0,
        on_result: Optional[Callable[[Task, Mapping[str, Any]], None]] = None,
    ) -> WorkSummary:
        """Fetches pages for the cluster with a function of yours, until the crawl has ended.

            class Stay(urllib.request.HTTPRedirectHandler):
                def redirect_request(self, *args):
                    return None  # the cluster follows redirects

            opener = urllib.request.build_opener(Stay)

            def fetch(task):
                request = urllib.request.Request(task, headers={"User-Agent": task.user_agent})
                with opener.open(request, timeout=60) as answer:
                    if answer.headers.get_content_type() == "text/html":
                        return answer.read()
                    return answer.status, []

            client.work(fetch)

        fetch gets a Task, which is the URL as text with attributes, makes one request, and returns
        one of these:

        - a Result, or a dictionary with its fields or with those of the API
        - ``(status, links)`` or ``(status, links, body)``
        - the body, as bytes or text, of an HTML page that came with status 200: its links are read
        - the links, as a list, of a page that came with status 200

        An exception is a failed fetch: the cluster tries the URL again, and lets the whole host
        wait when its name or its server does not answer. HTTPError of urllib counts as the answer
        that it is. What no result can be made of ends the work with a TypeError or ValueError.
        ``fetch_page`` is such a function that keeps all rules; one of yours must not follow
        redirects, and must end in time. At most threads calls of it run at a time, each for
        another host.

        worker_id names the worker in the figures; None: the host's name and the process. The work
        ends when the crawl has finished, or never with until_finished false; with stop; with an
        interrupt from the keyboard, when what was leased is fetched and reported; or when no node
        has answered for patience seconds. A node that is killed costs nothing: the work goes on at
        another one. on_result is called with each task and the result that is sent, from the
        threads that fetch. Role: operate.
        """
        work = Work(
            self._transport, fetch, worker_id if worker_id is not None else default_worker_id(),
            threads, until_finished, patience, on_result,
        )
        with self._lock:
            self._works.add(work)
        try:
            return work.run()
        finally:
            with self._lock:
                self._works.discard(work)

    def stop(self) -> None:
        """Ends every running work of this client, from any thread, as soon as what was leased is
        fetched and reported. It does not wait for that."""
        with self._lock:
            works = list(self._works)
        for work in works:
            work.stop()


def unlike(answer: Answer, why: Exception) -> ProtocolError:
    """The error for an answer that has another form than a node's."""
    return ProtocolError("it does not answer as a node does: %s" % why, address=str(answer.address))


def read(kind: Type[R], answer: Answer) -> R:
    """The document of an answer. ProtocolError: it is none, or of another kind."""
    try:
        return kind.read(answer.json())
    except (ValueError, RecursionError) as e:
        raise unlike(answer, e) from None


def results(report: Any, name: str, answer: Answer) -> "Results[Any]":
    """The list in an answer."""
    items = report.get(name)
    if not isinstance(items, list) or not all(isinstance(i, dict) for i in items):
        raise unlike(answer, ValueError("it has no list of %s" % name))
    return Results(items, report)


def _settings(answer: Answer) -> Settings:
    report = read(CrawlReport, answer)
    given = report.get("settings")
    if not isinstance(given, dict):
        raise unlike(answer, ValueError("it has no settings"))
    made = Settings(given)
    made.version, made.state = str(report.get("version") or ""), str(report.get("state") or "")
    return made


def _value(value: Any) -> Any:
    """A value as settings have it."""
    if isinstance(value, datetime.timedelta):
        return write_duration(value)
    if isinstance(value, (set, frozenset)):
        return sorted(str(v) for v in value)
    if isinstance(value, (list, tuple)):
        return [str(v) for v in value]
    return value


