// Package pipeline makes one page's trip: from the visit that the scheduler
// hands out to the outcome that the frontier writes down.
//
// A worker takes one visit at a time:
//
//	Source.Next      one host, one address, one item; nobody else has that host now
//	robots.txt       missing or expired: this visit is spent on it, see robots.go
//	rules            forbidden: refused, without a request
//	fetch            one GET, or a sitemap file; Source.MayRequest is asked at the write
//	Source.Release   the last byte was read: the host's gap begins, others may have it
//	parse            links, redirects, sitemap entries; each judged by the scope rules
//	archive          the exchange as it was on the wire
//	derive           what is derived of it: lists, texts, the log of skipped URLs
//	Sink.Settle      what was found, durable in one step with the page being done
//
// The order is the guarantee. Archive and derive stand before Settle, so no page is
// done without its record and its lines; a crash anywhere repeats the page and loses nothing.
// Release stands before parse, so that a slow disk never makes a host's turn
// longer.
//
// Exactly once per visit, whatever happens: one Release, then one Settle.
// A redirect is never followed here: its target is a link like any other and goes
// through scope, owner, robots.txt and politeness. The one exception is a
// robots.txt within its host. One that redirects to another host is fetched by who
// holds that host (Elsewhere), as a robots fetch, a visit of its own; the first host's
// visits end as RobotsPending until the file has come.
//
// Queues: none. Workers pull from Source and push into Archive, Deriver and Sink, which
// block when they are full; so do then the workers, and the hosts wait. What is
// kept between visits is a bounded cache of parsed robots rules, and how far the
// redirects of robots.txt files have been followed, at most 4,096 of them.
//
// What it does not do: choose hosts, resolve names, know the cluster, count.
package pipeline
