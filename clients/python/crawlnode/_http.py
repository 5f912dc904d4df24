"""How nodes are asked: addresses, tokens, TLS, time limits, and what is tried again.

Connections are made here and nowhere else. Proxies of the environment are not used, and no
redirect is followed, so a token goes only to the addresses that it was given for. Each request has
a connection of its own: nothing is shared between threads but the list of addresses.
"""

import hashlib
import http.client
import io
import ipaddress
import json
import os
import re
import socket
import ssl
import threading
import time
import urllib.parse
from typing import (
    Any, Iterable, List, Mapping, NamedTuple, Optional, Sequence, Set, Tuple, Union,
)

from ._operations import Operation
from .errors import (
    Busy, Closed, CrawlnodeError, ProtocolError, Unreachable, Untrusted, api_error,
)

#: The port of a node's API when an address has none.
USUAL_PORT = 27295

# How long a connection may take, with its TLS handshake, in seconds.
CONNECT_TIMEOUT = 5.0
# The longest answer that is read; the status of a large cluster has some MiB.
MAX_ANSWER = 64 << 20
# The longest error that is read.
_MAX_ERROR = 1 << 20
# Pauses between rounds in which no node has answered, in seconds: the first, and the longest.
_FIRST_PAUSE, _LAST_PAUSE = 0.1, 2.0
# How many addresses are remembered of those that the cluster names.
_MAX_LEARNT = 64

Query = Mapping[str, Union[str, int, None]]


class Address(NamedTuple):
    """Where a node's API is."""

    secure: bool
    host: str
    port: int

    def __str__(self) -> str:
        host = "[%s]" % self.host if ":" in self.host else self.host
        return "%s://%s:%d" % ("https" if self.secure else "http", host, self.port)


def _is_loopback(host: str) -> bool:
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def parse_address(text: str, *, secure: Optional[bool] = None) -> Address:
    """An address as people write it: ``host``, ``host:port``, with or without ``http://`` or
    ``https://``. secure says what holds without a scheme; None: TLS if the host is another machine.
    ValueError: it is none."""
    wrong = ValueError("%r is no address: write host:port, such as 127.0.0.1:27295" % (text,))
    if not isinstance(text, str):
        raise wrong
    plain = text.strip()
    scheme, _, rest = plain.rpartition("://")
    if scheme.lower() not in ("", "http", "https"):
        raise wrong
    rest = rest[:-1] if rest.endswith("/") else rest
    if not rest or not re.fullmatch(r"[A-Za-z0-9._:\[\]%-]{1,300}", rest, re.ASCII):
        raise wrong
    if rest.count(":") > 1 and not rest.startswith("["):
        rest = "[%s]" % rest  # an IPv6 address alone
    try:
        parts = urllib.parse.urlsplit("//" + rest)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        raise wrong from None
    if not host or port == 0:
        raise wrong
    if scheme:
        secure = scheme.lower() == "https"
    elif secure is None:
        secure = not _is_loopback(host)
    if port is None:  # with a scheme the usual port is that of a proxy
        port = (443 if secure else 80) if scheme else USUAL_PORT
    return Address(secure, host, port)


def parse_addresses(given: Union[str, Iterable[str]], token: str) -> List[Address]:
    """The addresses of a client, each once. ValueError: one is none, or would send the token in
    the clear over a network."""
    texts = given.split(",") if isinstance(given, str) else list(given)
    made: List[Address] = []
    pinned = pin_of(token) != ""
    for text in texts:
        a = parse_address(text, secure=None if token and not pinned else pinned)
        if pinned:  # a cluster with a key speaks TLS alone, as do the commands of crawlnode
            a = a._replace(secure=True)
        if token and not a.secure and not _is_loopback(a.host):
            raise ValueError("%s would send the token unencrypted: write https://" % str(a))
        if a not in made:
            made.append(a)
    if not made:
        raise ValueError("no address: write host:port, such as 127.0.0.1:27295")
    return made


def pin_of(token: str) -> str:
    """The fingerprint of its cluster in a token that ``crawlnode keygen --role`` made; "" in any
    other."""
    parts = token.split(".")
    if len(parts) == 6 and parts[0] == "cn1" and re.fullmatch(r"[0-9a-f]{32}", parts[4]):
        return parts[4]
    return ""


def token_from_environment(environ: Mapping[str, str]) -> str:
    """The token of CRAWLNODE_TOKEN, or of the file that CRAWLNODE_TOKEN_FILE names; "" without
    them. OSError: the file cannot be read."""
    token = environ.get("CRAWLNODE_TOKEN", "").strip()
    path = environ.get("CRAWLNODE_TOKEN_FILE", "")
    if not token and path:
        with open(path, encoding="ascii", errors="replace") as f:
            token = f.read(4096).strip()
    return token


def _der(data: bytes, at: int) -> Tuple[int, int, int]:
    """The tag of the DER value at a place, and where its content begins and ends."""
    if at + 2 > len(data):
        raise ValueError("a value is missing")
    tag, size, at = data[at], data[at + 1], at + 2
    if size >= 0x80:
        count = size & 0x7F
        if not 1 <= count <= 4 or at + count > len(data):
            raise ValueError("a length is wrong")
        size, at = int.from_bytes(data[at:at + count], "big"), at + count
    if at + size > len(data):
        raise ValueError("a value is cut")
    return tag, at, at + size


# The algorithm of an Ed25519 key, and the head of its 32 bytes (RFC 8410).
_ED25519 = bytes.fromhex("300506032b6570032100")


def fingerprint(certificate: bytes) -> str:
    """The fingerprint of a cluster's certificate (DER): the first 16 bytes of the SHA-256 of its
    Ed25519 key, in hexadecimal. ValueError: it has another kind of key, or is damaged."""
    _, begin, _ = _der(certificate, 0)  # Certificate
    tag, at, _ = _der(certificate, begin)  # TBSCertificate
    if tag != 0x30:
        raise ValueError("no certificate")
    if _der(certificate, at)[0] == 0xA0:  # version
        at = _der(certificate, at)[2]
    for _ in range(5):  # serial number, algorithm, issuer, dates, subject
        at = _der(certificate, at)[2]
    tag, begin, end = _der(certificate, at)  # SubjectPublicKeyInfo
    key = certificate[begin:end]
    if tag != 0x30 or len(key) != len(_ED25519) + 32 or not key.startswith(_ED25519):
        raise ValueError("the key is not Ed25519")
    return hashlib.sha256(key[len(_ED25519):]).hexdigest()[:32]


class _Reads(io.RawIOBase):
    def __init__(self, of: "TimedSocket") -> None:
        self._of = of

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        return self._of.recv_into(buffer)


class TimedSocket:
    """A socket with a time limit for everything together, which http.client takes for one.

    The time limit of a socket is that of one call: a server that sends a byte now and then would
    hold its client for ever. Its owner closes it.
    """

    def __init__(self, sock: socket.socket, deadline: Optional[float], idle: float) -> None:
        self.raw = sock
        self.deadline = deadline  # by time.monotonic; None: no limit for the whole
        self.idle = idle  # the limit of one call, in seconds

    def _limit(self) -> None:
        left = self.idle
        if self.deadline is not None:
            left = min(left, self.deadline - time.monotonic())
            if left <= 0:
                raise socket.timeout("the time is over")
        self.raw.settimeout(left)

    def recv_into(self, buffer: Any) -> int:
        self._limit()
        return self.raw.recv_into(buffer)

    def sendall(self, data: Any) -> None:
        view = memoryview(data).cast("B")
        while view:
            self._limit()
            view = view[self.raw.send(view):]

    def makefile(self, mode: str = "rb", *_: Any, **__: Any) -> io.BufferedReader:
        return io.BufferedReader(_Reads(self), 1 << 16)

    def close(self) -> None:
        """http.client closes it when the head was read; the body is still to come."""


class Answer(NamedTuple):
    """A whole answer."""

    status: int
    headers: Mapping[str, str]  # by lower-case names
    body: bytes
    address: Address

    def json(self) -> Any:
        """The document. ProtocolError: it is none."""
        try:
            return json.loads(self.body)
        except (ValueError, RecursionError) as e:
            raise ProtocolError(
                "the answer is no JSON, so that is no node: is the address right? (%s)"
                % str(e)[:200], address=str(self.address),
            ) from None


class Stream:
    """An answer that is read as it comes."""

    def __init__(
        self, transport: "Transport", response: http.client.HTTPResponse, sock: socket.socket,
        address: Address,
    ) -> None:
        self._transport, self._response, self._sock = transport, response, sock
        self.address = address
        self.status = response.status
        self.headers = {k.lower(): v for k, v in response.getheaders()}

    def read(self, most: int = 1 << 16) -> bytes:
        """What has come, at most so many bytes; b"" at the end. Unreachable: it broke off."""
        try:
            return self._response.read1(most)
        except (OSError, http.client.HTTPException, ValueError, AttributeError) as e:
            raise self._transport._broke(self.address, e) from None

    def whole(self, most: int) -> bytes:
        """The rest. ProtocolError: it is longer than most bytes."""
        parts, size = [], 0
        while True:
            part = self.read()
            if not part:
                break
            parts.append(part)
            size += len(part)
            if size > most:
                raise ProtocolError(
                    "the answer is longer than %d bytes" % most, address=str(self.address)
                )
        length = self.headers.get("content-length", "")
        if self._transport.closed.is_set() or length.isdigit() and size < int(length[:18]):
            raise self._transport._broke(self.address, EOFError("it ended early"))
        body = b"".join(parts)
        if not length and "transfer-encoding" not in self.headers and not body:
            # The head was cut: a node says how long its answer is.
            raise self._transport._broke(self.address, EOFError("it ended early"))
        return body

    def close(self) -> None:
        self._transport._forget(self._sock)
        try:
            self._response.close()
        except (OSError, ValueError):
            pass  # the socket is closed below in any case
        self._sock.close()

    def __enter__(self) -> "Stream":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()


class Transport:
    """The addresses of a cluster, and requests to them. It may be used from many threads."""

    def __init__(
        self, addresses: Sequence[Address], token: str, context: Optional[ssl.SSLContext],
        timeout: float, patience: float, discover: bool,
    ) -> None:
        self.timeout, self.patience = timeout, patience
        self._token, self._pin = token, pin_of(token)
        self._context = context
        # A token that does not name its cluster goes only to addresses that its owner wrote.
        self._learns = discover and context is None and (self._pin != "" or token == "")
        self._given = list(addresses)
        self._lock = threading.Lock()  # of all below; nobody waits while holding it
        self._learnt: List[Address] = []
        self._best = self._given[0]
        self._live: Set[socket.socket] = set()
        self._closed = threading.Event()

    # Addresses.

    def order(self) -> List[Address]:
        """The addresses in the order in which they are tried: first the one that answered last."""
        with self._lock:
            known = self._given + [a for a in self._learnt if a not in self._given]
            return [self._best] + [a for a in known if a != self._best]

    def prefer(self, address: Address) -> None:
        """The address has answered: it is the first from now on."""
        with self._lock:
            self._best = address

    def learn(self, texts: Iterable[Any]) -> None:
        """Takes addresses over that a node has named. They are tried when the others are dead."""
        if not self._learns or any(a.secure for a in self._given) != (self._pin != ""):
            return
        made: List[Address] = []
        for text in texts:
            try:
                a = parse_address(text, secure=self._pin != "")
            except ValueError:
                continue
            try:
                if ipaddress.ip_address(a.host).is_unspecified:
                    continue  # it listens everywhere, and says nowhere
            except ValueError:
                pass
            if a not in made and len(made) < _MAX_LEARNT:
                made.append(a)
        with self._lock:
            self._learnt = made

    # Requests.

    def call(
        self, op: Operation, *, path: Optional[Mapping[str, str]] = None,
        query: Optional[Query] = None, document: Any = None,
        headers: Optional[Mapping[str, str]] = None, repeat: bool = True,
        limit: int = MAX_ANSWER, timeout: Optional[float] = None,
        patience: Optional[float] = None,
    ) -> Answer:
        """Sends a request to the first node that answers it, and reads the whole answer.

        What cannot be reached, or answers 503, is tried again for patience seconds, at all
        addresses in turn. repeat False: the request is not sent again when it may have been
        received. Every other error is raised at once.
        """
        body = None if document is None else encode(document)
        give_up = time.monotonic() + (self.patience if patience is None else patience)
        pause = _FIRST_PAUSE
        while True:
            last: Optional[CrawlnodeError] = None
            wait = None  # what the busy nodes ask for
            for address in self.order():
                if self._closed.is_set():
                    raise Closed("the client was closed")
                try:
                    answer = self._whole(
                        op, address, path, query, body, headers, limit, timeout or self.timeout
                    )
                except Unreachable as e:
                    if e.sent and not repeat:
                        raise
                    last = last or e
                except Untrusted as e:
                    last = e
                except Busy as e:
                    last = e
                    wait = min(wait or 1e9, 1.0 if e.retry_after is None else e.retry_after)
                else:
                    self.prefer(address)
                    return answer
            assert last is not None
            if wait is not None and not isinstance(last, Busy):
                wait = None
            left = give_up - time.monotonic()
            step = max(pause, wait or 0.0)
            if isinstance(last, Untrusted) or step > left:
                raise last
            if self._closed.wait(step):
                raise Closed("the client was closed")
            pause = min(2 * pause, _LAST_PAUSE)

    def _whole(
        self, op: Operation, address: Address, path: Optional[Mapping[str, str]],
        query: Optional[Query], body: Optional[bytes], headers: Optional[Mapping[str, str]],
        limit: int, timeout: float,
    ) -> Answer:
        deadline = time.monotonic() + timeout
        with self.open(
            op, address, path=path, query=query, body=body, headers=headers, deadline=deadline
        ) as s:
            return Answer(s.status, s.headers, s.whole(limit), address)

    def open(
        self, op: Operation, address: Address, *, path: Optional[Mapping[str, str]] = None,
        query: Optional[Query] = None, body: Optional[bytes] = None,
        headers: Optional[Mapping[str, str]] = None, deadline: Optional[float] = None,
        idle: float = 60.0,
    ) -> Stream:
        """Sends a request to one address and reads the head of its answer, whose status is 2xx.
        The caller closes it."""
        target = op.target(path or {}, query or {})
        sent = {"Accept": op.accept, "User-Agent": "crawlnode-python", "Connection": "close"}
        if self._token:
            sent["Authorization"] = "Bearer " + self._token
        if body is not None:
            sent["Content-Type"] = "application/json"
        sent.update(headers or {})
        sock = self._connect(address, deadline)
        timed = TimedSocket(sock, deadline, idle)
        stream = None
        try:
            conn = http.client.HTTPConnection(address.host, address.port)
            conn.auto_open = 0
            conn.sock = timed  # type: ignore[assignment]
            try:
                conn.request(op.method, target, body=body, headers=sent)
                response = conn.getresponse()
            except (OSError, http.client.HTTPException, ValueError) as e:
                raise self._broke(address, e) from None
            stream = Stream(self, response, sock, address)
            if not 200 <= stream.status < 300:
                raise self._refusal(stream)
            return stream
        except BaseException:
            if stream is not None:
                stream.close()
            else:
                self._forget(sock)
                sock.close()
            raise

    def _connect(self, address: Address, deadline: Optional[float]) -> socket.socket:
        limit = CONNECT_TIMEOUT
        if deadline is not None:
            limit = min(limit, max(deadline - time.monotonic(), 0.001))
        sock: Optional[socket.socket] = None
        try:
            sock = socket.create_connection((address.host, address.port), timeout=limit)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if address.secure:
                sock = self._secure(sock, address)
        except Untrusted:
            if sock is not None:
                sock.close()
            raise
        except (OSError, UnicodeError) as e:
            if sock is not None:
                sock.close()
            if isinstance(e, ssl.SSLCertVerificationError):
                raise self._untrusted(address, e) from None
            error = Unreachable(
                "nobody answers (%s): is the node running, and the address right?" % reason(e),
                address=str(address),
            )
            raise error from None
        with self._lock:
            self._live.add(sock)
        if self._closed.is_set():  # close has not seen it
            self._forget(sock)
            sock.close()
            raise Closed("the client was closed")
        return sock

    def _secure(self, sock: socket.socket, address: Address) -> socket.socket:
        if not self._pin:
            context = self._context or ssl.create_default_context()
            return context.wrap_socket(sock, server_hostname=address.host)
        # The certificate is the cluster's own, and the token names its key: nothing else counts.
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        # While a key is replaced a node has two identities, and shows the one of this name.
        secured = context.wrap_socket(sock, server_hostname=self._pin + ".crawlnode")
        try:
            shown = fingerprint(secured.getpeercert(True) or b"")
        except ValueError as e:
            secured.close()
            raise self._untrusted(address, e) from None
        if shown != self._pin:
            secured.close()
            raise Untrusted("it belongs to another cluster than the token", address=str(address))
        return secured

    def _untrusted(self, address: Address, why: Exception) -> Untrusted:
        return Untrusted(
            "its certificate is not valid (%s). That of a cluster with a key is its own: give a "
            "token that `crawlnode keygen --role` made, which names it" % reason(why),
            address=str(address),
        )

    def _broke(self, address: Address, why: BaseException) -> CrawlnodeError:
        if self._closed.is_set():
            return Closed("the client was closed")
        error: CrawlnodeError
        if isinstance(why, http.client.HTTPException) and not isinstance(
            why, (http.client.IncompleteRead, http.client.RemoteDisconnected)
        ):
            error = ProtocolError(
                "it does not answer as a node does (%s): is the address right, and http or https?"
                % reason(why), address=str(address),
            )
            return error
        error = Unreachable("the answer broke off (%s)" % reason(why), address=str(address))
        error.sent = True
        return error

    def _refusal(self, stream: Stream) -> CrawlnodeError:
        address = str(stream.address)
        if 300 <= stream.status < 400:
            return ProtocolError(
                "it redirects (%d), which no node does: is the address right?" % stream.status,
                address=address,
            )
        try:
            body = stream.whole(_MAX_ERROR)
        except (Unreachable, ProtocolError):
            body = b""  # the status says enough
        try:
            document = json.loads(body)
        except (ValueError, RecursionError):
            document = None
        text = body[:2000].decode("utf-8", "replace")
        if stream.status == 400 and "HTTP request to an HTTPS server" in text:
            error: CrawlnodeError = api_error(401, None, (
                "the cluster has a key: give a token that `crawlnode keygen --role` made"
            ), None, address)
            return error
        return api_error(
            stream.status, document, text, stream.headers.get("retry-after"), address
        )

    def _forget(self, sock: socket.socket) -> None:
        with self._lock:
            self._live.discard(sock)

    @property
    def closed(self) -> threading.Event:
        """Set by close."""
        return self._closed

    def close(self) -> None:
        """Breaks off what is running, in any thread, and refuses everything else."""
        self._closed.set()
        with self._lock:
            live = list(self._live)
        for sock in live:
            try:
                sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass  # the other side was first


def encode(document: Any) -> bytes:
    """The JSON of a body. ValueError, TypeError: it has no JSON."""
    return json.dumps(document, allow_nan=False, separators=(",", ":")).encode("ascii")


def reason(e: BaseException) -> str:
    """An exception in a few words."""
    if isinstance(e, socket.timeout):
        return "it takes too long"
    if isinstance(e, OSError) and e.strerror:
        return e.strerror
    return (str(e) or type(e).__name__)[:200]


Environ = Mapping[str, str]


def resolve(
    address: Union[str, Iterable[str], None], token: Optional[str], environ: Environ = os.environ
) -> Tuple[List[Address], str]:
    """The addresses and the token of a client, from its arguments or the environment."""
    if token is None:
        token = token_from_environment(environ)
    token = token.strip()
    if not token.isascii() or any(c <= " " or c == "\x7f" for c in token):
        raise ValueError("the token has characters that no token has")
    if address is None:
        address = environ.get("CRAWLNODE_ADDR", "") or "127.0.0.1:%d" % USUAL_PORT
    return parse_addresses(address, token), token


