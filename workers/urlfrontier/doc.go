// Package urlfrontier serves the cluster's frontier by the URLFrontier protocol (gRPC), so that
// crawlers that speak it, such as those built with StormCrawler, can fetch for this cluster. It
// offers the REST calls /api/v1/frontier/... in another protocol: with the same leases, rules and
// limits. Any node serves the queues of all nodes.
//
// # The protocol's terms
//
//	queue        a host. A key that a client chooses is ignored: the URL's host is the key
//	crawl        the cluster has one: its id is "" and "DEFAULT". Another id is an empty crawl
//	in process   leased: no other client gets this URL, or another one of its host, until the
//	             result arrives or the lease ends
//	known        the result of a leased URL
//	discovered   a link, with the metadata "source_url"; without it, a seed
//
// # The calls
//
//   - GetURLs leases one URL of each of at most max_queues hosts. --lease sets the duration of the
//     lease, not delay_requestable. It waits up to a second when nothing may be fetched at once.
//     The metadata has the lease ("crawlnode.lease"), its seconds, the depth and the gap.
//   - PutURLs with a discovered URL stores it: OK when it is durable, also when it was known
//     already; SKIPPED when it is not to be crawled. With a known URL it stores the result of a
//     lease: SKIPPED when there is no such lease any more. "fetch.statusCode" in the metadata is
//     the HTTP status, 200 if it is missing. A date together with no status, or with one that is no
//     success, is a failed attempt, which is repeated no sooner than that date; after a success the
//     crawl's own plan of revisits decides. Links are sent as discovered URLs.
//   - PutDiscovered is PutURLs with one acknowledgement for each batch.
//   - GetStats has figures of the cluster, or of one host. ListQueues lists at most 100 hosts in
//     memory. There are also ListNodes and ListCrawls.
//   - GetURLStatus answers known, with a date if the URL will be visited again; discovered while it
//     waits; or NOT_FOUND.
//   - ListURLs walks over the stored URLs. CountURLs counts the URLs that a filter matches, and
//     reads the counters if there is no filter.
//   - SetActive pauses the crawl on all nodes, or resumes it; GetActive. With local both are
//     refused: no node is active alone.
//   - SetDelay, without a key, changes --delay of all hosts on all nodes; SetCrawlLimit likewise
//     --max-pages-per-host. With a key both are refused.
//   - SetLogLevel, with local, sets this node's log level.
//   - BlockQueueUntil: no node requests the host before that time; 0 ends it. The block moves with
//     the host's partition. With local it is refused.
//   - DeleteCrawl, DeleteQueue and PurgeURLs answer UNIMPLEMENTED, and name an alternative.
//
// The lease of a result is looked up in the item's metadata, and then among the leases that this
// node has given out: clients that drop the metadata send results to the node that gave them the
// URL.
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
//	a message     clients      its call         1 MiB                   RESOURCE_EXHAUSTED
//	unread items  clients      its handler      64 KiB a stream         the client waits
//	strangers     connections  an allowed call  Strangers               the oldest is closed
package urlfrontier
