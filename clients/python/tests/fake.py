"""A server that answers what a test says, byte by byte where it has to."""

import json
import os
import re
import socket
import sys
import threading
import unittest
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple, Union
from urllib.parse import parse_qsl, urlsplit

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import crawlnode  # noqa: E402
from crawlnode._operations import OPERATIONS  # noqa: E402

# How long a test waits for what has to come, in seconds.
PATIENCE = 240.0

# The operations, with their parameters, that a fake has been asked for by a client, for the test
# that all were.
ASKED: "set[Tuple[str, str, str]]" = set()


class Request(NamedTuple):
    method: str
    path: str
    query: Dict[str, str]
    headers: Dict[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


class Raw(NamedTuple):
    """Bytes that are sent as they are; then the connection ends, or stays until the fake ends."""

    data: Union[bytes, List[bytes]]
    stay: bool = False


# (status, document), (status, document, headers), or Raw
Reply = Union[Tuple[int, Any], Tuple[int, Any, Dict[str, str]], Raw]


def note(request: Request) -> None:
    """Notes which operation a request is."""
    for op in OPERATIONS:
        pattern = re.sub(r"\{\w+\}", "[^/]+", op.path)
        if request.method == op.method and re.fullmatch(pattern, request.path):
            ASKED.add((op.method, op.path, ""))
            for name in request.query:
                ASKED.add((op.method, op.path, name))
            for name in op.headers:
                if name.lower() in request.headers:
                    ASKED.add((op.method, op.path, name))
            return
    raise AssertionError("%s %s is no operation of the client" % request[:2])


class Fake:
    """A node of which a test is the mind."""

    def __init__(self, answer: Callable[[Request], Optional[Reply]], context: Any = None) -> None:
        self.answer = answer
        self.requests: List[Request] = []
        self.context = context
        self.ended = threading.Event()
        self._sock = socket.create_server(("127.0.0.1", 0))
        self.address = "127.0.0.1:%d" % self._sock.getsockname()[1]
        self._live: List[socket.socket] = []
        self._lock = threading.Lock()
        self._threads: List[threading.Thread] = []
        self._accept = threading.Thread(target=self._serve)
        self._accept.start()

    def close(self) -> None:
        """Ends it as kill -9 ends a node: all connections break."""
        if self.ended.is_set():
            return
        self.ended.set()
        self._sock.shutdown(socket.SHUT_RDWR)
        self._sock.close()
        with self._lock:
            live = list(self._live)
        for s in live:
            try:
                s.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
        self._accept.join()
        for t in self._threads:
            t.join()

    def _serve(self) -> None:
        while True:
            try:
                sock, _ = self._sock.accept()
            except OSError:
                return
            t = threading.Thread(target=self._connection, args=(sock,))
            self._threads.append(t)
            t.start()

    def _connection(self, sock: socket.socket) -> None:
        try:
            if self.context is not None:
                sock = self.context.wrap_socket(sock, server_side=True)
            with self._lock:
                self._live.append(sock)
            if self.ended.is_set():
                return
            request = self._read(sock)
            if request is None:
                return
            note(request)
            self.requests.append(request)
            reply = self.answer(request)
            if reply is not None:
                self._reply(sock, reply)
        except OSError:
            pass  # the client has gone, as many tests want it
        finally:
            with self._lock:
                if sock in self._live:
                    self._live.remove(sock)
            sock.close()

    def _read(self, sock: socket.socket) -> Optional[Request]:
        data = b""
        while b"\r\n\r\n" not in data:
            piece = sock.recv(1 << 16)
            if not piece:
                return None
            data += piece
        head, _, body = data.partition(b"\r\n\r\n")
        lines = head.decode("ascii").split("\r\n")
        headers = {k.lower(): v.strip() for k, _, v in (line.partition(":") for line in lines[1:])}
        while len(body) < int(headers.get("content-length", "0")):
            body += sock.recv(1 << 16)
        method, target, _ = lines[0].split(" ")
        parts = urlsplit(target)
        query = dict(parse_qsl(parts.query, keep_blank_values=True))
        return Request(method, parts.path, query, headers, body)

    def _reply(self, sock: socket.socket, reply: Reply) -> None:
        if isinstance(reply, Raw):
            for piece in [reply.data] if isinstance(reply.data, bytes) else reply.data:
                sock.sendall(piece)
            if reply.stay:
                self.ended.wait()
            return
        status, document = reply[0], reply[1]
        headers = reply[2] if len(reply) == 3 else {}
        body = document if isinstance(document, bytes) else json.dumps(document).encode()
        lines = ["HTTP/1.1 %d X" % status, "Content-Length: %d" % len(body)]
        lines += ["%s: %s" % h for h in headers.items()]
        sock.sendall("\r\n".join(lines).encode() + b"\r\n\r\n" + body)


def problem(status: int, detail: str, **more: Any) -> Tuple[int, Any, Dict[str, str]]:
    headers = {"Content-Type": "application/problem+json"}
    if "retry_after" in more:
        headers["Retry-After"] = str(more.pop("retry_after"))
    document = {"type": "about:blank", "title": "X", "status": status, "detail": detail, **more}
    return status, document, headers


class Case(unittest.TestCase):
    """A test with fakes and clients that end with it."""

    def fake(self, answer: Callable[[Request], Optional[Reply]], context: Any = None) -> Fake:
        made = Fake(answer, context)
        self.addCleanup(made.close)
        return made

    def client(self, *fakes: Any, **options: Any) -> crawlnode.Client:
        addresses = [f.address if isinstance(f, Fake) else f for f in fakes]
        options.setdefault("token", "")
        made = crawlnode.Client(addresses, **options)
        self.addCleanup(made.close)
        return made
