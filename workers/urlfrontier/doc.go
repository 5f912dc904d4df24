// Package urlfrontier serves the cluster's frontier by the URLFrontier protocol (gRPC), so that
// crawlers that speak it, such as those built with StormCrawler, can fetch for this cluster. It
// offers the REST calls /api/v1/frontier/... in another protocol: with the same leases, rules and
// limits. Any node serves the queues of all nodes.
//
// # The protocol's terms
//
//	queue        what a crawl has of a host. A key that a client chooses is not kept: the URL's host is
//	             the key
//	crawl        "" and "DEFAULT" are the cluster's own. Another id is a crawl of the clients alone
//	             (package workers/guests)
//	in process   leased: no other client gets this URL, or another one of its host, until the
//	             result arrives or the lease ends
//	known        a result
//	discovered   a link, with the metadata "source_url" or "url.path"; without them, a seed
//
// # The calls
//
// docs/workers.md has a table of them. What is not obvious:
//
//   - GetURLs leases one URL of each of at most max_queues hosts, for delay_requestable seconds, or
//     --lease. It waits up to a second when nothing may be fetched at once. Without a crawl's id it
//     is about all crawls. The metadata is what the client has said last, with the lease
//     ("crawlnode.lease"), its seconds, the depth and the gap.
//   - PutURLs with a discovered URL stores what is said of it (crawl.NoteLine), then the URL. A
//     known URL is a result: of the lease that its metadata names; of that under which this node
//     has given it out last; or of none, and then it counts unless somebody else has the URL. A
//     date brings the URL back; StormCrawler sends one with each success, and no status. A failure
//     without a date is repeated as those of workers are.
//   - DeleteCrawl, DeleteQueue and PurgeURLs delete records: what is found again is fetched again.
//   - SetDelay and SetCrawlLimit change settings of the own crawl, for all hosts, and rules of
//     queues of other crawls; SetDelay with a key the least gap of a host. BlockQueueUntil blocks a
//     host, or one queue of another crawl.
//
// # Access
//
// Roles are those of the REST calls: reading needs read; URLs, results and SetActive need operate;
// settings need admin. With a cluster key the listener speaks TLS, and a call carries its token as
// "authorization: Bearer ...". The audit log has each change other than links and results; of the
// seeds of a stream it has the first ones, and then one entry for those of each ten seconds.
//
// A caller is checked by the headers of its call, before any byte of a message is kept: a caller
// without a token costs no memory. The message of a unary call must arrive within ten seconds.
//
// # Concurrency and bounds
//
// Serve returns when all calls have ended. One goroutine receives the items of a PutURLs stream.
// Items that arrive while others are being stored are stored together, and acknowledged in their
// order. The batches of PutDiscovered are stored one after the other.
//
//	queue         filled by    emptied by       bound                   when full
//	given leases  GetURLs      results, time    maxCachedLeases         the oldest are forgotten;
//	                                                                    the metadata has them
//	inbox         PutURLs      the stream's call  maxItems, maxItemBytes  the client waits
//	streams       clients      their end        64 a connection         the client waits
//	all streams   clients      their end        maxAllStreams           RESOURCE_EXHAUSTED
//	other calls   clients      their end        maxUnary                RESOURCE_EXHAUSTED
//	skipped items clients      the log          skipsAtOnce a minute    they are only counted
//	a message     clients      its call         1 MiB                   RESOURCE_EXHAUSTED
//	unread items  clients      its handler      64 KiB a stream         the client waits
//	strangers     connections  an allowed call  Strangers               the oldest is closed
package urlfrontier
