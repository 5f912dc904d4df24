// Package api is a node's HTTP face: the status document, the API of version 1,
// health checks and metrics. Any node answers for the whole cluster.
//
//	GET  /                 the dashboard, and its other pages: package dashboard
//	GET  /status           crawl.Status; ?format=text for people, ?scope=node for this node alone
//	GET  /livez            the process answers
//	GET  /readyz           this node takes part: 503 while it joins or leaves
//	GET  /healthz          the cluster's health: 503 when it is critical
//	GET  /metrics          Prometheus
//	GET  /openapi.json     all of this as OpenAPI 3.1; also in docs/openapi.json
//	POST /api/v1/seeds     crawl.SeedReport; JSON {"urls":[...]} or one URL a line
//	GET  /api/v1/ring      crawl.RingReport
//	GET  /api/v1/nodes     [crawl.NodeStatus]
//	GET  /api/v1/urls?url=URL&depth=N    crawl.URLReport: why it is, or is not, crawled; depth may be left out
//	GET  /api/v1/hosts?sort=queued|fetched|errors|backoff|latency&limit=N   crawl.HostsReport: the first of those in memory
//	GET  /api/v1/hosts/{host}            crawl.HostReport: what politeness knows, what waits
//	GET  /api/v1/cdxj      the CDXJ lines of all captures that the members have, sorted
//	GET  /api/v1/captures/{file}/{offset}   one record of any member's archive, a gzip member
//	POST /api/v1/nodes/{id}/drain|forget   NodeOrder; id is a node's id or its name
//	POST /api/v1/crawl/pause|resume|stop   crawl.ActionReport
//	GET  /api/v1/crawl     crawl.CrawlReport: the settings; its version is the ETag
//	PUT  /api/v1/crawl     crawl.CrawlChange: changes the named settings on all nodes; If-Match guards it
//	GET  /api/v1/audit?limit=N           crawl.AuditReport: who asked any node for what change
//	POST /api/v1/tokens/{id}/revoke      crawl.RevokeReport: no node takes the token any more
//	POST /api/v1/keys/rotate             crawl.RotationReport: replaces the cluster's key, or tells how far that is
//	GET  /api/v1/events    crawl.Event, as Server-Sent Events; ?format=json for a list, ?after=ID, ?limit=N
//	GET  /api/v1/stats     the parts of the status that change from second to second
//
// The table of routes (routes.go) fills the mux and makes the document
// (openapi.go, schema.go).
//
// Errors are application/problem+json (RFC 9457): 404 for a node or a
// host that nobody knows, 409 for what is refused until something changes, 412 for
// settings that were changed meanwhile, 503, with Retry-After, for what may work in
// a moment; only /readyz and /healthz say in text why they are 503. All answers come from a Backend, which the node
// implements; this package decides nothing about the crawl.
//
// # Who may ask
//
// With Options.Access every path but /livez and /readyz wants a token, as a Bearer
// token or as the password of Basic, and each path the least role that roles.go gives it.
// Without one the API is for this machine or
// a closed network, so a web page that a person visits must not reach it: a
// Host header that a stranger's name server could make point here is refused,
// on loopback with a key as well, and so is every change that a browser sends from
// another site. An address whose log-ins fail too often is told to wait (429); a valid
// token from there is taken.
//
// Who asks in vain is told why, and logged at most once a second. A connection counts as a
// stranger's at the listener's door until a request of its was let through.
//
// # Bounds
//
// A request's head has at most 64 KiB and ten seconds. A body is at most MaxBodyBytes
// and names at most MaxSeeds URLs. Adding seeds and every other order answers within ten seconds; a client that is told 503 may send the same again
// without harm. Every answer is built from figures that are already there, so
// none costs more than O(nodes), or O(partitions) for the ring. A question about a
// URL or a host is a few reads of the store and one call to the holder. The index of
// the archive takes as long as its reader does; one that is broken off breaks the
// connection. At most 64 readers follow the events; one that does not read is
// dropped, and misses nothing when it comes again soon with Last-Event-ID.
//
// # Text
//
// WriteText is the only place that renders a status for people, so that
// /status?format=text and the command show the same. Whatever a peer or a web
// server could have put into a string is escaped: no control byte reaches a
// terminal.
package api
