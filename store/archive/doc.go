// Package archive writes what was fetched into WARC 1.1 files (ISO 28500:2017),
// with a CDXJ index beside each, and reads them back.
//
// The life of a file:
//
//	crawlnode-<time>-<serial>-<name>.warc.gz.open   being written
//	crawlnode-<time>-<serial>-<name>.cdxj.open      one line per capture, as written
//	crawlnode-<time>-<serial>-<name>.warc.gz        whole; never touched again
//	crawlnode-<time>-<serial>-<name>.cdxj           its index, in the order of LC_ALL=C sort
//
// With Zstd the files end in .warc.zst; a folder may hold both.
//
// A file begins with a warcinfo record, which says how the crawl is run by then
// (Info). A capture adds a response record (or a
// revisit record, when its caller knows of one with the same payload) and the request that
// led to it. A URL that is given up adds a metadata record that says why; it is no
// capture, and no index names it. Each record is one gzip member, or one zstd frame
// with a checksum and without a dictionary, so a reader can begin at any record
// whose offset it knows. A file is turned when it would grow beyond MaxFileBytes; an
// archive to which nothing was written has no file.
//
// Put compresses on the caller's goroutine, a few at a time, and then appends
// all records of the capture in one write. What makes it durable is Sync: it
// flushes the WARC file to the disk and only then writes the index lines of
// what it flushed. Whoever notes a capture as done must sync the archive first.
// Hence the invariants that repair rests on:
//
//   - bytes are only ever appended, in one order, by one writer at a time;
//   - what an index names has reached the disk before.
//
// At Open, files that a crash left open are repaired: everything up to the last
// record that the index names is taken as good, the rest is read record by
// record, cut after the last whole one, indexed, and the file is closed under
// its final name. Indexes that were not sorted yet are sorted, and the index of a
// finished file that lacks one is made anew.
//
// What is bounded: the window of a zstd frame (1 MiB written, 8 MiB read),
// compressions at once (Encoders; Put waits), index lines in
// memory (1 MiB; Put then syncs itself), memory for sorting (8 MiB, then runs on the disk)
// and indexes that wait for it (4; the turn of a file waits then).
//
// An index that cannot be sorted, say because the disk is full, stays as it was
// written until the next Open. Any other error of the disk is final: the first one is reported, and every later Put
// and Sync returns it. The records acknowledged before it are not harmed: the
// next Open cuts off what was written in part.
//
// The package does not replicate, does not read HTTP beyond the status line, and
// does not lock the folder: one process per folder.
package archive
