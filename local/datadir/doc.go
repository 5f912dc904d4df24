// Package datadir owns the layout of a node's data directory: its one user, its version,
// and small files that survive a crash.
//
//	VERSION          "crawlnode-data 4"
//	lock             locked with flock while a process uses the directory
//	pid              of that process, for people and scripts
//	addresses.json   the last bound addresses, tried first at the next start
//	membership.json  identity, boot, views and ballots (package membership)
//	crawl.json       the crawl document: settings, state, limits, a checksum
//	ran              how long the crawl has run, as of a few seconds ago
//	keys/            a new cluster key, and the progress of its rotation; mode 0700
//	scope/           scope entries, one log for each node that added some (settings/scopeset)
//	frontier/        Badger: records, queues, host states, outbox
//	bloom/           filter snapshots of a clean stop
//	uploads.jsonl    the files that an object store has (package output/upload), with --upload
//	warc/            the archive
//
// A directory has one user: Open locks it with flock, which ends with the process in any case.
// A directory of a newer version is refused, and so is one with foreign files.
//
// An error of this package is an ErrStorage. It names the path and the remedy. ErrNoRoom is
// the only one that goes away with free space.
package datadir
