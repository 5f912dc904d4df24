// Package simweb is a synthetic web: any number of hosts and pages that are a
// pure function of a seed and a URL, served over HTTP and DNS, with a judge on the
// server's side.
//
// The judge checks three properties of a crawler, independently of it: did it
// fetch everything that it could reach, did it fetch anything twice or anything
// forbidden, and was it polite.
//
//	cfg := simweb.Config{Seed: 7, Hosts: 50, PagesPerHost: 40, Delay: 20 * time.Millisecond}
//	web, err := simweb.New(cfg)
//	srv, err := web.Listen("127.0.0.1:0")  // real HTTP and DNS listeners on free ports
//	go srv.Run(ctx)                        // blocks until ctx is over
//	... crawl web.Seeds(), asking srv.DNS for names, with a scope that covers web.Domain() ...
//	report := web.Report()
//	err = report.Err()                     // nil: everything holds
//
// With Config.TLS it is a web of https, over HTTP/2 where the client offers that;
// Server.Authority is what the client must trust. A request in the form that
// proxies get (RFC 9112, 3.2.2) is answered like any other, so a client that
// cannot use another name server may use the web as its proxy.
//
// Without sockets a Web is an http.Handler (it goes by the Host header) and
// Resolve and ServeDNS answer for its names.
//
// # What is in it
//
// Host sizes follow a power law. The pages of a host form a tree by their first
// links, so that most of them can be reached; the other links point anywhere in
// the host or, by Config.CrossHost, at other hosts. Quirks come in shares of a
// thousand pages: redirects, missing pages, pages under a robots.txt rule, odd
// charsets, gzip, slow answers, 429 and 503 on the first request. A host may
// have a calendar trap (bounded), a sitemap with pages that nothing links to, a
// Crawl-delay. Dead hosts are linked to and have no address. Config.Quirky
// switches a bit of everything on. Config.Thin leaves out every second way to a
// page, so that every lost link shows; Config.Doors distinguishes clients.
//
// With Config.Changes pages change, each at a rate of its own, and hosts report the changes, or
// lie: see Changes. The web is then a pure function of the seed, the URL and the time.
//
// # Expected results
//
// Reachable walks the links breadth first from Seeds, without any crawler:
// robots.txt is obeyed, redirects are links, every URL with an answer of any
// status counts, hosts without an address do not. It assumes a scope that covers
// the whole domain (`--scope domain`, or `host` when every host is a seed) and
// no limit of depth or number.
//
// # Records
//
// The judge notes for each host when each request began (its header had been
// read) and ended (the handler had written the last byte), and for each URL how
// often it was asked for and answered. The end is noted before the last bytes
// leave, so a gap is never measured shorter than the client saw it. A 429 or 503
// is not an answer: a retry is correct. Memory is two bytes a page and some
// two hundred a host, so a million pages are cheap.
//
// In a web that changes, the judge also keeps each final answer to a request for a page: 32 bytes a
// visit, and 24 a page. From these and from the changes it computes how fresh the crawler's copies
// were (Freshness, PageFreshness), and how many conditional requests saved a payload (Conditions).
// A crawler that revisits pages has Report.Duplicates: check Report.ErrButDuplicates, and Visits.
//
// # What it does not do
//
// It knows no crawler and no cluster. It speaks TLS with a certificate of its own authority only,
// knows no mixed web of http and https, and listens only on loopback and 198.18.0.0/15, the network
// for benchmarks.
package simweb
