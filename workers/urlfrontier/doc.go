// Package urlfrontier serves a node's part in the cluster by the URLFrontier protocol (gRPC), so that crawlers which speak it, such as
// those built with StormCrawler, fetch for this cluster. It is what the REST calls /api/v1/frontier/... are in another protocol: the
// same leases, rules and limits. Any node serves the queues of all.
//
// # What the protocol's nouns are here
//
//	queue        a host. A key that a client chooses is not used: the host of the URL decides
//	crawl        the cluster has one: its id is "" and "DEFAULT". Another id is a crawl without URLs
//	in process   leased: no other client gets the URL, nor another one of its host, until its result or the lease's end
//	known        the result of a leased URL
//	discovered   a link, with the metadata "source_url"; without it, a seed
//
// # What the calls do
//
//	GetURLs          leases one URL of each of at most max_queues hosts. The lease lasts as long as --lease says, not delay_requestable. It waits
//	                 for a second when nothing may be fetched at once. The metadata has the lease ("crawlnode.lease"), its seconds, the depth, the gap
//	PutURLs          discovered: stored, OK when it is durable, known URLs as well; SKIPPED when it is not to be crawled. known: the URL's
//	                 result. "fetch.statusCode" in its metadata is the HTTP status, without it 200. A date and a status that is no success, or none,
//	                 is a failed attempt, tried again no sooner than that; with a success the crawl's own plan of revisits decides. Links are
//	                 sent as discovered URLs. SKIPPED: there is no such lease any more
//	PutDiscovered    as PutURLs, one acknowledgement a batch
//	GetStats         figures of the cluster, or of one host
//	ListQueues       hosts in memory, at most 100; ListNodes, ListCrawls
//	GetURLStatus     known, with a date if it will be visited again; discovered while it waits; NOT_FOUND
//	ListURLs         a walk over the stored URLs; CountURLs counts what a filter matches, and without one reads the counters
//	SetActive        pauses the crawl on all nodes, or resumes it; GetActive. With local they are refused: no node is active alone
//	SetDelay         without a key, the settings of all hosts on all nodes: --delay; SetCrawlLimit: --max-pages-per-host. With a key they are refused
//	SetLogLevel      this node's, with local
//	BlockQueueUntil  the host is requested by nobody before that time; 0 ends it. It moves with the host's partition. With local it is refused
//	others           DeleteCrawl, DeleteQueue and PurgeURLs answer UNIMPLEMENTED, and say what there is instead
//
// What a result says of a lease is looked up in the item's metadata first and then among the leases that this node has given out: clients
// that drop the metadata send results to the node that gave the URL.
//
// # Access
//
// Roles are those of the REST calls: reading needs read, URLs and results operate, and so does SetActive; settings need admin. With a cluster key the listener speaks TLS, and a call
// carries its token as "authorization: Bearer ...". Each change other than links and results is in the audit log; of the seeds of
// a stream the first ones, and then those of each ten seconds together.
//
// A caller is judged by the headers of its call, before any byte of a message is kept: who has no token costs no memory. The message of a
// unary call must come within ten seconds.
//
// # Concurrency and bounds
//
// Serve returns when all calls have ended. A goroutine receives the items of a PutURLs stream. Those that come while others are being stored are
// stored together, and acknowledged in their order. The batches of PutDiscovered are stored one after the other.
//
//	queue            filled by    emptied by         bound                     when full
//	given leases     GetURLs      results, time      maxGiven URLs             the oldest are forgotten: the metadata still has them
//	inbox            PutURLs      its stream's call  maxItems, maxItemBytes    the client waits (flow control)
//	streams          clients      their end          64 a connection           the client waits
//	all streams      clients      their end          maxAllStreams             RESOURCE_EXHAUSTED
//	other calls      clients      their end          maxUnary                  RESOURCE_EXHAUSTED
//	a message        clients      its call           1 MiB                     RESOURCE_EXHAUSTED
//	unread items     clients      the stream's handler  64 KiB a stream          the client waits
//	strangers        connections  a call that is allowed  Strangers            package door closes the oldest
package urlfrontier
