// Package pipeline processes one visit: from the host and URL that the scheduler
// hands out to the outcome that the frontier stores.
//
// A worker takes one visit at a time:
//
//	Source.Next      one host, one address, one item; no other worker has that host now
//	robots.txt       missing or expired: this visit fetches it instead, see robots.go
//	rules            forbidden: refused, without a request
//	fetch            one GET, or a sitemap file; Source.MayRequest is called at the write
//	Source.Release   the last byte was read: the host's gap begins, others may visit it
//	document         a file that is no page, such as a PDF: a page is made of it, see documents.go
//	parse            links, redirects, sitemap entries; each judged by the scope rules
//	archive          the exchange as sent and received
//	derive           derived data: lists, texts, the log of skipped URLs
//	Sink.Complete    the outcome and its links, durable in one step
//
// The order is the guarantee. Archive and derive come before Complete, so no page is
// done without its record and its lines; a crash anywhere repeats the page and loses nothing.
// Release comes before parse, so that a slow disk never prolongs the visit of a host.
//
// A page whose payload and crawl.Basis are those of its last visit (revisit.go) is not parsed: as
// after a 304, the visit is archived, listed and completed, and nothing else.
//
// Each visit has exactly one Release, then one Complete, in all cases. A redirect is never followed
// here: its target is a link like any other and passes scope, owner, robots.txt and politeness. The
// one exception is a robots.txt within its host. If it redirects to another host, the holder of
// that host fetches the file (Elsewhere), as a robots fetch, a visit of its own. The first host's
// visits end as RobotsPending until the file has arrived.
//
// A visit sees the crawl's settings as the rules for sites make them for its URL, and each request
// gets what the rules say of its own URL (sites.go). A host whose rules need what this node lacks
// is asked for nothing.
//
// A document that takes time to read, and a page that a browser shows, have goroutines of their
// own, for which Run waits. Of documents there are maxDocuments; the worker with one more waits.
//
// Queues: none else. Workers pull from Source and push into Archive, Deriver and Sink, which
// block when they are full; then the workers block too, and the hosts wait. Between visits
// the package keeps a bounded cache of parsed robots rules, and the progress of at most 4,096
// robots.txt files that redirect.
//
// What it does not do: choose hosts, resolve names, know the cluster, count.
package pipeline
