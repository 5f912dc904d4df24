"""The documents of the API, made from docs/openapi.json by generate.py: change neither
by hand."""

# ruff: noqa
from typing import Any, Dict, List, Optional

from ._record import Record

__all__ = [
    "BottleneckStatus",
    "CaptureReport",
    "CapturesReport",
    "ChangeStatus",
    "ClusterStatus",
    "CrawlReport",
    "CrawlStatus",
    "DNSStatus",
    "ErrorCounts",
    "Event",
    "FetchStatus",
    "FetcherCounts",
    "FreshnessStatus",
    "FrontierStatus",
    "GivenUpCounts",
    "HandoffStatus",
    "Health",
    "HealthReason",
    "HostCounts",
    "IndexStatus",
    "LeasedRobots",
    "LeasedURL",
    "LimitStatus",
    "LinkStatus",
    "MemberCounts",
    "NodeStatus",
    "OutputStatus",
    "OverdueQuantiles",
    "PartitionCounts",
    "PreferencesStatus",
    "PurposeCounts",
    "Quantiles",
    "Rate",
    "RenderStatus",
    "RepairStatus",
    "ResponseCounts",
    "ResultsReport",
    "RingStatus",
    "SearchPart",
    "SearchReport",
    "SearchResult",
    "SeedError",
    "SeedReport",
    "SettingsReport",
    "SingleCopy",
    "SinkStatus",
    "SkippedCounts",
    "Status",
    "StuckStatus",
    "ThroughputStatus",
    "TrapStatus",
    "UploadStatus",
    "VersionStatus",
    "WebhookStatus",
    "WorkerLease",
    "WorkersStatus",
]


class BottleneckStatus(Record):
    """The main limit of the crawl's speed."""

    #: Code of the cause.
    cause: str
    #: The cause in one sentence.
    message: str


class CaptureReport(Record):
    """One visit whose answer was stored."""

    #: Time of the visit, to the second.
    at: str
    #: SHA-1 of the payload; null with a 304 whose payload is not known.
    digest: Optional[str]
    #: Name of the WARC file, also for /api/v1/captures/{file}/{offset}.
    file: str
    #: Length of the record as it is stored, in bytes.
    length: int
    #: Media type; null when it is not known, as with every revisit.
    mime: Optional[str]
    #: Name of the member that has stored it.
    node: str
    #: Start of the record in the file, in bytes.
    offset: int
    #: What the owner said of the use of the page when it was captured, such as search=y, ai-
    #: train=n; search-until is a time in seconds since 1970 from which on search is no.
    #: Null: nothing that is known.
    preferences: Optional[str]
    #: Whether the payload is that of an earlier capture.
    revisit: bool
    #: HTTP status of the answer.
    status: int


class CapturesReport(Record):
    """What the members have stored of a URL."""

    #: The captures, the oldest first; at most the newest 10,000.
    captures: "List[CaptureReport]"
    #: The URL in canonical form, or the one that stands for it.
    url: str


class ChangeStatus(Record):
    """The last change of members and its cost; all null before the first one since the
    answering node started. A failure stays the last change until its partitions have been taken
    over."""

    #: When the change was decided.
    at: Optional[str]
    #: Why the members changed.
    cause: Optional[str]
    #: Open fetches of the failed node, as it last reported; they are fetched again.
    inflight_requeued: Optional[int]
    #: Human name of the node that came or went.
    node: Optional[str]
    #: Partitions of which no copy is left.
    partitions_lost: Optional[int]
    #: Time from the change until every partition was served again, in seconds.
    takeover_seconds: Optional[float]


class ClusterStatus(Record):
    """State of the cluster as a whole."""

    #: Problems that need attention.
    health: "Health"
    #: Nodes by state.
    members: "MemberCounts"
    #: The state in one sentence.
    message: str
    #: The cluster's label (--cluster).
    name: str
    #: State of the cluster as the answering node sees it.
    state: str


class CrawlReport(Record):
    """The crawl's state and settings."""

    #: Why the crawl ended; null unless it is finished.
    finish_reason: Optional[str]
    #: The settings that hold on all nodes.
    settings: "SettingsReport"
    #: State of the crawl.
    state: str
    #: Names of the members that did not confirm a change in time. They follow as soon as
    #: they can be reached; until then they continue as before.
    untold: List[str]
    #: Version of this state of the document. It is also the ETag, and equal on all members
    #: that have the last change; a change of the crawl's state makes a new version too.
    version: str


class CrawlStatus(Record):
    """State of the crawl."""

    #: Orders that are possible now: pause, resume, stop.
    allowed_actions: List[str]
    #: Last end of the crawl; null: it has not ended, or ended under an earlier release.
    ended_at: Optional[str]
    #: Why the crawl ended; null unless it is finished.
    finish_reason: Optional[str]
    #: The configured limits.
    limits: "LimitStatus"
    #: The state in one sentence.
    message: str
    #: Running time, without pauses, in seconds.
    running_seconds: float
    #: Time of the first seed; null before.
    started_at: Optional[str]
    #: State of the crawl: idle before its first seed.
    state: str


class DNSStatus(Record):
    """Name look-ups since the nodes started."""

    #: Look-ups that failed.
    failures: int
    #: Look-ups answered from the cache.
    hits: int
    #: Look-ups requested.
    lookups: int
    #: Look-ups answered from the cache with a cached failure.
    negative_hits: int
    #: Look-ups answered with an expired address, because no name server answered.
    stale_served: int


class ErrorCounts(Record):
    """Failed requests by category."""

    #: The address must not be crawled, such as a private one outside --allow-net.
    blocked_address: int
    #: No connection could be made.
    connect: int
    #: The name could not be resolved.
    dns: int
    #: Anything else.
    other: int
    #: The answer is not HTTP.
    protocol: int
    #: No proxy of the site's rule worked. The site is not to blame: its URLs stay queued,
    #: and the host waits.
    proxy: int
    #: No answer in time.
    timeout: int
    #: No TLS session, or a certificate that does not verify.
    tls: int
    #: The connection ended inside the answer.
    truncated: int


class Event(Record):
    """Something that happened to the cluster or a node of it, as the answering node saw it."""

    #: Stable name of the kind, for programs.
    code: str
    #: Figures of the message: strings, numbers, booleans and lists of strings. The code
    #: determines which ones.
    fields: Dict[str, Any]
    #: Orders the events of the answering node, from 1, across its restarts; ids of different
    #: nodes are unrelated. Below 2^53.
    id: int
    #: Severity.
    level: str
    #: One sentence for a person.
    message: str
    #: Human name of the node that it is about; "" for the cluster.
    node: str
    #: When it happened.
    time: str
    #: The same in each copy of the event, also one that a webhook gets twice; no other event
    #: of any node has it.
    uid: str


class FetchStatus(Record):
    """Results of the requests."""

    #: The same by product, such as cloudflare; those that there were.
    blocked_by_kind: Dict[str, int]
    #: Answers that were bot walls, of pages, sitemaps and robots.txt.
    blocked_total: int
    #: Failed requests by category.
    errors_by_category: "ErrorCounts"
    #: Failed requests.
    errors_total: int
    #: URLs given up, by reason.
    given_up_by_reason: "GivenUpCounts"
    #: URLs given up after their last try; crawlnode urls list --state failed lists them.
    given_up_total: int
    #: Hosts that are left alone for a day at a time, because nearly all their last answers
    #: were bot walls.
    hosts_blocking: int
    #: Times from request to answer, in seconds.
    latency_seconds: "Quantiles"
    #: Answers by class of status.
    responses: "ResponseCounts"
    #: Requests that were made again, or will be, because the first failed or answered a
    #: status that may change soon.
    retries_total: int
    #: URLs that were not queued or not fetched, by reason.
    skipped_by_reason: "SkippedCounts"
    #: Sites that make pages without end, those with the most pages first; up to 10 of each
    #: node, none that is excluded.
    traps: "List[TrapStatus]"


class FetcherCounts(Record):
    """Concurrent fetches of a node; null when unknown."""

    #: Fetchers in use.
    busy: Optional[int]
    #: Number of fetchers (--fetchers).
    max: Optional[int]


class FreshnessStatus(Record):
    """Visits of pages that were visited before. Counts are of the whole cluster and move with
    the partitions."""

    #: Revisits that found a change.
    changed_total: int
    #: Pages whose next visit is due: those in a queue, and those that wait for a place in
    #: it.
    due: int
    #: Share of the known pages, weighted by importance, whose copy is as the page is now, as
    #: the model of their changes believes by when they were really visited; 0 to 1. Null
    #: until there is a model.
    expected: Optional[float]
    #: Revisits that were answered by 404 or 410.
    gone_total: int
    #: Whether known pages are visited again: off, fixed (after one interval) or adaptive
    #: (when a visit is worth most).
    mode: str
    #: The earliest time at which a page becomes due; null when there is none, or it is not
    #: known.
    next_due_at: Optional[str]
    #: Revisits that the server answered by 304, so without the page.
    not_modified_total: int
    #: How late due pages were put into the queue.
    overdue_seconds: "OverdueQuantiles"
    #: Answered visits of pages that were due.
    revisits_total: int
    #: Revisits that found no change, those answered by 304 included.
    unchanged_total: int
    #: Share of the last 10,000 revisits of each node that found a change (changed, or gone
    #: since the visit before); 0 to 1. Null when there was none since the start.
    useful: Optional[float]


class FrontierStatus(Record):
    """URLs that wait to be fetched."""

    #: Queued URLs by class of priority; the first is fetched first.
    by_band: List[int]
    #: URLs found again that were already known.
    duplicates_total: int
    #: Hosts by state.
    hosts: "HostCounts"
    #: Open requests; as many hosts are in flight.
    in_flight: int
    #: Links that wait for the acknowledgement of the node that owns their host.
    outbox: int
    #: Queued URLs.
    queued: int
    #: URLs with a record.
    seen_total: int


class GivenUpCounts(Record):
    """URLs given up, by the reason of the last failure."""

    #: The host, or the URL, answered with a bot wall to the last.
    blocked: int
    #: An address or a port that must not be connected to.
    blocked_address: int
    #: No connection to the host could be made.
    connect: int
    #: The host's name could not be resolved.
    dns: int
    #: Any other reason.
    other: int
    #: No HTTP answer, or an invalid one.
    protocol: int
    #: The host, or the URL, answered 429 or 503 to the last, or asked for a longer wait than
    #: the crawl lasts.
    rate_limited: int
    #: No answer in time.
    timeout: int
    #: No TLS session, or a certificate that does not verify.
    tls: int
    #: The connection ended within the answer.
    truncated: int


class HandoffStatus(Record):
    """Progress of moving partitions between nodes, over all nodes."""

    #: Whether any partition moves.
    active: bool
    #: Speed of the copies, in bytes per second.
    bytes_per_second: float
    #: Time until the end at this speed, in seconds; null when unknown.
    eta_seconds: Optional[float]
    #: Partitions that have moved since the moves began.
    partitions_done: int
    #: Partitions that have moved or are to move.
    partitions_total: int
    #: Partitions whose move or copy makes no progress.
    stuck: "List[StuckStatus]"


class Health(Record):
    """Problems that need attention."""

    #: The worst level of the reasons; ok without any.
    level: str
    #: What is wrong.
    reasons: "List[HealthReason]"


class HealthReason(Record):
    """One problem that needs attention."""

    #: Stable name of the reason, for programs.
    code: str
    #: What it is and what to do.
    message: str
    #: When it began.
    since: str


class HostCounts(Record):
    """Hosts by state; all but total count those in memory."""

    #: Hosts that failed, or asked for fewer requests, and pause for a while.
    backoff: int
    #: Hosts that failed too often and pause for long.
    frozen: int
    #: Hosts with an open request.
    in_flight: int
    #: Hosts that are ready but held back, because their domain or block of addresses has
    #: used its share of the fetchers.
    over_share: int
    #: Hosts that may be requested now.
    ready: int
    #: Hosts ever seen.
    total: int
    #: Hosts whose delay has not passed yet.
    waiting: int


class IndexStatus(Record):
    """The index of the whole cluster (--index); all is zero or null while it is off."""

    #: For how long the node that is furthest behind has not had everything in its index.
    behind_seconds: float
    #: Size of the nodes' indexes on disk, with their copies.
    bytes: int
    #: Pages in the index, each once.
    documents: int
    #: Questions that the running nodes were asked since their start.
    queries_total: int
    #: Time of an answer.
    seconds: "Quantiles"
    #: Changes of pages that are not in the index of a node yet, with copies, and pages that
    #: are read again for their importance.
    waiting: int


class LeasedRobots(Record):
    """What robots.txt says of a leased URL."""

    #: Always true: what is forbidden is not leased.
    allowed: bool
    #: The gap that robots.txt asks for, in seconds; null when it asks for none. The cluster
    #: keeps it.
    crawl_delay: Optional[float]


class LeasedURL(Record):
    """A URL that a worker may fetch until its lease ends."""

    #: The gap that the host gets after the result, before its next URL is leased, in
    #: seconds.
    delay_seconds: float
    #: Links from a seed.
    depth: int
    #: ETag of an earlier fetch, for If-None-Match.
    etag: Optional[str]
    #: Its host. No other worker has a URL of this host.
    host: str
    #: The address to connect to, as the cluster has resolved and judged it; empty when there
    #: is none.
    ip: str
    #: Last-Modified of an earlier fetch, for If-Modified-Since.
    last_modified: Optional[str]
    #: 1 is the first band of the queue, 0 the last.
    priority: float
    #: What robots.txt says of it.
    robots_rules: "LeasedRobots"
    #: The URL, in canonical form. The result must name it.
    url: str

    _optional = frozenset((
        "etag", "last_modified",
    ))


class LimitStatus(Record):
    """The configured limits; null is none."""

    #: Links followed from a seed.
    max_depth: Optional[int]
    #: Running time of the crawl, in seconds.
    max_duration_seconds: Optional[float]
    #: Pages of the whole cluster; never exceeded, unless it was lowered below the number
    #: already fetched.
    max_pages: Optional[int]
    #: Pages of one host.
    max_pages_per_host: Optional[int]


class LinkStatus(Record):
    """Destinations of the links of pages."""

    #: Links sent to the node that owns their host, since the nodes started.
    forwarded: int
    #: Links found in pages.
    found: int
    #: Links to hosts of the node that found them, since the nodes started.
    local: int
    #: Links not sent because they had been sent recently; since the nodes started.
    suppressed_by_sent_cache: int


class MemberCounts(Record):
    """Nodes by state."""

    #: Nodes that take part.
    alive: int
    #: Nodes that hand over their partitions and leave.
    draining: int
    #: Nodes that were excluded and are not back.
    failed: int
    #: Nodes that have left.
    left: int
    #: Nodes that have not answered for a moment.
    suspect: int


class NodeStatus(Record):
    """One node. A node that cannot be reached is shown with its last data; unknown values are
    null."""

    #: Age of these data, in seconds.
    age_seconds: Optional[float]
    #: Approximate disk space of unused copies that are being deleted, in bytes.
    deleting_bytes: Optional[int]
    #: Free space for its data directory, in bytes.
    disk_free_bytes: Optional[int]
    #: Its concurrent fetches.
    fetchers: "FetcherCounts"
    #: Address for gossip, host:port.
    gossip: str
    #: Address of its API, host:port.
    http: str
    #: Id of the node; it never changes.
    id: str
    #: Time until its lease ends unless it is renewed, in seconds; 0: it may not fetch.
    lease_remaining_seconds: Optional[float]
    #: Human name (--name).
    name: str
    #: Pages per second that it fetches itself, over the last seconds; 0 while it is silent
    #: or not a member.
    pages_per_second: Optional[float]
    #: Pages of the hosts in the partitions that it holds, also those that were fetched
    #: before it started or held them; the members' sum is the cluster's total.
    pages_total: Optional[int]
    #: Partitions that it has.
    partitions: "PartitionCounts"
    #: Why it fetches nothing, in one sentence; null when it is not paused.
    paused_reason: Optional[str]
    #: Process id.
    pid: Optional[int]
    #: Queued URLs in the partitions that it holds.
    queued: Optional[int]
    #: Address for calls between nodes, host:port.
    rpc: str
    #: Resident memory, page cache included, in bytes.
    rss_bytes: Optional[int]
    #: State of the node, as gossip and the view of the members see it.
    state: str
    #: Time since it started, in seconds.
    uptime_seconds: Optional[float]
    #: Version of its program.
    version: Optional[str]
    #: Free space for its archive, which may be on a volume of its own, in bytes.
    warc_disk_free_bytes: Optional[int]
    #: Its share of the partitions against the other nodes' weights, 1 to 16.
    weight: int
    #: What fails together with it; the copies of a partition are in different zones while
    #: there are enough. null: none.
    zone: Optional[str]


class OutputStatus(Record):
    """Contents of the archives and derived outputs."""

    #: Captures whose payload was already stored.
    content_duplicates_total: int
    #: Payloads stored whole because no node answered in time whether they are known, since
    #: the nodes started; up to so many may be stored twice.
    content_unanswered_total: int
    #: Size of those files, in bytes.
    derived_bytes_total: int
    #: Files of --derive and --log-skipped.
    derived_files: int
    #: Size of the CDXJ indexes beside the WARC files, in bytes.
    index_bytes_total: int
    #: Pages whose text is nearly that of another page.
    near_duplicates_total: int
    #: Captures that were on a forgotten node.
    records_lost: int
    #: Captures per second, over the last seconds.
    records_per_second: float
    #: Captures written: responses and revisits.
    records_total: int
    #: Places to which results are sent, by --sink; each once for all nodes that have it.
    sinks: "List[SinkStatus]"
    #: Copies in an object store (--upload).
    upload: "UploadStatus"
    #: Size of those files, in bytes.
    warc_bytes_away: int
    #: Size of those files, in bytes.
    warc_bytes_lost: int
    #: Growth of the archives over the last seconds, in bytes per second.
    warc_bytes_per_second: float
    #: Size of the WARC files, in bytes.
    warc_bytes_total: int
    #: WARC files.
    warc_files: int
    #: WARC files on the disks of nodes that do not answer, failed or left.
    warc_files_away: int
    #: WARC files that were on forgotten nodes.
    warc_files_lost: int
    #: Receivers to which events are sent, by --webhook; each once for all nodes that have
    #: it.
    webhooks: "List[WebhookStatus]"


class OverdueQuantiles(Record):
    """Quantiles of a delay in seconds, each the upper bound of its bucket; null before the
    first revisit."""

    #: Median.
    p50: Optional[float]
    #: Quantile 0.99.
    p99: Optional[float]


class PartitionCounts(Record):
    """Partitions of a node; null when unknown."""

    #: Partitions whose hosts it fetches from.
    held: Optional[int]
    #: Partitions of which it keeps a copy.
    replica: Optional[int]


class PreferencesStatus(Record):
    """What owners say of the use of their pages."""

    #: Visits whose page is left out because its owner said no (preferences=obey), by
    #: purpose.
    left_out_total: "PurposeCounts"


class PurposeCounts(Record):
    """Counts by purpose."""

    #: Copies that people look at.
    archive: int
    #: An index that leads to the page.
    search: int


class Quantiles(Record):
    """Quantiles of times, in seconds; null before the first one."""

    #: Median, in seconds.
    p50: Optional[float]
    #: 90th percentile, in seconds.
    p90: Optional[float]
    #: 99th percentile, in seconds.
    p99: Optional[float]


class Rate(Record):
    """A speed over several windows."""

    #: Since the crawl began, per second.
    avg: float
    #: Over that part of the last minute in which the crawl ran, per second.
    avg_1m: float
    #: Over the last seconds, per second.
    now: float
    #: The highest of these that a node has seen since it started, per second.
    peak: float


class RenderStatus(Record):
    """The browsers of the running nodes (--render); all but mode is zero or null while it is
    off."""

    #: Path of the answering node's browser; null: it has none, or needs none.
    browser: Optional[str]
    #: Pages in a browser.
    busy: int
    #: Requests of pages that were answered without a request to a web server.
    cache_hits_total: int
    #: Pages that no browser could show; they were taken as they were fetched.
    failed_total: int
    #: Pages that can be in a browser at one time.
    max: int
    #: Which pages are shown to a browser: off, auto or all.
    mode: str
    #: Pages that were shown since the nodes' start, as with the counts below.
    pages_total: int
    #: Pages that wait for a browser.
    queued: int
    #: Requests of pages that were refused.
    refused_requests_total: int
    #: Browsers that were started after the first one of each node.
    restarts_total: int
    #: Time that a page took in the browser.
    seconds: "Quantiles"
    #: Pages that were read at their time limit, or could not be read then.
    timeouts_total: int


class RepairStatus(Record):
    """Progress of making missing copies, over all nodes."""

    #: Whether any copy is being made.
    active: bool
    #: Replicas that caught up from the missed changes after a silence, without a whole copy.
    caught_up_total: int
    #: Whole copies of partitions that the members have sent since they started, including
    #: those for moves.
    copied_total: int
    #: Copies made since the last time when none was missing.
    partitions_done: int
    #: Copies made plus copies still missing.
    partitions_total: int


class ResponseCounts(Record):
    """Answers by class of HTTP status."""


class ResultsReport(Record):
    """What became of results."""

    #: They do not count: the lease of the URL has ended, or the URL was never part of it.
    ended: int
    #: They count: now, or since they were sent for the first time.
    processed: int
    #: Of those that count now: their URLs are queued for another try.
    retries_scheduled: int


class RingStatus(Record):
    """Assignment of partitions, in numbers, and progress of changes."""

    #: Whether every partition is held by its owner.
    converged: bool
    #: Fingerprint of the table; equal on all converged nodes.
    digest: str
    #: Progress of moving partitions.
    handoff: "HandoffStatus"
    #: The last change of members and its cost.
    last_change: "ChangeStatus"
    #: Partitions none of whose usable copies is available.
    offline: int
    #: Number of partitions (--partitions).
    partitions: int
    #: Partitions without a holder: being promoted from copies, or being handed over.
    promoting: int
    #: Progress of making missing copies.
    repair: "RepairStatus"
    #: Copies that each partition should have (--replication).
    replication_factor: int
    #: Partitions held by a member that answered a moment ago and may fetch.
    served: int
    #: Partitions that are on one disk only at the moment, and for how long.
    single_copy: "SingleCopy"
    #: Partitions with fewer copies than the factor and the number of members allow.
    under_replicated: int
    #: Number of the view of the members.
    view: int


class SearchPart(Record):
    """A piece of a snippet."""

    #: Whether it is a word of the question.
    hit: bool
    #: The piece.
    text: str


class SearchReport(Record):
    """A page of search results."""

    #: Share of the indexed documents that the answer covers, 0 to 1.
    coverage: float
    #: The question with its typing errors corrected; null when there is nothing to correct.
    did_you_mean: Optional[str]
    #: How it was read, in words.
    interpreted: str
    #: The question as it was asked.
    query: str
    #: The results, the best first.
    results: "List[SearchResult]"
    #: Time of the answer.
    seconds: float
    #: Pages that match.
    total: int
    #: Whether total is exact; else it is a lower bound.
    total_exact: bool


class SearchResult(Record):
    """A page that was found."""

    #: URLs of pages with nearly the same text.
    also_at: List[str]
    #: Time of the capture.
    fetched_at: str
    #: WARC file of the capture; empty when nothing was archived.
    file: str
    #: The snippet in parts, with the words of the question marked.
    highlight: "List[SearchPart]"
    #: Host of the page.
    host: str
    #: Language, ISO 639-1; null when it is not known.
    lang: Optional[str]
    #: URL of the page.
    link: str
    #: Further results of the host, on later pages.
    more_from_host: int
    #: Start of the record in the file, in bytes.
    offset: int
    #: Score; only its order within one answer means something.
    score: float
    #: Passage of the text.
    snippet: str
    #: Title of the page; its URL when it has none.
    title: str


class SeedError(Record):
    """A line that is not a URL to crawl."""

    #: What is wrong with it.
    error: str
    #: Text of the line.
    input: str
    #: Number of the line, from 1.
    line: int


class SeedReport(Record):
    """The answer to added seeds."""

    #: Seeds that are new and stored durably by their owners.
    accepted: int
    #: Seeds that were already known.
    duplicates: int
    #: Lines that are not URLs to crawl.
    invalid: "List[SeedError]"
    #: Seeds that an exclude rule refuses.
    out_of_scope: int


class SettingsReport(Record):
    """The crawl's settings, with the names and values of the command line, but _ for -. All
    except store and normalize can be changed while the crawl runs."""

    #: Private networks that may be crawled.
    allow_net: List[str]
    #: What pages are shown with (images, scripts, style sheets) is fetched with them, out of
    #: scope too: off, same-host or any.
    assets: str
    #: off; back-off: an answer that is a bot wall is archived, and neither indexed nor
    #: followed; its host waits as after 429, and rests for a day when it answers so again
    #: and again.
    blocked: str
    #: Contact for site owners: a mail address or a URL.
    contact: str
    #: off; visit: cookies set by a redirect go with that page's redirects and end with the
    #: page; host: each host has a jar, which is part of its state.
    cookies: str
    #: Minimum gap between two requests to one host, such as 1s.
    delay: str
    #: Whether text and links of PDF, office files, books and plain text are read as those of
    #: pages: off or on.
    documents: str
    #: Patterns; URLs that match one are never crawled.
    exclude: List[str]
    #: Name and digest of the topic model by which pages and links are judged; "": none.
    focus: str
    #: Pages with a lower score pass no links on; 0 to 1.
    focus_min: float
    #: Time limit of an answer's head.
    header_timeout: str
    #: Patterns; only URLs that match one are crawled. Empty: everything in scope.
    include: List[str]
    #: Whether pages are indexed for search: off or on.
    index: str
    #: Minimum gap between two requests to one IP address, such as 200ms; null: 200ms outside
    #: allow_net, 0 inside.
    ip_delay: Optional[str]
    #: Maximum size of a body, such as 10MiB; the rest is cut.
    max_body: str
    #: Links followed from a seed; 0: no limit.
    max_depth: int
    #: Running time of the crawl, such as 2h30m0s; 0s: no limit.
    max_duration: str
    #: Pages of the whole cluster; 0: no limit.
    max_pages: int
    #: Pages of one host; 0: no limit.
    max_pages_per_host: int
    #: URLs of one host that look like a trap; 0: no limit.
    max_suspicious_per_host: int
    #: Rules that make URLs of one page equal: sort-query, index-files, trailing-slash,
    #: session-ids, www; fixed when the crawl is founded.
    normalize: List[str]
    #: What owners say of the use of their pages. ignore; mark: it is stored with each page;
    #: obey: and pages whose owner said no are left out of exports, sinks, replay and the
    #: index.
    preferences: str
    #: Weights of a queued URL's score, such as importance=0.3,depth=0.15; what is left out
    #: weighs 0. Kept; queued URLs are ordered by depth alone while the other signals are not
    #: measured.
    priority: str
    #: Proxy for all requests to web servers: http://, https:// or socks5://HOST:PORT, with a
    #: password as socks5://secret:NAME@HOST:PORT (see --secrets); repeatable: they are used
    #: in turn.
    proxy: List[str]
    #: What the crawl is for: any of search, archive, ai-input and ai-train, separated by
    #: commas.
    purpose: str
    #: Whether known pages are visited again: off, fixed (after one interval) or adaptive
    #: (when a visit is worth most).
    recrawl: str
    #: What counts as a change: text, or payload (any byte).
    recrawl_changed: str
    #: Time between two visits of a page, such as 7d; with adaptive the first guess.
    recrawl_interval: str
    #: Longest time between two visits of a page.
    recrawl_max: str
    #: Shortest time between two visits of a page; below 1m only inside allow_net.
    recrawl_min: str
    #: Share of the fetches for known pages while new ones wait; above 0, at most 1.
    recrawl_share: float
    #: With adaptive: probability that a page has changed from which on it is visited, at the
    #: latest after recrawl_max; 0: as often as there is room. At least 0, below 1.
    recrawl_worth: float
    #: Which pages are shown to a browser before their text and links are taken: off, auto
    #: (those that seem to need it) or all.
    render: str
    #: Patterns; with auto these pages are shown as well, with all only these.
    render_match: List[str]
    #: Whether a picture of each page that is shown is archived.
    render_screenshot: bool
    #: How often a page is tried again that failed or answered one of retry_statuses; after
    #: 429 and 503 the host waits instead.
    retries: int
    #: Statuses after which a page is tried again, such as 502,520-526; none: no status.
    retry_statuses: str
    #: robots.txt: obey, or ignore, which applies inside allow_net only.
    robots: str
    #: Product token by which robots.txt, X-Robots-Tag and meta robots address the crawl; "":
    #: that of user_agent.
    robots_agent: str
    #: What belongs to the crawl, relative to the seeds: page, prefix, host, domain or any.
    scope: str
    #: Rules for sites (YAML): another delay, header, login, proxy, depth and more for some
    #: hosts, domains or URLs; see docs/sites.md.
    sites: str
    #: What is stored of pages: warc or none; fixed when a node starts.
    store: str
    #: Time limit of a whole answer, such as 1m0s; what came until then is kept.
    timeout: str
    #: strict, or record: continue with a bad certificate and record it.
    tls_verify: str
    #: Sent with every request.
    user_agent: str


class SingleCopy(Record):
    """Partitions of which no available replica has every acknowledged change."""

    #: Number of such partitions.
    partitions: int
    #: Longest time that one has been in this state; 0: none is.
    seconds: float


class SinkStatus(Record):
    """A place to which results are sent."""

    #: Age of the oldest result that is not sent, in seconds; of the node that is most
    #: behind.
    behind_seconds: float
    #: Why the last batch was not taken; null when it was.
    error: Optional[str]
    #: Batches that it has not taken, since the nodes started; they are sent again.
    errors_total: int
    #: Results that it has taken, repeats among them.
    events_total: int
    #: Since when no batch was taken; null when the last one was.
    fails_since: Optional[str]
    #: Where, as --sink names it.
    sink: str


class SkippedCounts(Record):
    """URLs that were not queued or not fetched, by reason."""

    #: Too many links from a seed.
    depth: int
    #: The page is further from the topic than focus_min allows.
    focus: int
    #: The host has reached its limit of pages, or of suspicious URLs.
    host_budget: int
    #: Not a valid URL.
    invalid: int
    #: The page asks that its links are not followed.
    nofollow: int
    #: Outside the scope, or excluded.
    out_of_scope: int
    #: Forbidden by robots.txt.
    robots: int
    #: Neither http nor https.
    scheme: int
    #: A URL that is too long.
    too_long: int
    #: A path that looks endless.
    trap: int


class Status(Record):
    """The whole cluster in one document. Fields are never removed; unknown values are null."""

    #: Version of this document: v1.
    api_version: str
    #: Time of the report.
    as_of: str
    #: The main limit of the crawl's speed.
    bottleneck: "BottleneckStatus"
    #: State of the cluster.
    cluster: "ClusterStatus"
    #: State of the crawl.
    crawl: "CrawlStatus"
    #: Look-ups of names.
    dns: "DNSStatus"
    #: Results of the requests.
    fetch: "FetchStatus"
    #: Visits of pages that were visited before.
    freshness: "FreshnessStatus"
    #: URLs that wait.
    frontier: "FrontierStatus"
    #: The index for search.
    index: "IndexStatus"
    #: Destinations of the links of pages.
    links: "LinkStatus"
    #: Every known node, present or past, by name, then id.
    nodes: "List[NodeStatus]"
    #: Contents of the archives.
    output: "OutputStatus"
    #: What owners say of the use of their pages.
    preferences: "PreferencesStatus"
    #: The browsers that show pages before their text and links are taken.
    render: "RenderStatus"
    #: Assignment of partitions, in numbers.
    ring: "RingStatus"
    #: Human name of the answering node.
    served_by: str
    #: The crawl's speed.
    throughput: "ThroughputStatus"
    #: Version of the program.
    version: "VersionStatus"
    #: Programs outside of the cluster that fetch its pages.
    workers: "WorkersStatus"


class StuckStatus(Record):
    """A partition whose move or copy makes no progress, and why."""

    #: Number of the partition.
    partition: int
    #: Why there is no progress, in one sentence.
    reason: str
    #: Time since when.
    since: str
    #: Human name of the node that is to get it.
    to: str


class ThroughputStatus(Record):
    """The crawl's speed. The totals survive the nodes that counted them."""

    #: Bytes of bodies received per second.
    bytes_in_per_second: "Rate"
    #: Bytes of bodies received.
    bytes_in_total: int
    #: Pages per second.
    pages_per_second: "Rate"
    #: Queued URLs that got an HTTP response, of any status.
    pages_total: int


class TrapStatus(Record):
    """A series of pages that a site makes without end, such as the months of a calendar."""

    #: The command that leaves them out of the running crawl, beside what is excluded
    #: already.
    command: str
    #: URL of one of them.
    example: str
    #: The --exclude pattern that matches these pages, and no other that was seen.
    exclude: str
    #: Host name.
    host: str
    #: Name of the node that fetches them.
    node: str
    #: How many were fetched.
    pages: int
    #: When it was noticed.
    since: str


class UploadStatus(Record):
    """Copies of finished files in an object store; all 0 without --upload."""

    #: Time since the oldest queued file was finished, in seconds.
    behind_seconds: float
    #: Size of the files that are in the store and verified.
    bytes_total: int
    #: Failed attempts since the nodes started.
    failed_total: int
    #: Finished files that are not in the store yet.
    queued_files: int


class VersionStatus(Record):
    """Versions of the program and of its protocol."""

    #: Version of the program.
    crawlnode: str
    #: Version of the protocol between nodes; all nodes of a cluster share it.
    protocol: int


class WebhookStatus(Record):
    """A receiver of events."""

    #: Age of the event that is sent next, in seconds; of the node that is most behind.
    behind_seconds: float
    #: Why the last attempt failed; null when it did not.
    error: Optional[str]
    #: Attempts that failed, since the nodes started; they are made again.
    errors_total: int
    #: Events that it has taken, of all runs of the nodes.
    events_total: int
    #: Since when every attempt failed; null when the last one did not.
    fails_since: Optional[str]
    #: When a loss was seen last; null without one since the nodes started.
    lost_at: Optional[str]
    #: Events that were never sent, because it was away for too long; of all runs.
    lost_total: int
    #: Events that wait on the disks.
    queued: int
    #: Where, without path and query, which may be secret; digits of a digest tell several of
    #: one host apart.
    webhook: str


class WorkerLease(Record):
    """URLs that a worker may fetch."""

    #: State of the crawl: idle, running, paused or finished.
    crawl_state: str
    #: When the lease ends, by the node's clock; null without URLs. No request may be begun
    #: later.
    lease_expires_at: Optional[str]
    #: Names the lease in the results; empty without URLs.
    lease_id: str
    #: Time until then, in seconds.
    lease_seconds: float
    #: Product token by which robots directives of pages address the crawl.
    robots_agent: str
    #: The URLs, each of another host; none when nothing may be fetched within the wait.
    urls: "List[LeasedURL]"
    #: The crawl's user agent, to be sent with every request.
    user_agent: str


class WorkersStatus(Record):
    """Workers: programs outside of the cluster that fetch its pages."""

    #: Workers with a leased URL, counted at each node.
    active: int
    #: Leases that ended with a URL that had no result, since the nodes started.
    expired_total: int
    #: URLs that have no result yet.
    leased_urls: int
    #: Leases with a URL that has no result yet, counted at each node.
    leases: int


CapturesReport._parts = {
    "captures": CaptureReport,
}
ClusterStatus._parts = {
    "health": Health, "members": MemberCounts,
}
CrawlReport._parts = {
    "settings": SettingsReport,
}
CrawlStatus._parts = {
    "limits": LimitStatus,
}
FetchStatus._parts = {
    "errors_by_category": ErrorCounts, "given_up_by_reason": GivenUpCounts, "latency_seconds":
    Quantiles, "responses": ResponseCounts, "skipped_by_reason": SkippedCounts, "traps":
    TrapStatus,
}
FreshnessStatus._parts = {
    "overdue_seconds": OverdueQuantiles,
}
FrontierStatus._parts = {
    "hosts": HostCounts,
}
HandoffStatus._parts = {
    "stuck": StuckStatus,
}
Health._parts = {
    "reasons": HealthReason,
}
IndexStatus._parts = {
    "seconds": Quantiles,
}
LeasedURL._parts = {
    "robots_rules": LeasedRobots,
}
NodeStatus._parts = {
    "fetchers": FetcherCounts, "partitions": PartitionCounts,
}
OutputStatus._parts = {
    "sinks": SinkStatus, "upload": UploadStatus, "webhooks": WebhookStatus,
}
PreferencesStatus._parts = {
    "left_out_total": PurposeCounts,
}
RenderStatus._parts = {
    "seconds": Quantiles,
}
RingStatus._parts = {
    "handoff": HandoffStatus, "last_change": ChangeStatus, "repair": RepairStatus,
    "single_copy": SingleCopy,
}
SearchReport._parts = {
    "results": SearchResult,
}
SearchResult._parts = {
    "highlight": SearchPart,
}
SeedReport._parts = {
    "invalid": SeedError,
}
Status._parts = {
    "bottleneck": BottleneckStatus, "cluster": ClusterStatus, "crawl": CrawlStatus, "dns":
    DNSStatus, "fetch": FetchStatus, "freshness": FreshnessStatus, "frontier": FrontierStatus,
    "index": IndexStatus, "links": LinkStatus, "nodes": NodeStatus, "output": OutputStatus,
    "preferences": PreferencesStatus, "render": RenderStatus, "ring": RingStatus, "throughput":
    ThroughputStatus, "version": VersionStatus, "workers": WorkersStatus,
}
ThroughputStatus._parts = {
    "bytes_in_per_second": Rate, "pages_per_second": Rate,
}
WorkerLease._parts = {
    "urls": LeasedURL,
}
