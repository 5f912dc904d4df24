// Package api is a node's HTTP interface: the status document, the API of version 1,
// health checks and metrics. Any node answers for the whole cluster.
//
//	GET  /                 the dashboard, and its other pages: package dashboard
//	GET  /status           crawl.Status; ?format=text for people, with &all=true all of it;
//	                       ?scope=node for this node alone
//	GET  /livez            the process answers
//	GET  /readyz           this node takes part: 503 while it joins or leaves
//	GET  /healthz          the cluster's health: 503 when it is critical
//	GET  /metrics          Prometheus
//	GET  /openapi.json     all of this as OpenAPI 3.1; also in docs/openapi.json
//	POST /api/v1/seeds     crawl.SeedReport; JSON {"urls":[...]} or one URL a line
//	GET  /api/v1/ring      crawl.RingReport
//	GET  /api/v1/nodes     [crawl.NodeStatus]
//	GET  /api/v1/urls?url=URL&depth=N       crawl.URLReport: why it is, or is not, crawled
//	GET  /api/v1/urls?state=...&after=...   crawl.URLPage: stored URLs; ?format=jsonl|csv: all pages
//	GET  /api/v1/hosts?sort=ORDER&limit=N   crawl.HostsReport: the first hosts in memory; orders:
//	                                        queued, fetched, errors, backoff, latency
//	GET  /api/v1/hosts/{host}               crawl.HostReport: politeness state, what waits
//	GET  /api/v1/search?query=WORDS&page=N&size=N  crawl.SearchReport; ?format=atom|jsonfeed: a feed
//	GET  /opensearch.xml   how a browser asks
//	GET  /api/v1/cdxj      the CDXJ lines of all captures that the members have, sorted
//	GET  /api/v1/captures/{file}/{offset}   one record of any member's archive, a gzip member
//	POST /api/v1/nodes/{id}/drain|stop|forget   NodeOrder; id is a node's id or its name
//	POST /api/v1/nodes/stop                crawl.StopReport: all nodes
//	POST /api/v1/crawl/pause|resume|stop   crawl.ActionReport
//	GET  /api/v1/crawl     crawl.CrawlReport: the settings; its version is the ETag
//	PUT  /api/v1/crawl     crawl.CrawlChange: changes settings on all nodes; If-Match guards it
//	GET  /api/v1/audit?limit=N           crawl.AuditReport: requested changes, on all nodes
//	POST /api/v1/tokens/{id}/revoke      crawl.RevokeReport: no node accepts the token any more
//	POST /api/v1/keys/rotate             crawl.RotationReport: replaces the cluster's key, or
//	                                     reports the progress
//	GET  /api/v1/events    crawl.Event, as Server-Sent Events; ?format=json&after=ID&limit=N
//	GET  /api/v1/stats     the parts of the status that change from second to second
//
// The table of routes (routes.go) fills the mux and makes the document
// (openapi.go, schema.go).
//
// Errors are application/problem+json (RFC 9457): 404 for an unknown node or host, 409 for requests
// that the current state does not allow, 412 for settings that have changed since, 503, with
// Retry-After, for temporary failures. Only /readyz and /healthz explain their 503 as text. All
// answers come from a Backend, which the node implements; this package decides nothing about the
// crawl.
//
// # Access
//
// With Options.Access every path but /livez and /readyz requires a token, as a Bearer token or as
// the password of Basic, and the minimum role that roles.go lists for the path. Without
// Options.Access the API is for this machine or a closed network. A web page that a person visits
// must not reach it: a Host header with a name that an attacker's name server could point here is
// refused, on loopback also with a key. So is whatever a browser sends for a page of another site, but
// that a link there leads to pages and to what costs nothing (foreign.go has the table).
// An address with too many failed log-ins gets 429, but a valid token from there is accepted.
//
// A refused client is told why, and logged at most once a second. A connection counts as a
// stranger's at the listener's door until one of its requests was allowed.
//
// # Bounds
//
// A request's head has at most 64 KiB and ten seconds. A body is at most MaxBodyBytes and names at
// most MaxSeeds URLs; those of all requests share four times that, and one waits five seconds for room. Adding seeds and every other order answers within ten seconds; after 503 a
// client may send the same again without harm. Every answer is built from existing figures, so none
// costs more than O(nodes), or O(partitions) for the ring. A question about a URL or a host takes a
// few reads of the store and one call to the holder. The index of the archive takes as long as its
// client reads; an error closes the connection. A page of URLs takes about a second and 1,000 lines
// at most, of which the cursor goes on; at most 4 lists are streamed, page by page, with nothing
// held in between but the cursor. At most 64 clients follow the events. A client that
// does not read is dropped, and misses nothing if it soon reconnects with Last-Event-ID.
//
// # Text
//
// Package plaintext is the only place that formats a status for people, so that
// /status?format=text and the command show the same. Whatever a peer or a web
// server could have put into a string is escaped: no control byte reaches a
// terminal.
package api
