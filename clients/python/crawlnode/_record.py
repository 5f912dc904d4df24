"""The documents of the API as Python values: dictionaries whose fields are attributes as well."""

from __future__ import annotations

import datetime
import re
from typing import (
    Any,
    ClassVar,
    Dict,
    FrozenSet,
    Generic,
    Iterable,
    List,
    Mapping,
    Type,
    TypeVar,
    Union,
    overload,
)

try:
    from typing import SupportsIndex
except ImportError:  # pragma: no cover
    raise ImportError("crawlnode needs Python 3.9 or later") from None

R = TypeVar("R", bound="Record")
T = TypeVar("T")


class Record(Dict[str, Any]):
    """A document of the API, or a part of one.

    It is a dictionary, and ``status["crawl"]["state"]`` is ``status.crawl.state``. Fields that a
    newer node adds are there too. A field that shares its name with a method of dictionaries is
    read by its key alone.
    """

    _parts: ClassVar[Mapping[str, Type["Record"]]] = {}
    _optional: ClassVar[FrozenSet[str]] = frozenset()

    @classmethod
    def read(cls: Type[R], document: Any) -> R:
        """The record of a JSON object. ValueError: it is no object, or a part of it is none."""
        if not isinstance(document, dict):
            raise ValueError("%s is no object" % cls.__name__)
        made = cls()
        for name, value in document.items():
            made[name] = _value(cls._parts.get(name), value)
        return made

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            if name in self._optional:
                return None
            raise AttributeError(
                "%s has no field %r" % (type(self).__name__, name)
            ) from None


def _value(part: Any, value: Any) -> Any:
    """A value whose objects are records: of the class part, or of none in particular."""
    if isinstance(value, dict):
        return (part or Record).read(value)
    if isinstance(value, list):
        return [_value(part, v) for v in value]
    return value


class Results(List[T], Generic[T]):
    """The list in an answer. The other fields of the answer are attributes: ``hits.total``; by
    its key as well: ``hits["total"]``. :attr:`document` is the whole answer."""

    document: Record

    def __init__(self, items: Iterable[T], document: Record) -> None:
        super().__init__(items)
        self.document = document

    @overload  # type: ignore[override]
    def __getitem__(self, at: SupportsIndex) -> T: ...

    @overload
    def __getitem__(self, at: slice) -> List[T]: ...

    @overload
    def __getitem__(self, at: str) -> Any: ...

    def __getitem__(self, at: Union[SupportsIndex, slice, str]) -> Any:
        if isinstance(at, str):
            return self.document[at]
        return super().__getitem__(at)

    def __getattr__(self, name: str) -> Any:
        document = self.__dict__.get("document")
        if document is None:
            raise AttributeError(name)
        return getattr(document, name)


_TIME = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)[Tt ](\d\d):(\d\d):(\d\d)(?:\.(\d{1,9})\d*)?"
    r"(?:[Zz]|([+-])(\d\d):(\d\d))",
    re.ASCII,
)


def parse_time(text: str) -> datetime.datetime:
    """The time of a field such as ``event.time`` (RFC 3339), in UTC and to the microsecond.

    ValueError: the text is no such time.
    """
    m = _TIME.fullmatch(text) if isinstance(text, str) and len(text) < 64 else None
    if m is None:
        raise ValueError("no RFC 3339 time: %r" % (text,))
    micro = int((m.group(7) or "0").ljust(9, "0")[:6])
    # A leap second is the second before it.
    at = datetime.datetime(
        int(m.group(1)), int(m.group(2)), int(m.group(3)),
        int(m.group(4)), int(m.group(5)), min(int(m.group(6)), 59),
        micro, datetime.timezone.utc,
    )
    if m.group(8):
        off = datetime.timedelta(hours=int(m.group(9)), minutes=int(m.group(10)))
        try:
            at = at - off if m.group(8) == "+" else at + off
        except OverflowError:
            raise ValueError("no RFC 3339 time: %r" % (text,)) from None
    return at


_UNITS = {
    "w": 7 * 86400.0, "d": 86400.0, "h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3,
    "us": 1e-6, "\u00b5s": 1e-6, "\u03bcs": 1e-6, "ns": 1e-9,
}
_DURATION = re.compile(r"(\d{1,18}(?:\.\d{1,18})?)(ms|us|\u00b5s|\u03bcs|ns|[wdhms])", re.ASCII)


def parse_duration(text: str) -> datetime.timedelta:
    """The duration of a setting, such as ``1m30s`` or ``7d``, to the microsecond.

    ValueError: the text is no duration.
    """
    seconds, at = 0.0, 0
    if text == "0":
        return datetime.timedelta()
    for m in _DURATION.finditer(text[:200]):
        if m.start() != at:
            break
        seconds += float(m.group(1)) * _UNITS[m.group(2)]
        at = m.end()
    if at == 0 or at != len(text):
        raise ValueError("no duration: %r" % (text[:200],))
    try:
        return datetime.timedelta(seconds=seconds)
    except OverflowError:
        raise ValueError("no duration: %r" % (text[:200],)) from None


def write_duration(d: datetime.timedelta) -> str:
    """The duration as settings have it. ValueError: it is negative."""
    micro = (d.days * 86400 + d.seconds) * 1_000_000 + d.microseconds
    if micro < 0:
        raise ValueError("a duration is not negative: %s" % d)
    whole, rest = divmod(micro, 1_000_000)
    parts = ("%ds" % whole if whole or not rest else "") + ("%dus" % rest if rest else "")
    return parts
