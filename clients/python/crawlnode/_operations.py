"""The operations of the API that this module uses. A test compares them with docs/openapi.json."""

import urllib.parse
from typing import List, Mapping, NamedTuple, Tuple, Union

__all__ = ["OPERATIONS", "Operation"]


class Operation(NamedTuple):
    """A method and a path, with the parameters that are sent."""

    method: str
    path: str  # a template, as in openapi.json
    query: Tuple[str, ...] = ()
    headers: Tuple[str, ...] = ()
    accept: str = "application/json"

    def target(
        self, path: Mapping[str, str], query: Mapping[str, Union[str, int, None]]
    ) -> str:
        """The target of a request: each part of the path and of the query is escaped."""
        unknown = set(query) - set(self.query)
        if unknown:
            raise ValueError("%s has no parameter %s" % (self.path, ", ".join(sorted(unknown))))
        parts: List[str] = []
        for part in self.path.split("/"):
            if part.startswith("{"):
                part = urllib.parse.quote(path[part[1:-1]], safe="")
                if part in ("", ".", ".."):
                    raise ValueError("%r cannot be a part of a path" % part)
            parts.append(part)
        pairs = [(k, str(v)) for k, v in query.items() if v is not None]
        encoded = urllib.parse.urlencode(pairs, errors="replace")
        return "/".join(parts) + ("?" + encoded if encoded else "")


STATUS = Operation("GET", "/status", ("scope",))
SEEDS = Operation("POST", "/api/v1/seeds")
EVENTS = Operation(
    "GET", "/api/v1/events", ("format", "after", "limit"), ("Last-Event-ID",),
    "text/event-stream, application/json",
)
SEARCH = Operation("GET", "/api/v1/search", ("query", "page", "size"))
CAPTURES = Operation("GET", "/api/v1/captures", ("url",))
CAPTURE = Operation(
    "GET", "/api/v1/captures/{file}/{offset}", ("form",),
    accept="application/warc+gzip, application/warc+zstd, application/http",
)
SETTINGS = Operation("GET", "/api/v1/crawl")
SET = Operation("PUT", "/api/v1/crawl", headers=("If-Match",))
NODES = Operation("GET", "/api/v1/nodes")
NEXT = Operation("GET", "/api/v1/frontier/next", ("worker_id", "batch_size", "timeout_ms"))
RESULTS = Operation("POST", "/api/v1/frontier/results")

OPERATIONS = (
    STATUS, SEEDS, EVENTS, SEARCH, CAPTURES, CAPTURE, SETTINGS, SET, NODES, NEXT, RESULTS,
)
