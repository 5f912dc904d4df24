"""What can go wrong when a cluster is asked. Every error is a :class:`CrawlnodeError`."""

from typing import Any, Dict, List, Mapping, Optional, Sequence, Type

__all__ = [
    "ApiError",
    "BadRequest",
    "Busy",
    "Closed",
    "Conflict",
    "CrawlnodeError",
    "Forbidden",
    "Gone",
    "NoDecoder",
    "NotFound",
    "ProtocolError",
    "TooLarge",
    "TooMany",
    "Unauthorized",
    "Unreachable",
    "Unreadable",
    "Untrusted",
    "VersionConflict",
]

# How much of a server's text an error shows.
_MAX_DETAIL = 2000


def printable(text: str) -> str:
    """The text with everything escaped that could move a terminal's cursor or change the direction
    of writing. Line breaks stay."""
    return "".join(
        c if c == "\n" or c.isprintable() else c.encode("unicode_escape").decode("ascii")
        for c in text
    )


class CrawlnodeError(Exception):
    """The base of all errors of this module.

    Its text is safe to print: what came from a server is escaped and cut.
    """

    #: A stable word for programs, the same for all errors of a class.
    code = "error"
    #: The HTTP status of the answer; None without one.
    status: Optional[int] = None
    #: What failed and what to do.
    detail: str
    #: The address that was asked last; None when none was.
    address: Optional[str] = None
    #: How long the node asks to wait, in seconds; None when it does not.
    retry_after: Optional[float] = None
    #: What was achieved before the error: the report of :meth:`Client.seeds` so far, or the
    #: summary of :meth:`Client.work`; None otherwise.
    report: Any = None

    def __init__(self, detail: str, *, address: Optional[str] = None) -> None:
        self.detail = printable(detail[:_MAX_DETAIL])
        self.address = address
        super().__init__(self.detail)

    def __str__(self) -> str:
        where = self.address + ": " if self.address else ""
        return where + self.detail


class Unreachable(CrawlnodeError):
    """No node answered, or an answer broke off, for as long as it was tried."""

    code = "unreachable"
    #: Whether the node may have received the request.
    sent = False


class Untrusted(CrawlnodeError):
    """What answered is not a node of the token's cluster, or its certificate is not valid."""

    code = "untrusted"


class ProtocolError(CrawlnodeError):
    """What answered does not speak as a node does: the address may be another program's."""

    code = "protocol"


class Unreadable(CrawlnodeError):
    """A capture is damaged, or packed in a way that nobody here can unpack."""

    code = "unreadable"


class NoDecoder(Unreadable):
    """The capture is packed in a way that this Python cannot unpack."""


class Closed(CrawlnodeError):
    """The client was closed."""

    code = "closed"


class ApiError(CrawlnodeError):
    """A node refused the request. :attr:`status` is the HTTP status."""

    code = "refused"
    #: The wrong fields of the request, each with its "field" and "detail".
    errors: Sequence[Mapping[str, str]] = ()


class BadRequest(ApiError):
    """400: something in the request is wrong; :attr:`errors` names the fields."""

    code = "bad_request"


class Unauthorized(ApiError):
    """401: the cluster has a key, and the token is missing, another cluster's, or has ended."""

    code = "unauthorized"


class Forbidden(ApiError):
    """403: the token's role does not allow it, or nobody may do it over the network."""

    code = "forbidden"


class NotFound(ApiError):
    """404, or nothing is stored of a URL."""

    code = "not_found"


class Conflict(ApiError):
    """409: the state of the cluster does not allow it, such as a search without an index."""

    code = "conflict"


class Gone(ApiError):
    """410: the lease has ended."""

    code = "gone"


class VersionConflict(ApiError):
    """412: somebody has changed the settings since they were read: read them again."""

    code = "version_conflict"


class TooLarge(ApiError):
    """413: send it in several requests."""

    code = "too_large"


class TooMany(ApiError):
    """429: too many leased URLs without a result, or too many wrong tokens."""

    code = "too_many"


class Busy(ApiError):
    """503: the same request may be sent again, after :attr:`retry_after`."""

    code = "busy"


_CLASSES: Dict[int, Type[ApiError]] = {
    400: BadRequest,
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    410: Gone,
    412: VersionConflict,
    413: TooLarge,
    429: TooMany,
    502: Busy,
    503: Busy,
    504: Busy,
}

# The longest wait that a server may ask for, in seconds: a year.
_MAX_WAIT = 366 * 24 * 3600.0


def seconds_of(text: Optional[str]) -> Optional[float]:
    """The seconds of a Retry-After header; None when it has none. Dates are not read."""
    text = (text or "").strip()
    if not text.isascii() or not text.isdigit():
        return None
    return min(float(text[:20]), _MAX_WAIT)


def api_error(
    status: int, document: Any, text: str, retry_after: Optional[str], address: str
) -> ApiError:
    """The error of an answer. document is its JSON, None when it is none; text stands in for it."""
    detail, fields = text.strip(), []  # type: str, List[Dict[str, str]]
    if isinstance(document, dict):
        if isinstance(document.get("detail"), str):
            detail = document["detail"]
        errors = document.get("errors")
        for e in errors[:100] if isinstance(errors, list) else []:
            if isinstance(e, dict):
                fields.append({k: printable(v) for k, v in e.items() if isinstance(v, str)})
    for f in fields:
        detail += "\n%s: %s" % (f.get("field", "?"), f.get("detail", "?"))
    if detail.startswith("<"):
        detail = "a web page came, so that is no node: is the address right?"
    error = _CLASSES.get(status, ApiError)(detail or "no reason was given", address=address)
    error.status = status
    error.errors = fields
    error.retry_after = seconds_of(retry_after)
    return error
