"""One polite request for a worker: :func:`fetch_page`."""

from __future__ import annotations

import http.client
import socket
import ssl
import time
import urllib.parse
from typing import Dict, List, Optional

from ._http import CONNECT_TIMEOUT, TimedSocket
from ._work import Result, Task

__all__ = ["FetchError", "fetch_page"]

#: The most that is read of a page, in bytes.
MAX_BODY = 10 << 20
#: The time for one page, in seconds.
TIMEOUT = 60.0


class FetchError(Exception):
    """A request that failed. Its text begins with a category of the cluster, as in ``dns: ...``:
    after ``dns``, ``connect``, ``tls`` and ``blocked_address`` the whole host waits."""


def fetch_page(
    task: Task, *, timeout: float = TIMEOUT, max_body: int = MAX_BODY,
    headers: Optional[Dict[str, str]] = None, context: Optional[ssl.SSLContext] = None,
) -> Result:
    """Makes one request, as the rules for workers say: to the address that the cluster has judged,
    with its user agent and validators, without following a redirect. It is a whole fetch function
    for :meth:`Client.work`.

    A body beyond max_body bytes is cut. timeout is for everything, in seconds. headers are sent
    in addition. FetchError: no answer came. It may be called from many threads.
    """
    parts = urllib.parse.urlsplit(task.url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise FetchError("other: the URL is neither http nor https")
    if not task.ip:  # to resolve the name here would reach addresses that the cluster forbids
        raise FetchError("dns: the node gave no address")
    deadline = time.monotonic() + min(timeout, max(task.seconds_left, 0.001))
    sock = _connect(task.ip, parts, deadline, context)
    try:
        timed = TimedSocket(sock, deadline, timeout)
        conn = http.client.HTTPConnection(parts.hostname)
        conn.auto_open = 0
        conn.sock = timed  # type: ignore[assignment]
        sent = {"Host": parts.netloc.rpartition("@")[2], "User-Agent": task.user_agent,
                "Accept": "text/html,application/xhtml+xml,*/*;q=0.8",
                "Accept-Encoding": "identity", "Connection": "close"}
        if task.etag:
            sent["If-None-Match"] = task.etag
        if task.last_modified:
            sent["If-Modified-Since"] = task.last_modified
        sent.update(headers or {})
        conn.putrequest("GET", _target(task.url), skip_host=True, skip_accept_encoding=True)
        for name, value in sent.items():
            conn.putheader(name, value)
        conn.endheaders()
        with conn.getresponse() as answer:
            body = _read(answer, max_body)
            return _result(task, answer, body)
    except socket.timeout:
        raise FetchError("timeout: the web server is too slow") from None
    except http.client.IncompleteRead:
        raise FetchError("truncated: the answer broke off") from None
    except (http.client.HTTPException, ValueError) as e:
        raise FetchError("protocol: %s" % (str(e) or type(e).__name__)[:200]) from None
    except OSError as e:
        raise FetchError("truncated: %s" % (e.strerror or str(e))[:200]) from None
    finally:
        sock.close()


def _target(url: str) -> str:
    """The path and query of a canonical URL, as they are written: an empty query keeps its mark."""
    rest = url.partition("#")[0].partition("://")[2]
    at = min((i for i in (rest.find("/"), rest.find("?")) if i >= 0), default=len(rest))
    return rest[at:] if rest[at:at + 1] == "/" else "/" + rest[at:]


def _connect(
    ip: str, parts: urllib.parse.SplitResult, deadline: float, context: Optional[ssl.SSLContext]
) -> socket.socket:
    sock: Optional[socket.socket] = None
    try:
        port = parts.port or (443 if parts.scheme == "https" else 80)
        limit = max(min(deadline - time.monotonic(), 2 * CONNECT_TIMEOUT), 0.001)
        sock = socket.create_connection((ip, port), timeout=limit)
        if parts.scheme == "https":
            context = context or ssl.create_default_context()
            secured = context.wrap_socket(sock, server_hostname=parts.hostname)
            sock = secured
        return sock
    except (OSError, ValueError) as e:
        if sock is not None:
            sock.close()
        kind = "tls" if sock is not None and parts.scheme == "https" else "connect"
        raise FetchError("%s: %s" % (kind, str(e)[:200])) from None


def _read(answer: http.client.HTTPResponse, most: int) -> bytes:
    parts: List[bytes] = []
    left = most
    while left > 0:
        part = answer.read(min(left, 1 << 16))
        if not part:
            break
        parts.append(part)
        left -= len(part)
    if left > 0 and answer.length:  # some versions of Python do not notice it
        raise http.client.IncompleteRead(b"", answer.length)
    return b"".join(parts)


def _result(task: Task, answer: http.client.HTTPResponse, body: bytes) -> Result:
    kind = answer.getheader("Content-Type") or ""
    made = Result(answer.status, content_type=kind, body=body,
                  retry_after=answer.getheader("Retry-After"))
    if 300 <= answer.status < 400:
        target = answer.getheader("Location")
        if target:  # a header has bytes, of which Python makes Latin-1
            target = target.encode("latin-1", "replace").decode("utf-8", "replace")
        made.links = [target] if target else []
    elif answer.status == 200:
        tags = answer.headers.get_all("X-Robots-Tag") or []
        made.x_robots_tag = [str(t) for t in tags]
    return made
