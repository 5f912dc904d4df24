// Package worker has the verb worker: crawlnode's own fetcher and parser as a worker of a cluster,
// so that machines outside of the cluster can fetch pages for it. It asks any node for URLs,
// fetches them and reports the results; docs/workers.md has the protocol.
//
// One goroutine fetches each URL of a batch, at most Fetchers at a time; results are sent as they
// arrive, a few at a time. Run returns when all goroutines have ended. After a signal no more URLs
// are leased; those that were leased are still fetched and reported.
package worker
