"""Workers: programs that fetch pages for the cluster. docs/workers.md has the rules.

Threads of one call of work: the caller's, which waits and hears of an interrupt; one that leases
URLs; one that sends results; and one for each URL that is fetched at a time. A URL holds its place
from its lease until its result is acknowledged, so that never more than ``threads`` URLs, and
never more than ``threads`` results, are here. All threads have ended when work returns.
"""

from __future__ import annotations

import collections
import dataclasses
import hashlib
import http.client
import os
import socket
import ssl
import threading
import time
import urllib.error
from typing import (
    Any, Callable, Deque, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple, Union,
)

from ._events import learn
from ._http import Transport, encode
from ._operations import NEXT, RESULTS
from .errors import (
    Busy, Closed, CrawlnodeError, Gone, ProtocolError, TooMany, Unreachable, seconds_of,
)
from .links import bounded, links_of
from .model import LeasedURL, ResultsReport, WorkerLease

#: The most URLs that one call of work fetches at a time.
MAX_THREADS = 1000

# How long a node waits for a URL that may be fetched, in milliseconds.
_LONG_POLL = 2000
# Bounds of one request with results: bytes, links, results.
_MAX_BODY, _MAX_LINKS, _MAX_RESULTS = 8 << 20, 500_000, 1000
# How often the cluster is asked for the addresses of its nodes, in seconds.
_LEARN_EVERY = 20.0
# The pause after a failed request, in seconds.
_PAUSE = 0.5
# How long after its end a lease may still count, in seconds.
_GRACE = 30.0
# The categories of failed fetches, as in /status.
_CATEGORIES = (
    "dns", "connect", "tls", "timeout", "protocol", "truncated", "blocked_address", "other",
)
# How much of an error text is sent.
_MAX_ERROR = 500


class Task(str):
    """A URL that is to be fetched. It is a ``str``; what the cluster says of it are attributes."""

    #: The URL, as plain text.
    url: str
    #: Its host.
    host: str
    #: The address to connect to, which the cluster has judged; "" when it has none.
    ip: str
    #: How many links away from a seed it is.
    depth: int
    #: Its priority, 0 to 1.
    priority: float
    #: The User-Agent header to send.
    user_agent: str
    #: The product token by which pages address the crawl, as in robots meta elements.
    robots_agent: str
    #: The ETag of an earlier visit, to send as If-None-Match; None without one.
    etag: Optional[str]
    #: The date of an earlier visit, to send as If-Modified-Since; None without one.
    last_modified: Optional[str]
    #: The whole document of the API.
    document: LeasedURL
    #: The lease that the URL belongs to.
    lease_id: str

    _deadline = 0.0

    @property
    def seconds_left(self) -> float:
        """The seconds until the lease ends: no request may begin after it."""
        return self._deadline - time.monotonic()


@dataclasses.dataclass
class Result:
    """What came of one request. A fetch function may return it."""

    #: The HTTP status; 0: no answer came, and error says why.
    status: int = 200
    #: The links of the page, relative ones too, or of a redirect its target alone. None: they are
    #: read from the body when it is HTML and the status is 200.
    links: Optional[Sequence[str]] = None
    #: The Content-Type header.
    content_type: str = ""
    #: The body, for its length, its hash and its links; it is not sent.
    body: Optional[bytes] = None
    #: Why there was no answer, best with a category as in "dns: no such host".
    error: str = ""
    #: The Retry-After of an answer 429 or 503: seconds, or the header as it came.
    retry_after: Union[float, str, None] = None
    #: The SHA-1 of the body, as hexadecimal; made from the body without it.
    content_hash: str = ""
    #: A SimHash of the page's text: 16 hexadecimal digits.
    simhash: str = ""
    #: The lines of X-Robots-Tag, which may ask that links are not followed.
    x_robots_tag: Sequence[str] = ()


#: What a fetch function may return: see Client.work.
Fetched = Union[
    Result, Mapping[str, Any], Tuple[int, Iterable[str]], Tuple[int, Iterable[str], bytes],
    bytes, str, Iterable[str],
]
Fetch = Callable[[Task], Any]


@dataclasses.dataclass
class WorkSummary:
    """What a call of :meth:`Client.work` has done."""

    #: URLs whose fetch function was called.
    fetched: int = 0
    #: How many of them have failed.
    errors: int = 0
    #: Results that count.
    processed: int = 0
    #: Results whose URL the cluster tries again.
    retries_scheduled: int = 0
    #: Results that came too late: their lease had ended, and the URL is queued again.
    ended: int = 0
    #: Leased URLs of which nothing was reported: their lease had ended before their turn, or the
    #: work has failed. The cluster gives them again.
    dropped: int = 0
    #: How long it took.
    seconds: float = 0.0
    #: Why it ended: "finished" (the crawl has), "stopped" (:meth:`Client.stop`), "interrupted"
    #: (KeyboardInterrupt) or "failed" (the error has this summary as its report).
    why: str = ""


def category(e: BaseException) -> str:
    """The text for a failed fetch, with the category of the cluster before it."""
    seen = 0
    while isinstance(e, urllib.error.URLError) and isinstance(e.reason, BaseException):
        e = e.reason
        seen += 1
        if seen > 10:
            break
    text = " ".join((str(e) or type(e).__name__).split())[:_MAX_ERROR]
    if text.partition(":")[0] in _CATEGORIES:
        return text
    if isinstance(e, socket.gaierror):
        kind = "dns"
    elif isinstance(e, (socket.timeout, TimeoutError)):
        kind = "timeout"
    elif isinstance(e, ssl.SSLError):
        kind = "tls"
    elif isinstance(e, ConnectionRefusedError):
        kind = "connect"
    elif isinstance(e, (http.client.IncompleteRead, ConnectionError)):
        kind = "truncated"
    elif isinstance(e, http.client.HTTPException):
        kind = "protocol"
    elif isinstance(e, (OSError, CrawlnodeError)):
        kind = "other"
    else:
        kind, text = "other", "%s: %s" % (type(e).__name__, text)
    return "%s: %s" % (kind, text)


def _is_html(kind: str) -> bool:
    return kind.partition(";")[0].strip().lower() in ("", "text/html", "application/xhtml+xml")


def to_document(task: Task, returned: Any, took: float) -> Dict[str, Any]:
    """The result of the API for what a fetch function has returned, or raised. took is in seconds.
    TypeError, ValueError: it can be no result."""
    document: Dict[str, Any] = {"url": task.url, "fetch_time_ms": round(max(took, 0.0) * 1000, 3)}
    if isinstance(returned, urllib.error.HTTPError):  # urllib raises answers
        returned = Result(returned.code, [], retry_after=returned.headers.get("Retry-After")
                          if returned.headers else None)
    if isinstance(returned, BaseException):
        returned = Result(0, error=category(returned))
    if isinstance(returned, Mapping):
        returned = _from_mapping(returned, document)
    r = _as_result(returned)
    if isinstance(r.status, bool) or not isinstance(r.status, int):
        raise TypeError("fetch returned the status %r, which is no number" % (r.status,))
    if r.status == 0:
        document["status"] = "error"
        document["error"] = str(r.error or "other: no reason was given")[:_MAX_ERROR]
        return document
    if not 100 <= r.status <= 999:
        raise ValueError("fetch returned the status %d, which is not from 100 to 999" % r.status)
    document["status"], document["http_status"] = "success", r.status
    if r.content_type:
        document["content_type"] = str(r.content_type).partition(";")[0].strip().lower()[:200]
    if r.error:
        document["error"] = str(r.error)[:_MAX_ERROR]
    body = None if r.body is None else bytes(r.body)
    if body is not None:
        document.setdefault("content_length", len(body))
        document["content_hash"] = "sha1:" + hashlib.sha1(body).hexdigest()
    if r.content_hash:
        given = str(r.content_hash)
        document["content_hash"] = given if ":" in given else "sha1:" + given
    if r.simhash:
        document["simhash"] = str(r.simhash)
    links, found = _links(task, r, body)
    if links:
        document["links"] = links
    if found:
        document.setdefault("links_found", found)
    wait = r.retry_after if not isinstance(r.retry_after, str) else seconds_of(r.retry_after)
    if wait is not None and 0 < float(wait) < 1e9:
        document["retry_after"] = float(wait)
    return document


def _links(task: Task, r: Result, body: Optional[bytes]) -> Tuple[List[str], int]:
    """The links of a result, and how many there were."""
    if r.links is None:
        if body is None or r.status != 200 or not _is_html(r.content_type):
            return [], 0
        return links_of(
            body, task.url, content_type=r.content_type, robots_agent=task.robots_agent,
            x_robots_tag=list(r.x_robots_tag), absolute=False,
        )
    if isinstance(r.links, (str, bytes)):
        raise TypeError("fetch returned one text as links: return a list of texts")
    links = list(r.links)
    for link in links:
        if not isinstance(link, str):
            raise TypeError("fetch returned the link %r, which is no text" % (link,))
    # Texts may have halves of characters, which JSON cannot send.
    made = bounded(link.encode("utf-8", "replace").decode("utf-8") for link in links)
    return made, len(links)


_PASSED = ("content_length", "links_found", "is_duplicate", "fetch_time_ms")


def _from_mapping(given: Mapping[str, Any], document: Dict[str, Any]) -> Result:
    """The result of a dictionary: with the names of the API, or those of Result."""
    known = {f.name for f in dataclasses.fields(Result)} | set(_PASSED) | {"http_status", "url"}
    unknown = sorted(str(k) for k in given if k not in known)
    if unknown:
        raise ValueError("fetch returned %s, which no result has" % ", ".join(unknown))
    for name in _PASSED:
        if given.get(name) is not None:
            document[name] = given[name]
    left_out = (*_PASSED, "http_status", "url")
    fields = {k: v for k, v in given.items() if k not in left_out}
    status = given.get("http_status")
    if status is None:
        status = given.get("status", 0 if given.get("error") else 200)
    if isinstance(status, str):  # the API's words
        status = 0 if given.get("error") or status == "error" else 200
    fields["status"] = 0 if status is None else status
    return Result(**fields)


def _as_result(returned: Any) -> Result:
    if isinstance(returned, Result):
        return returned
    if isinstance(returned, (bytes, bytearray)):
        return Result(body=bytes(returned))
    if isinstance(returned, str):
        body = returned.encode("utf-8", "replace")
        return Result(body=body, content_type="text/html; charset=utf-8")
    if isinstance(returned, tuple) and len(returned) in (2, 3) and isinstance(returned[0], int):
        status, links = returned[0], returned[1]
        return Result(status, links, body=returned[2] if len(returned) == 3 else None)
    if isinstance(returned, (list, tuple, set, frozenset)):
        return Result(links=list(returned))
    raise TypeError(
        "fetch returned %s: return a Result, a dictionary, (status, links), the body or the links"
        % type(returned).__name__
    )


def tasks_of(lease: WorkerLease, came: float) -> List[Task]:
    """The tasks of a lease that came at a time (time.monotonic). ValueError: it is none."""
    made = []
    seconds = lease.get("lease_seconds")
    if not isinstance(seconds, (int, float)) or isinstance(seconds, bool):
        seconds = 0.0
    for of in lease.urls:
        if not isinstance(of, LeasedURL) or not isinstance(of.get("url"), str):
            raise ValueError("a leased URL has no url")
        task = Task(of["url"])
        task.url = of["url"]
        task.document = of
        task.host, task.ip = str(of.get("host") or ""), str(of.get("ip") or "")
        task.depth, task.priority = of.get("depth") or 0, of.get("priority") or 0.0
        task.etag, task.last_modified = of.get("etag"), of.get("last_modified")
        task.user_agent = str(lease.get("user_agent") or "")
        task.robots_agent = str(lease.get("robots_agent") or "crawlnode")
        task.lease_id = lease.lease_id
        task._deadline = came + seconds
        made.append(task)
    return made


def default_worker_id() -> str:
    """The host's name and the process."""
    name = socket.gethostname().encode("ascii", "replace").decode("ascii")[:100]
    return "%s-%d" % (name or "python", os.getpid())


class Work:
    """One call of Client.work."""

    def __init__(
        self, transport: Transport, fetch: Fetch, worker_id: str, threads: int,
        until_finished: bool, patience: float,
        on_result: Optional[Callable[[Task, Mapping[str, Any]], None]],
    ) -> None:
        if not callable(fetch):
            raise TypeError("fetch must be a function: %r" % (fetch,))
        if not isinstance(threads, int) or not 1 <= threads <= MAX_THREADS:
            raise ValueError("threads must be from 1 to %d, not %r" % (MAX_THREADS, threads))
        if not worker_id or len(worker_id.encode("utf-8")) > 128:
            raise ValueError("worker_id must name the worker, in 1 to 128 bytes")
        self._transport, self._fetch, self._worker_id = transport, fetch, worker_id
        self._threads, self._until_finished, self._patience = threads, until_finished, patience
        self._on_result = on_result
        self.summary = WorkSummary()
        self.stopping = threading.Event()  # no more URLs are leased
        self._lock = threading.Condition()  # of all below; nobody waits for I/O while holding it
        self._held = 0  # places that are taken
        self._todo: Deque[Task] = collections.deque()  # leased, at most threads
        self._done: Deque[Tuple[Task, Dict[str, Any]]] = collections.deque()  # at most threads
        self._fetchers = 0  # threads that fetch
        self._leasing = True
        self._failed: Optional[BaseException] = None
        self._finished = False

    def run(self) -> WorkSummary:
        """Works until the crawl has ended, or stop, or an interrupt."""
        start = time.monotonic()
        leaser = threading.Thread(target=self._guard, args=(self._lease,), name="crawlnode-lease")
        sender = threading.Thread(target=self._guard, args=(self._send,), name="crawlnode-send")
        # A second interrupt leaves work at once; then nothing keeps the process.
        leaser.daemon = sender.daemon = True
        self._all = [leaser, sender]
        try:
            leaser.start()
            sender.start()
            self._wait(sender)
        except KeyboardInterrupt:
            self.stop()
            self.summary.why = "interrupted"
            self._wait(sender)  # what was leased and has begun is still reported
        self.summary.seconds = time.monotonic() - start
        if self._failed is not None:
            self.summary.why = "failed"
            if isinstance(self._failed, CrawlnodeError):
                self._failed.report = self.summary
            raise self._failed
        if not self.summary.why:
            self.summary.why = "finished" if self._finished else "stopped"
        return self.summary

    def stop(self) -> None:
        """Ends the work as soon as what is leased is fetched and reported: nobody else may request
        its hosts before."""
        self.stopping.set()
        with self._lock:
            self._lock.notify_all()

    def _wait(self, sender: threading.Thread) -> None:
        while True:
            with self._lock:
                threads = list(self._all)
            if not any(t.is_alive() for t in threads):
                return
            # Not for ever: a join without a time hears of no interrupt on some systems.
            for t in threads:
                t.join(0.5)
                if t.is_alive():
                    break

    def _guard(self, run: Callable[[], None]) -> None:
        """Runs a thread; what it cannot cope with ends the work."""
        try:
            run()
        except BaseException as e:  # it is raised by run of the caller's thread
            with self._lock:
                if self._failed is None and not (
                    isinstance(e, Closed) and self.stopping.is_set()
                ):
                    self._failed = e
            self.stop()

    # Leases.

    def _lease(self) -> None:
        asked = -_LEARN_EVERY
        try:
            while self._place():
                if time.monotonic() - asked >= _LEARN_EVERY:
                    learn(self._transport)
                    asked = time.monotonic()
                lease, tasks = self._next()
                if tasks:
                    self._give(tasks)
                elif self._until_finished and lease.get("crawl_state") == "finished":
                    with self._lock:
                        if self._held == 0:
                            self._finished = True
                            return
                        # A result of ours is on its way; it counts or not, and the crawl stays.
                        self._lock.wait(_PAUSE)
        finally:
            with self._lock:
                self._leasing = False
                self._lock.notify_all()

    def _place(self) -> bool:
        """Waits until a URL may be leased; false: none may any more."""
        with self._lock:
            while self._held >= self._threads and not self.stopping.is_set():
                self._lock.wait()
            return not self.stopping.is_set()

    def _next(self) -> Tuple[WorkerLease, List[Task]]:
        with self._lock:
            most = self._threads - self._held
        query: Dict[str, Union[str, int, None]] = {
            "worker_id": self._worker_id, "batch_size": most, "timeout_ms": _LONG_POLL,
        }
        answer = self._insist(lambda: self._transport.call(
            NEXT, query=query, patience=0.0,
            timeout=max(self._transport.timeout, 3 * _LONG_POLL / 1000),
        ))
        came = time.monotonic()
        if answer is None:
            return WorkerLease(), []
        try:
            lease = WorkerLease.read(answer.json())
            if not isinstance(lease.urls, list) or len(lease.urls) > most:
                raise ValueError("it has %d URLs of at most %d" % (len(lease.urls), most))
            if lease.urls and not (isinstance(lease.lease_id, str) and lease.lease_id):
                raise ValueError("it has no id")
            return lease, tasks_of(lease, came)
        except (ValueError, AttributeError, TypeError) as e:
            raise ProtocolError(
                "the lease cannot be read: %s" % e, address=str(answer.address)
            ) from None

    def _insist(self, ask: Callable[[], Any], until: Optional[float] = None) -> Any:
        """Asks for as long as no node answers, or the nodes are busy. None: the work is stopping,
        or, with until (time.monotonic), it is later than that. After patience seconds without any
        answer the error is raised."""
        since: Optional[float] = None
        while True:
            try:
                return ask()
            except (Unreachable, Busy, TooMany) as e:
                now = time.monotonic()
                if isinstance(e, Unreachable):
                    since = since or now
                    if now - since >= self._patience:
                        raise
                else:
                    since = None
                if now >= until if until is not None else self.stopping.is_set():
                    return None
                pause = _PAUSE if e.retry_after is None else min(max(e.retry_after, 0.1), 30.0)
                (self.stopping if until is None else self._transport.closed).wait(pause)

    def _give(self, tasks: List[Task]) -> None:
        with self._lock:
            self._held += len(tasks)
            self._todo.extend(tasks)
            while self._fetchers < min(self._held, self._threads):
                self._fetchers += 1
                t = threading.Thread(
                    target=self._guard, args=(self._fetch_all,), daemon=True,
                    name="crawlnode-fetch-%d" % self._fetchers,
                )
                self._all.append(t)
                t.start()
            self._lock.notify_all()

    # Fetches.

    def _fetch_all(self) -> None:
        try:
            while True:
                with self._lock:
                    while not self._todo and self._leasing:
                        self._lock.wait()
                    if not self._todo:
                        return
                    task = self._todo.popleft()
                    if task.seconds_left <= 0:
                        self._drop(1)
                        continue
                    self.summary.fetched += 1
                self._one(task)
        finally:
            with self._lock:
                self._fetchers -= 1
                self._lock.notify_all()

    def _drop(self, count: int) -> None:
        self.summary.dropped += count
        self._held -= count
        self._lock.notify_all()

    def _one(self, task: Task) -> None:
        start = time.monotonic()
        try:
            returned = self._fetch(task)
        except Exception as e:
            returned = e
        except BaseException:
            with self._lock:
                self._drop(1)
            raise
        try:
            document = to_document(task, returned, time.monotonic() - start)
            encode(document)
        except Exception:  # the fetch function is wrong, and would be for every URL
            with self._lock:
                self._drop(1)
            raise
        if self._on_result is not None:
            try:
                self._on_result(task, document)
            except BaseException:
                with self._lock:
                    self._drop(1)
                raise
        with self._lock:
            self.summary.errors += document["status"] == "error"
            self._done.append((task, document))
            self._lock.notify_all()

    # Results.

    def _send(self) -> None:
        while True:
            with self._lock:
                while not self._done and (self._leasing or self._fetchers):
                    self._lock.wait()
                if not self._done:
                    return
                batch = self._batch()
            self._report(batch)
            with self._lock:
                self._held -= len(batch)
                self._lock.notify_all()

    def _batch(self) -> List[Tuple[Task, Dict[str, Any]]]:
        """The first results that can be sent together: those of one lease."""
        lease, size, links = self._done[0][0].lease_id, 0, 0
        batch: List[Tuple[Task, Dict[str, Any]]] = []
        rest: Deque[Tuple[Task, Dict[str, Any]]] = collections.deque()
        for one in self._done:
            if one[0].lease_id != lease or rest or len(batch) >= _MAX_RESULTS:
                rest.append(one)
                continue
            size += len(encode(one[1]))
            links += len(one[1].get("links", ()))
            if batch and (size > _MAX_BODY or links > _MAX_LINKS):
                rest.append(one)
                continue
            batch.append(one)
        self._done = rest
        return batch

    def _report(self, batch: List[Tuple[Task, Dict[str, Any]]]) -> None:
        """Sends results until they count, or their lease is over."""
        document = {"lease_id": batch[0][0].lease_id, "results": [d for _, d in batch]}
        # When its node was killed, a lease lives on at the heir, perhaps a little later.
        until = batch[0][0]._deadline + _GRACE
        counts: List[Any] = [0, 0, len(batch)]
        try:
            answer = self._insist(
                lambda: self._transport.call(RESULTS, document=document, patience=0.0), until
            )
            if answer is not None:
                report = ResultsReport.read(answer.json())
                counts = [report.get(k) for k in ("processed", "retries_scheduled", "ended")]
                if not all(isinstance(c, int) for c in counts):
                    raise ValueError("a figure is none")
        except Gone:
            pass  # their URLs are queued again
        except ValueError as e:
            raise ProtocolError("the answer to results cannot be read: %s" % e) from None
        with self._lock:
            self.summary.processed += counts[0]
            self.summary.retries_scheduled += counts[1]
            self.summary.ended += counts[2]
