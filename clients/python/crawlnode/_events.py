"""The stream of events, as Server-Sent Events (the HTML standard, section 9.2)."""

from __future__ import annotations

import collections
import json
import threading
import time
from typing import Any, Deque, Dict, Iterator, List, Optional, Tuple, Union

from ._http import MAX_ANSWER, Address, Stream, Transport
from ._operations import EVENTS, NODES
from ._record import parse_time
from .errors import Busy, Closed, CrawlnodeError, ProtocolError, Unreachable, Untrusted
from .model import Event

# A node sends a comment every 15 seconds: after twice that the connection is dead.
_IDLE = 35.0
# The longest line of a stream, and of the data of one event, in bytes.
_MAX_LINE, _MAX_DATA = 1 << 20, 4 << 20
# Nodes see the same thing at times that differ by so many seconds at most.
_APART = 60.0
# How many events are remembered to recognise what another node has seen too.
_REMEMBERED = 4096
# The pause before a node is asked again, in seconds.
_PAUSE = 1.0
# How many events a node lists at most.
_MAX_LIST = 1000


class SSEParser:
    """Reads a stream, piece by piece as it comes: feed returns the events that are complete.

    An event whose empty line has not come is not one: the end of the connection drops it.
    ProtocolError: a line or an event is too long to be a node's.
    """

    def __init__(self) -> None:
        self._rest = b""
        self._data: List[str] = []
        self._size = 0
        self._cr = False
        self._first = True
        self.last_id = ""
        self.retry: Optional[float] = None  # seconds that the server asks to wait

    def feed(self, piece: bytes) -> List[Tuple[str, str]]:
        """The events of the piece, each with its id ("": none was ever sent) and its data."""
        if self._cr and piece.startswith(b"\n"):
            piece = piece[1:]
        if piece:
            self._cr = piece.endswith(b"\r")
        text = self._rest + piece.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        lines = text.split(b"\n")
        self._rest = lines.pop()
        if len(self._rest) > _MAX_LINE:
            raise ProtocolError("a line of the stream is longer than %d bytes" % _MAX_LINE)
        found = []
        for line in lines:
            if self._first:
                self._first = False
                line = line[3:] if line.startswith(b"\xef\xbb\xbf") else line
            if line:
                self._field(line)
            elif self._data:
                found.append((self.last_id, "\n".join(self._data)))
                self._data, self._size = [], 0
        return found

    def _field(self, line: bytes) -> None:
        name, _, raw = line.partition(b":")
        value = raw[1:] if raw.startswith(b" ") else raw
        if name == b"data":
            self._size += len(value) + 1
            if self._size > _MAX_DATA:
                raise ProtocolError("an event is longer than %d bytes" % _MAX_DATA)
            self._data.append(value.decode("utf-8", "replace"))
        elif name == b"id" and b"\0" not in value:
            self.last_id = value.decode("utf-8", "replace")
        elif name == b"retry" and value.isdigit():
            self.retry = min(int(value[:9]) / 1000.0, 60.0)


def read_event(data: Any, address: Address) -> Event:
    """The event of a document. ProtocolError: it is none."""
    try:
        event = Event.read(data)
        if not isinstance(event.id, int) or isinstance(event.id, bool) or event.id < 0:
            raise ValueError("its id is no number")
        if not all(isinstance(event[k], str) for k in ("code", "message", "node", "level")):
            raise ValueError("a text is none")
        parse_time(event.time)
    except (ValueError, AttributeError, KeyError) as e:
        raise ProtocolError("an event cannot be read: %s" % e, address=str(address)) from None
    event["source"] = str(address)
    return event


class EventStream(Iterator[Event]):
    """Events as they happen: an iterator that waits for the next one. See :meth:`Client.events`.

    It may be closed from any thread, and is a context manager that does so.
    """

    def __init__(
        self, transport: Transport, after: Union[int, Event, None], patience: float
    ) -> None:
        self._transport, self._patience = transport, patience
        self._closed = threading.Event()
        self._stream: Optional[Stream] = None
        self._lock = threading.Lock()  # of _stream
        self._positions: Dict[str, int] = {}  # the last id, by address
        self._newest = 0.0  # the time of the newest event, in seconds of Unix time; 0: none
        self._passed: Deque[Tuple[str, float, str]] = collections.deque(maxlen=_REMEMBERED)
        self._failing: Optional[float] = None  # since when no node answers
        if isinstance(after, Event):
            self._pass(after)
        elif after is not None:
            if isinstance(after, bool) or not isinstance(after, int) or not 0 <= after < 1 << 63:
                raise ValueError("after must be the id of an event, or an event: %r" % (after,))
        self._begin(after)
        self._events = self._follow()

    def __iter__(self) -> "EventStream":
        return self

    def __next__(self) -> Event:
        return next(self._events)

    def __enter__(self) -> "EventStream":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def close(self) -> None:
        """Ends the stream: whoever waits for the next event gets no more."""
        self._closed.set()
        with self._lock:
            stream = self._stream
        if stream is not None:
            stream._transport._forget(stream._sock)
            try:
                stream._sock.shutdown(2)
            except OSError:
                pass  # the node was first

    def _begin(self, after: Union[int, Event, None]) -> None:
        """Notes where the stream begins, at the node that will be asked first."""
        if isinstance(after, Event):
            return
        if after is not None:
            self._positions[str(self._transport.order()[0])] = after
            return
        answer = self._transport.call(EVENTS, query={"format": "json", "limit": 1})
        newest = self._listed(answer.json(), answer.address)
        self._positions[str(answer.address)] = newest[-1].id if newest else 0
        if newest:
            self._newest = parse_time(newest[-1].time).timestamp()
        else:
            self._newest = time.time()

    def _listed(self, document: Any, address: Address) -> List[Event]:
        if not isinstance(document, list) or len(document) > _MAX_LIST:
            raise ProtocolError("the list of events is none", address=str(address))
        return [read_event(e, address) for e in document]

    def _list(self, address: Address, limit: int) -> List[Event]:
        deadline = time.monotonic() + self._transport.timeout
        with self._transport.open(
            EVENTS, address, query={"format": "json", "limit": limit}, deadline=deadline
        ) as s:
            try:
                document = json.loads(s.whole(MAX_ANSWER))
            except (ValueError, RecursionError):
                raise ProtocolError("the list of events is none", address=str(address)) from None
        return self._listed(document, address)

    def _position(self, address: Address) -> int:
        """The id after which the stream goes on at a node: ids are each node's own."""
        known = self._positions.get(str(address))
        if known == 0:
            return 0
        if known is not None:
            newest = self._list(address, 1)
            if not newest or newest[-1].id >= known:
                return known  # an empty list: it has just started
            # It has lost its data, and counts anew.
        for e in self._list(address, _MAX_LIST):
            if parse_time(e.time).timestamp() >= self._newest - _APART:
                return max(e.id - 1, 0)
            known = e.id
        return known or 0

    def _pass(self, event: Event) -> bool:
        """Takes an event over; false: another node has told it already."""
        source, at = str(event.get("source", "")), parse_time(event.time).timestamp()
        self._positions[source] = event.id
        key = "%s\n%s\n%s" % (event.code, event.node, event.message)
        for of, when, other in self._passed:
            if other == key and of != source and abs(when - at) <= _APART:
                return False
        self._passed.append((source, at, key))
        self._newest = max(self._newest, at)
        return True

    def _follow(self) -> Iterator[Event]:
        while not self._closed.is_set():
            last: Optional[CrawlnodeError] = None
            for address in self._transport.order():
                try:
                    stream = self._open(address)
                except (Unreachable, Busy, Untrusted) as e:
                    last = e if last is None or isinstance(last, Unreachable) else last
                    continue
                except Closed:
                    return
                self._transport.prefer(address)
                self._learn()
                yield from self._read(stream, address)
                break
            if self._closed.is_set() or self._transport.closed.is_set():
                return
            now = time.monotonic()
            if last is not None:
                self._failing = self._failing or now
                if now - self._failing >= self._patience or isinstance(last, Untrusted):
                    raise last
            self._closed.wait(_PAUSE)

    def _open(self, address: Address) -> Stream:
        after = self._position(address)
        self._positions[str(address)] = after
        headers = {"Last-Event-ID": str(after)} if after else {}
        stream = self._transport.open(
            EVENTS, address, query={"after": after}, headers=headers, idle=_IDLE
        )
        kind = stream.headers.get("content-type", "")
        if not kind.startswith("text/event-stream"):
            stream.close()
            raise ProtocolError("it sends no stream of events", address=str(address))
        with self._lock:
            self._stream = stream
        return stream

    def _read(self, stream: Stream, address: Address) -> Iterator[Event]:
        """The events of one connection, until it ends."""
        parser = SSEParser()
        try:
            while not self._closed.is_set():
                try:
                    piece = stream.read()
                except (Unreachable, Closed):
                    return
                if not piece:
                    return
                self._failing = None
                for _, data in parser.feed(piece):
                    try:
                        document = json.loads(data)
                    except (ValueError, RecursionError):
                        raise ProtocolError("an event is no JSON", address=str(address)) from None
                    event = read_event(document, address)
                    if event.id <= self._positions.get(str(address), 0):
                        continue
                    if self._pass(event):
                        yield event
                    if self._closed.is_set():
                        return
        finally:
            with self._lock:
                self._stream = None
            stream.close()

    def _learn(self) -> None:
        """Asks for the other nodes, to go on there when this one dies."""
        learn(self._transport)


def learn(transport: Transport) -> None:
    """Asks the cluster for the addresses of its nodes. Without an answer nothing changes."""
    try:
        document = transport.call(NODES, patience=0.0).json()
    except CrawlnodeError:
        return
    if isinstance(document, list):
        transport.learn(addresses_of(document))


def addresses_of(nodes: List[Any]) -> List[str]:
    """The addresses of the nodes that live, as /status and /api/v1/nodes have them."""
    return [
        n["http"] for n in nodes
        if isinstance(n, dict) and isinstance(n.get("http"), str) and n["http"]
        and n.get("state") in ("alive", "suspect")
    ]
