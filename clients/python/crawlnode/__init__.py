"""The Python client of crawlnode: seeds, status, events, search, the archive, settings, and
workers that fetch with a function of yours. It needs Python 3.9 or later and no other package.

    import crawlnode

    client = crawlnode.Client("127.0.0.1:27295")
    client.seeds(["https://docs.example.org/"])
    print(client.status().crawl.state)

Install it from a checkout with ``pip install ./clients/python``, or put the folder
``clients/python`` on PYTHONPATH. Answers are dictionaries whose fields are attributes as well; the
fields are those of ``docs/openapi.json``. All errors are CrawlnodeError.
"""

from . import errors
from ._archive import Content
from ._client import Client, Settings
from ._events import EventStream
from ._record import Record, Results, parse_duration, parse_time
from ._work import Fetch, Fetched, Result, Task, WorkSummary
from .errors import (
    ApiError,
    BadRequest,
    Busy,
    Closed,
    Conflict,
    CrawlnodeError,
    Forbidden,
    Gone,
    NoDecoder,
    NotFound,
    ProtocolError,
    TooLarge,
    TooMany,
    Unauthorized,
    Unreachable,
    Unreadable,
    Untrusted,
    VersionConflict,
)
from .fetching import FetchError, fetch_page
from .links import Links, links_of
from .model import (
    CaptureReport,
    Event,
    SearchResult,
    SeedReport,
    Status,
)

#: The chapters of docs/python.md.
CHAPTERS = (
    ("Client", ("Client", "EventStream", "Settings", "Content")),
    ("Workers", ("Task", "Result", "WorkSummary", "fetch_page", "FetchError", "links_of", "Links")),
    ("Values", ("Record", "Results", "parse_time", "parse_duration")),
)

__all__ = [
    "ApiError", "BadRequest", "Busy", "CaptureReport", "Client", "Closed", "Conflict", "Content",
    "CrawlnodeError", "Event", "EventStream", "Fetch", "FetchError", "Fetched", "Forbidden",
    "Gone", "Links", "NoDecoder", "NotFound", "ProtocolError", "Record", "Result", "Results", "SearchResult",
    "SeedReport", "Settings", "Status", "Task", "TooLarge", "TooMany", "Unauthorized",
    "Unreachable", "Unreadable", "Untrusted", "VersionConflict", "WorkSummary", "errors",
    "fetch_page", "links_of", "parse_duration", "parse_time",
]
