package api

import (
	"net/http"
	"slices"
	"time"

	"crawlnode/api/captures"
	"crawlnode/api/dashboard"
	"crawlnode/api/urllist"
	"crawlnode/crawl"
	"crawlnode/web/botauth"
)

// route is one path of the API with a method. The table of routes fills both the mux and the
// OpenAPI document, so that they agree.
type route struct {
	method, path string
	id           string // operationId
	summary      string
	serve        func(*server, http.ResponseWriter, *http.Request)

	probe  bool // its 503 is an answer, as text
	params []param
	body   any    // a zero value of the JSON body; nil: no body
	takes  string // description of the body
	lines  bool   // the body may be text, one URL a line
	yaml   string // description of a body that is YAML; "": it is not
	gives  string // description of the answer
	code   int    // of the answer; 0: 200
	reply  any    // a zero value of the JSON answer; nil: only other
	or     any    // of another JSON answer; nil: there is none
	etag   bool   // the answer carries an ETag

	unchanged bool // it answers 304 to an ETag of its own
	other     []media
	errors    []int // in addition to those of any path
}

// param is a parameter of a route.
type param struct {
	name, in string // in is query, path or header
	what     string
	sample   any // a zero value of its type
	words    []string
	required bool
}

// media is an answer that is not JSON.
type media struct {
	name, what string
	binary     bool
}

// statsReport is the document of GET /api/v1/stats: the parts of the status that
// change from second to second.
type statsReport struct {
	AsOf       time.Time              `json:"as_of"`
	Crawl      crawl.CrawlStatus      `json:"crawl"`
	Throughput crawl.ThroughputStatus `json:"throughput"`
	Frontier   crawl.FrontierStatus   `json:"frontier"`
	Fetch      crawl.FetchStatus      `json:"fetch"`
}

// seedsBody is what POST /api/v1/seeds takes as JSON.
type seedsBody struct {
	URLs []seedOrURL `json:"urls"`
}

// seedOrURL is a seed as an object or its URL alone; see schemas.of.
type seedOrURL struct{}

const (
	bad      = http.StatusBadRequest
	missing  = http.StatusNotFound
	refused  = http.StatusConflict
	changed  = http.StatusPreconditionFailed
	tooLarge = http.StatusRequestEntityTooLarge
	gone     = http.StatusGone
	many     = http.StatusTooManyRequests
	busy     = http.StatusServiceUnavailable
)

// routes is the whole API.
func routes() []route {
	return slices.Concat(readRoutes(), explainRoutes(), analysisRoutes(), searchRoutes(),
		workerRoutes(), orderRoutes(), sitesRoutes())
}

// readRoutes are the questions about the cluster.
func readRoutes() []route {
	plain := []media{{name: "text/plain", what: "one line"}}
	return []route{
		{method: "GET", path: "/livez", id: "livez", gives: "the process answers", summary: "Whether the process answers.", serve: (*server).livez, other: plain},
		{method: "GET", path: "/readyz", id: "readyz", gives: "this node takes part", summary: "Whether this node takes part; 503 while it joins or leaves.", serve: (*server).readyz, probe: true, other: plain},
		{method: "GET", path: botauth.WellKnown, id: "botDirectory", gives: "the public keys as a JWK Set, signed for the host that was asked if it is the node's own or that of --bot-agent", summary: "The keys by which this node signs its requests (Web Bot Auth); 404 without --bot-key.", serve: (*server).directory, other: []media{{name: botauth.MediaType, what: "a JWK Set (RFC 7517)"}}, errors: []int{http.StatusNotFound}},
		{method: "GET", path: "/healthz", id: "healthz", gives: "nothing critical", summary: "The cluster's health; 503 when it is critical.", serve: (*server).healthz, probe: true, other: plain, errors: []int{busy}},
		{method: "GET", path: "/metrics", id: "metrics", gives: "this node's metrics, in the exposition format of Prometheus", summary: "Prometheus.", serve: (*server).metrics, other: []media{{name: "text/plain", what: "the exposition"}}},
		{method: "GET", path: "/openapi.json", id: "openapi", gives: "this document", summary: "This document.", serve: (*server).openapi, reply: map[string]any{}},
		{
			method:  "GET",
			path:    "/status",
			id:      "status",
			gives:   "the status",
			summary: "The whole cluster in one document.",
			serve:   (*server).status,
			params: []param{
				{name: "format", in: "query", what: "text is the view of crawlnode status", sample: "", words: []string{"json", "text"}},
				{name: "all", in: "query", what: "with format=text: true is the view of crawlnode status --all", sample: "", words: []string{"true", "false"}},
				{name: "scope", in: "query", what: "node: only the answering node", sample: "", words: []string{"cluster", "node"}},
			},
			reply:  crawl.Status{},
			other:  []media{{name: "text/plain", what: "with format=text"}},
			errors: []int{bad, busy},
		},
		{
			method:  "GET",
			path:    "/api/v1/stats",
			id:      "stats",
			gives:   "these parts of the status",
			summary: "The parts of the status that change from second to second.",
			serve:   (*server).stats,
			reply:   statsReport{},
			errors:  []int{busy},
		},
		{
			method:  "GET",
			path:    "/api/v1/history",
			id:      "history",
			gives:   "the curves",
			summary: "The curves of the dashboard, by columns.",
			serve:   (*server).history,
			params: []param{{
				name: "span",
				in:   "query",
				what: "10 minutes with a sample each second, 1 hour with one each 5 s (the default), " +
					"1 day each minute, or 1 week each 10 minutes",
				sample: "",
				words:  dashboard.SpanNames(),
			}},
			reply:  dashboard.Series{},
			errors: []int{bad, busy},
		},
		{
			method:  "GET",
			path:    "/api/v1/nodes",
			id:      "nodes",
			gives:   "the nodes",
			summary: "Every known node, present or past.",
			serve:   (*server).nodes,
			reply:   []crawl.NodeStatus{},
			errors:  []int{busy},
		},
		{
			method:  "GET",
			path:    "/api/v1/ring",
			id:      "ring",
			gives:   "the partitions",
			summary: "The nodes of each partition.",
			serve:   (*server).ring,
			reply:   crawl.RingReport{},
			errors:  []int{busy},
		},
		{
			method:  "GET",
			path:    "/api/v1/events",
			id:      "events",
			gives:   "the events, the oldest first",
			summary: "Events, as Server-Sent Events or as a list; ids are those of the answering node.",
			serve:   (*server).listEvents,
			params: []param{
				{name: "format", in: "query", what: "json: a finite list", sample: "", words: []string{"sse", "json"}},
				{name: "after", in: "query", what: "the id of the last event received; 0: start with the newest ones", sample: uint64(0)},
				{name: "limit", in: "query", what: "how many existing events, at most 1000", sample: uint16(0)},
				{name: "Last-Event-ID", in: "header", what: "the same as after, and overrides it", sample: uint64(0)},
			},
			reply: []crawl.Event{},
			other: []media{{
				name: "text/event-stream",
				what: "id and data of each event; comments as heartbeats",
			}},
			errors: []int{bad, busy},
		},
	}
}

// explainRoutes are the questions about a URL, a host or what was stored.
func explainRoutes() []route {
	return []route{
		{
			method: "GET",
			path:   "/api/v1/urls",
			id:     "explainURL",
			gives:  "what is known of the URL, or without url a page of the list",
			summary: "Why a URL is, or is not, crawled; without url: the stored URLs, " +
				"page by page or all of them.",
			serve: (*server).urls,
			params: []param{
				{name: "url", in: "query", what: "the URL, in any spelling; without it URLs are listed", sample: ""},
				{name: "depth", in: "query", what: "with url: depth to judge it at, in links from a seed; default: the depth of its record", sample: uint16(0)},
				{name: "metadata", in: "query", what: "with url: false leaves metadata out, for which the capture is read", sample: true},
				{name: "state", in: "query", what: "only URLs in this state; broken: those that failed, and those that were answered 4xx or 5xx", sample: "", words: crawl.ListStates[:]},
				{name: "host", in: "query", what: "only URLs of this host", sample: ""},
				{name: "contains", in: "query", what: "only URLs with this part, in whatever case", sample: ""},
				{name: "match", in: "query", what: "only URLs that match this pattern, written as for --include", sample: ""},
				{name: "status", in: "query", what: "only URLs whose last answer had this status, such as 404, or this class, such as 4xx", sample: ""},
				{name: "changed", in: "query", what: "true: only pages whose content was another one at a later visit than the first", sample: false},
				{name: "since", in: "query", what: "only pages that changed at this time or later: RFC 3339, a date, or how long ago, such as 24h or 7d", sample: ""},
				{name: "referrer", in: "query", what: "true: also the page on which each URL was found first; with state=broken, or failed, this lists the broken links", sample: false},
				{name: "partition", in: "query", what: "only URLs of this partition", sample: uint16(0)},
				{name: "limit", in: "query", what: "how many URLs, for a page at most 1000; default: 100 for a page, otherwise all", sample: uint32(0)},
				{name: "after", in: "query", what: "next of the page before", sample: ""},
				{name: "format", in: "query", what: "json: a page; jsonl, csv: all pages. When partitions cannot be read, such a list ends with a broken connection, and jsonl with an error before it", sample: "", words: []string{"json", urllist.JSONLines, urllist.CSV}},
			},
			reply:  crawl.URLReport{},
			or:     crawl.URLPage{},
			errors: []int{bad, busy},
			other: []media{{name: "application/jsonl", what: "with format=jsonl: one URLLine a line"},
				{name: "text/csv", what: "with format=csv: RFC 4180, with a header"}},
		},
		{
			method:  "GET",
			path:    "/api/v1/hosts",
			id:      "hosts",
			gives:   "the hosts",
			summary: "The first hosts in an order, among those that the members have in memory.",
			serve:   (*server).hosts,
			params: []param{
				{name: "sort", in: "query", what: "the order; the largest first", sample: "", words: crawl.HostSorts[:]},
				{name: "limit", in: "query", what: "how many hosts, at most 100", sample: uint16(0)},
			},
			reply:  crawl.HostsReport{},
			errors: []int{bad, busy},
		},
		{
			method:  "GET",
			path:    "/api/v1/hosts/{host}",
			id:      "describeHost",
			gives:   "what is known of the host",
			summary: "Politeness state of a host, and its queue.",
			serve:   (*server).describeHost,
			params: []param{{
				name:     "host",
				in:       "path",
				what:     "host name or IP address",
				sample:   "",
				required: true,
			}},
			reply:  crawl.HostReport{},
			errors: []int{missing, busy},
		},
		{
			method:  "GET",
			path:    "/api/v1/cdxj",
			id:      "captureIndex",
			gives:   "the index",
			summary: "The CDXJ lines of all captures that the members have, sorted.",
			serve:   (*server).cdxj,
			other:   []media{{name: "text/plain", what: "CDXJ"}},
			errors:  []int{busy},
		},
		{
			method:  "GET",
			path:    "/api/v1/captures",
			id:      "captures",
			gives:   "the captures, the oldest first",
			summary: "What the members have stored of a URL; the newest 10,000 captures.",
			serve:   (*server).listCaptures,
			params: []param{{
				name:     "url",
				in:       "query",
				what:     "the URL, in any spelling",
				sample:   "",
				required: true,
			}},
			reply:  crawl.CapturesReport{},
			errors: []int{bad, busy},
		},
		{
			method:  "GET",
			path:    "/cdx",
			id:      "cdx",
			gives:   "the captures, by key and time",
			summary: "The captures of a URL, a host or a domain: the CDX server API.",
			serve:   (*server).cdx,
			params:  cdxParams(),
			reply:   [][]string{},
			other: []media{
				{name: "text/plain", what: "without output: a line for each capture, its fields separated by spaces"},
				{name: "application/x-ndjson", what: "with output=jsonl: an object a line", binary: true},
			},
			errors: []int{bad, busy},
		},
		{
			method:  "GET",
			path:    "/api/v1/captures/{file}/{offset}",
			id:      "capture",
			gives:   "the record as it is stored",
			summary: "One record of any member's archive.",
			serve:   (*server).capture,
			params: []param{
				{name: "file", in: "path", what: "name of the WARC file", sample: "", required: true},
				{name: "offset", in: "path", what: "start of the record in the file, in bytes", sample: uint64(0), required: true},
				{name: "form", in: "query", what: "answer: the answer of the web server in place of the record, its body without content codings such as br, and at most 10 MiB of it; the header WARC-Truncated says when that is not all. The body of a revisit is the one that it refers to", sample: "", words: []string{"record", formAnswer}},
			},
			other: []media{{name: answerType, what: "with form=answer: head and body", binary: true},
				{name: "application/warc+gzip", what: "a gzip member", binary: true},
				{name: "application/warc+zstd", what: "a zstd frame", binary: true}},
			errors: []int{bad, missing, busy},
		},
	}
}

// cdxParams are the parameters of the CDX server API.
func cdxParams() (list []param) {
	for _, p := range captures.Params() {
		list = append(list, param{p.Name, "query", p.What, p.Sample, p.Words, p.Required})
	}
	return list
}

// orderRoutes change something.
func orderRoutes() []route {
	node := []param{{
		name:     "id",
		in:       "path",
		what:     "id or name of the node",
		sample:   "",
		required: true,
	}}
	action := func(word, summary string) route {
		return route{
			method:  "POST",
			path:    "/api/v1/crawl/" + word,
			id:      word,
			gives:   "the crawl's state from now on",
			summary: summary,
			serve:   crawlAction(word),
			reply:   crawl.ActionReport{},
			errors:  []int{refused, busy},
		}
	}
	return []route{
		{
			method:  "POST",
			path:    "/api/v1/seeds",
			id:      "addSeeds",
			gives:   "how many seeds were accepted; they are stored durably",
			summary: "Add seeds; the answer comes when they are stored durably. After 503 send them again.",
			serve:   (*server).addSeeds,
			takes:   "the seeds, as JSON or one URL per line",
			body:    seedsBody{},
			lines:   true,
			reply:   crawl.SeedReport{},
			errors:  []int{bad, refused, tooLarge, busy},
		},
		{
			method: "POST",
			path:   "/api/v1/seeds/remove",
			id:     "removeSeeds",
			gives:  "what became of each URL; a removal is stored durably",
			summary: "Remove URLs from the queue that are not fetched yet, whatever brought them there. " +
				"After 503 send them again.",
			serve:  (*server).removeSeeds,
			takes:  "the URLs, as JSON or one URL per line",
			body:   seedsBody{},
			lines:  true,
			reply:  crawl.RemovalReport{},
			errors: []int{bad, refused, tooLarge, busy},
		},
		{
			method:  "GET",
			path:    "/api/v1/crawl",
			id:      "crawlSettings",
			gives:   "state and settings",
			summary: "The crawl's state and settings.",
			serve:   (*server).crawlConfig,
			etag:    true,
			reply:   crawl.CrawlReport{},
			errors:  []int{busy},
		},
		{
			method:  "PUT",
			path:    "/api/v1/crawl",
			id:      "changeCrawl",
			gives:   "the settings from now on",
			summary: "Change the named settings on all nodes while the crawl runs.",
			serve:   (*server).changeCrawl,
			params: []param{{name: "If-Match", in: "header", what: "the ETag that the change is based " +
				"on; if it differs, nothing is changed (412). * or no header: change in any case", sample: ""}},
			takes:  "the settings to change",
			body:   crawl.CrawlChange{},
			etag:   true,
			reply:  crawl.CrawlReport{},
			errors: []int{bad, refused, changed, tooLarge, busy},
		},
		action(crawl.ActionPause, "Pause the crawl."),
		action(crawl.ActionResume, "Resume a paused crawl."),
		action(crawl.ActionStop, "End the crawl."),
		{
			method:  "POST",
			path:    "/api/v1/nodes/{id}/drain",
			id:      "drainNode",
			gives:   "the node has accepted the order",
			summary: "Drain a node: it hands over its partitions and leaves.",
			serve:   (*server).drainNode,
			params:  node,
			reply:   NodeOrder{},
			errors:  []int{missing, refused, busy},
		},
		{
			method: "POST",
			path:   "/api/v1/nodes/{id}/stop",
			id:     "stopNode",
			gives:  "the node has accepted the order",
			summary: "Stop a node as SIGTERM does: it drains, " +
				"or ends with its data in place when no other node could take them over.",
			serve:  (*server).stopNode,
			params: node,
			reply:  NodeOrder{},
			errors: []int{missing, refused, busy},
		},
		{
			method: "POST",
			path:   "/api/v1/nodes/stop",
			id:     "stopAllNodes",
			gives:  "the nodes that end",
			summary: "Stop all nodes with their data in place: nothing moves, and nothing is lost. " +
				"The same commands start them again.",
			serve:  (*server).stopAll,
			reply:  crawl.StopReport{},
			errors: []int{busy},
		},
		{
			method:  "POST",
			path:    "/api/v1/nodes/{id}/forget",
			id:      "forgetNode",
			gives:   "the node is removed",
			summary: "Permanently remove a dead node.",
			serve:   (*server).forgetNode,
			params:  node,
			reply:   NodeOrder{},
			errors:  []int{missing, refused, busy},
		},
		{
			method:  "POST",
			path:    "/api/v1/nodes/{id}/weight",
			id:      "weighNode",
			gives:   "the node has stored its weight; the next view of the members counts it",
			summary: "Change a node's weight: its share of the partitions against the others' weights.",
			serve:   (*server).weighNode,
			params:  node,
			takes:   "the weight, 1 to 16",
			body:    weightBody{},
			reply:   NodeOrder{},
			errors:  []int{bad, missing, refused, tooLarge, busy},
		},
		{
			method:  "POST",
			path:    "/api/v1/nodes/{id}/zone",
			id:      "zoneNode",
			gives:   "the node has stored its zone; the next view of the members counts it",
			summary: "Change a node's zone: what fails together with it.",
			serve:   (*server).zoneNode,
			params:  node,
			takes:   "the zone, at most 32 bytes; null: none",
			body:    zoneBody{},
			reply:   NodeOrder{},
			errors:  []int{bad, missing, refused, tooLarge, busy},
		},
		{
			method: "GET",
			path:   "/api/v1/audit",
			id:     "audit",
			gives:  "the changes, the newest first",
			summary: "Changes requested through the API of any node: by whom, from where, what, " +
				"old and new value.",
			serve: (*server).audit,
			params: []param{{
				name:   "limit",
				in:     "query",
				what:   "how many changes, at most 1000",
				sample: uint16(0),
			}},
			reply:  crawl.AuditReport{},
			errors: []int{bad, busy},
		},
		{
			method:  "POST",
			path:    "/api/v1/tokens/{id}/revoke",
			id:      "revokeToken",
			gives:   "no member accepts the token any more, except those listed",
			summary: "Revoke a token on all nodes.",
			serve:   (*server).revokeToken,
			params: []param{{
				name:     "id",
				in:       "path",
				what:     "id of the token, its third field",
				sample:   "",
				required: true,
			}},
			reply:  crawl.RevokeReport{},
			errors: []int{bad, refused, busy},
		},
		{
			method: "POST",
			path:   "/api/v1/keys/rotate",
			id:     "rotateKey",
			gives:  "the progress; repeat the request with the same key to see it again",
			summary: "Replace the cluster's key on all nodes while the crawl runs. " +
				"Requires the token of the key itself.",
			serve:  (*server).rotateKey,
			takes:  "the new key",
			body:   crawl.KeyRotation{},
			reply:  crawl.RotationReport{},
			errors: []int{bad, refused, tooLarge, busy},
		},
	}
}

// role is the least one that may ask.
func (rt *route) role() crawl.Role { return roleOf(rt.method + " " + rt.path) }
