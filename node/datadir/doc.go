// Package datadir owns the layout of a node's data directory: who uses it, which version it has,
// and small files that survive a crash.
//
//	VERSION          "crawlnode-data 3"
//	lock             held with flock while a process uses the directory
//	pid              of that process, for people and scripts
//	addresses.json   the addresses that were bound last, tried first next time
//	membership.json  identity, boot, views and ballots (package membership)
//	crawl.json       the crawl document: settings, state, limits
//	keys/            a new cluster key, and how far its rotation is; for the owner alone
//	scope/           scope entries, in one log for each node that added some (store/scopeset)
//	frontier/        Badger: records, queues, host states, outbox
//	bloom/           filter snapshots of a clean stop
//	warc/            the archive
//
// A directory has one user: Open locks it with flock, which ends with the process, however it ends.
// A directory of a newer version is refused, one with files of somebody else as well.
//
// An error of this package is an ErrStorage. It names the path and says what to do; ErrNoRoom is
// the one that goes away with free space.
package datadir
