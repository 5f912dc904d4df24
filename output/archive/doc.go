// Package archive writes fetched pages into WARC 1.1 files (ISO 28500:2017),
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
// A file begins with a warcinfo record, which describes the settings of the crawl at that time
// (Info). A capture adds a response record (or a revisit record, when its caller knows of a capture
// with the same payload), the request, and a resource record for everything that was derived from
// the response, such as the page as a browser renders it. A resource record refers to the response
// and is not in the index. A URL that is given up adds a metadata record with the reason; it is not
// a capture and not in the index. Each record is one gzip member, or one zstd frame with a checksum
// and without a dictionary, so a reader can begin at any record at a known offset. A new file is
// started when one would grow beyond MaxFileBytes; an archive to which nothing was written has no
// file.
//
// Put compresses on the caller's goroutine, a few captures at a time, and then appends all records
// of the capture in one write. With Gather they wait in memory until Flush writes them. Sync makes
// them durable: it syncs the WARC file to the disk and only then writes the index lines of these
// captures. A caller must sync the archive before it marks a capture as done. The repair depends on
// two invariants:
//
//   - bytes are only ever appended, in one order, by one writer at a time;
//   - everything that an index names is on the disk.
//
// Open repairs files that a crash left open: everything up to the last
// record that the index names is trusted. The rest is read record by
// record, truncated after the last whole one and indexed, and the file is closed under
// its final name. Open also sorts indexes that are not sorted yet, and rebuilds the index of a
// finished file that has none.
//
// Bounds: records that wait (Gather), the window of a zstd frame (1 MiB written, 8 MiB read),
// concurrent compressions (Encoders; Put waits), index lines in memory (1 MiB; Put then syncs),
// memory for sorting (8 MiB, then runs on the disk) and indexes that wait to be sorted (4; then
// starting a new file waits).
//
// An index that cannot be sorted, for example because the disk is full, stays unsorted until the
// next Open. Any other error of the disk is final: the first one is reported, and every later Put
// and Sync returns it. The records acknowledged before it are not harmed: the next Open truncates
// what was written in part.
//
// Files of other programs can be read as well: Scan also reads files without compression, and
// members with several records, which have no offset of their own. FindUnindexed lists the files of
// a folder that lack a usable index.
//
// The package does not replicate, does not read HTTP beyond the status line, and
// does not lock the folder: one process per folder.
package archive
