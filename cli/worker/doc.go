// Package worker has the verb worker: crawlnode's own fetcher and parser as a worker of a cluster, for pages that other machines
// are to fetch. It asks any node for URLs, fetches them and reports what it found; docs/workers.md has the protocol.
//
// A batch is fetched by one goroutine for each of its URLs, Fetchers at most; its results are sent as they come, a few at a time. Run returns
// when all of them have ended. A signal ends the asking: what was leased is still fetched and reported.
package worker
