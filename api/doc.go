// Package api is a node's HTTP interface: the status document, the API of version 1,
// health checks and metrics. Any node answers for the whole cluster.
//
//	GET  /                 the dashboard, and its other pages: package dashboard
//	GET  /status           crawl.Status; ?format=text for people, with &all=true in full;
//	                       ?scope=node for this node alone
//	GET  /livez            the process answers
//	GET  /readyz           this node takes part: 503 while it joins or leaves
//	GET  /healthz          the cluster's health: 503 when it is critical
//	GET  /metrics          Prometheus
//	GET  /.well-known/http-message-signatures-directory  the public keys of --bot-key
//	GET  /openapi.json     all of this as OpenAPI 3.1; also in docs/openapi.json
//	POST /api/v1/seeds     crawl.SeedReport; JSON {"urls":[...]} or one URL a line
//	GET  /api/v1/ring      crawl.RingReport
//	GET  /api/v1/nodes     [crawl.NodeStatus]
//	GET  /api/v1/urls?url=URL&depth=N       crawl.URLReport: why the URL is, or is not, crawled
//	GET  /api/v1/urls?state=...&after=...   crawl.URLPage: stored URLs; all with ?format=jsonl|csv
//	GET  /api/v1/hosts?sort=ORDER&limit=N   crawl.HostsReport: the first hosts in memory; orders:
//	                                        queued, fetched, errors, backoff, latency
//	GET  /api/v1/hosts/{host}               crawl.HostReport: politeness state, queued URLs
//	GET  /api/v1/search?query=WORDS&page=N&size=N  crawl.SearchReport; ?format=atom|jsonfeed
//	GET  /opensearch.xml   the OpenSearch description document
//	GET  /api/v1/cdxj      the CDXJ lines of all captures that the members have, sorted
//	GET  /api/v1/captures/{file}/{offset}   one record of any member's archive, a gzip member;
//	                                        ?form=answer: the answer in it, without content codings
//	POST /api/v1/nodes/{id}/drain|stop|forget   NodeOrder; id is a node's id or its name
//	POST /api/v1/nodes/{id}/weight|zone    NodeOrder; a body names the weight or the zone
//	POST /api/v1/nodes/stop                crawl.StopReport: all nodes
//	POST /api/v1/crawl/pause|resume|stop   crawl.ActionReport
//	GET  /api/v1/crawl     crawl.CrawlReport: the settings; the version is the ETag
//	PUT  /api/v1/crawl     crawl.CrawlChange: changes settings on all nodes, with If-Match
//	GET  /api/v1/sites     the rules for sites as YAML, with an ETag of their own; PUT replaces them
//	GET  /api/v1/sites/test?url=URL      crawl.SiteReport: which rules apply; POST tries others
//	GET  /api/v1/audit?limit=N           crawl.AuditReport: requested changes, on all nodes
//	POST /api/v1/tokens/{id}/revoke      crawl.RevokeReport: no node accepts the token any more
//	POST /api/v1/keys/rotate             crawl.RotationReport: replaces the cluster's key, or
//	                                     reports the progress
//	GET  /api/v1/events    crawl.Event, as Server-Sent Events; ?format=json&after=ID&limit=N
//	GET  /api/v1/stats     the parts of the status that change every second
//
// This is a selection. The table of routes (routes.go) has all of them; the mux and the OpenAPI
// document (openapi.go, schema.go) are made from it.
//
// Errors are application/problem+json (RFC 9457): 404 for an unknown node or host, 409 for requests
// that the current state does not allow, 412 for settings that were changed meanwhile, 503, with
// Retry-After, for temporary failures. Only /readyz and /healthz explain their 503 as text. All
// data comes from a Backend, which the node implements; this package decides nothing about the
// crawl.
//
// # Access
//
// With Options.Access every path but /livez, /readyz and the directory of bot keys requires a
// token, as a Bearer token or as the password of Basic, and the minimum role that roles.go lists
// for the path. Without Options.Access the API is for this machine or a closed network. A web page
// that a person visits must not reach it: a Host header with a name that an attacker's name server
// could point here is refused, on loopback also with a key. Requests that a browser sends for a
// page of another site are refused as well, except that links there may lead to pages and to other
// cheap GETs (foreign.go has the table). An address with too many failed log-ins gets 429, but a
// valid token from there is accepted.
//
// A refused client is told why; refusals are logged at most once a second. Package door counts a
// connection as a stranger's until one of its requests was allowed.
//
// # Bounds
//
// A request's head has at most 64 KiB and takes at most ten seconds. A body has at most
// MaxBodyBytes and at most MaxSeeds URLs; the bodies of all requests together have at most four
// times that, and a request waits up to five seconds for its share. Adding seeds and every other
// order are answered within ten seconds; after a 503 a client may safely send the same request
// again. Every answer is built from existing figures, so none costs more than O(nodes), or
// O(partitions) for the ring. A question about a URL or a host takes a few reads of the store and
// one call to the holder. The index of the archive takes as long as its client reads; an error
// closes the connection. A page of URLs takes about a second and has at most 1,000 lines; the
// cursor continues after it. At most 4 lists are streamed at a time, page by page, and only the
// cursor is kept in between. At most 64 clients follow the events. A client that does not read is
// disconnected, and misses nothing if it soon reconnects with Last-Event-ID. Rules for sites have
// at most 2 MiB, and one text of them is read at a time.
//
// # Text
//
// Only package plaintext formats a status for people, so that /status?format=text and the command
// show the same. All strings from peers and web servers are escaped: no control byte reaches a
// terminal.
package api
