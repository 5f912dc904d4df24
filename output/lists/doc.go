// Package lists writes what is derived from pages during the crawl: lists of
// pages, links and pairs of hosts, the pages' texts, and a log of skipped URLs.
//
// Each output is a series of files in one folder. The life of a file:
//
//	pages-<time>-<serial>-<name>.jsonl.gz.open   being written
//	pages-<time>-<serial>-<name>.jsonl.tail      lines that the file may lack after a crash
//	pages-<time>-<serial>-<name>.jsonl.gz        whole; never touched again
//
// The same holds for links-, hosts- and skipped-; text- files end in .warc.wet.gz. A new
// file is started when one has reached MaxFileBytes; an output to which nothing was written
// has no file.
//
// # Lines and their tail
//
// Lines are compressed many at a time, as one gzip member of up to 1 MiB of text:
// one line alone would hardly shrink. Until then they are kept uncompressed in the tail, so
// that a killed process loses none. The first line of the tail says how much of
// the file was on the disk when the tail was begun:
//
//	{"file":"pages-20260101000000-00000-x.jsonl.gz","after":1048213}
//
// A checkpoint compresses the waiting lines, syncs the file to the disk, and only then
// empties the tail. Repair depends on two invariants:
//
//   - everything before "after" is whole and on the disk;
//   - everything after it is in the tail, line by line.
//
// Open truncates a file that a crash left open to "after", appends the tail's whole lines
// as one member, and gives the file its final name: no written line is
// lost or doubled. Without a readable tail, the file is truncated after its last
// whole member. Each text is a member of its own and written at once, like the records of an
// archive. The tail of a text file has no lines: the file is read from "after" on and truncated
// after the last whole member.
//
// # Guarantees
//
// Page returns when its lines are in the tail: safe against a crash of the process. Sync makes them
// safe against a crash of the machine. A caller must sync before it marks a page as done. So each
// page that is done has its lines. A page that is fetched again, after a crash or for a recrawl,
// appears again: readers take the last line of a URL. The skipped URLs are a log: they are not
// synced to the disk at each Sync.
//
// A pair of hosts may appear again in a later line, of this file or another: readers
// sum the counts. Within one member a pair is written once.
//
// # Bounds
//
// Up to 1 MiB of lines wait in memory for each output. As many callers as there are processors
// encode lines or texts at the same time, others wait; a caller writes its lines whenever they
// exceed 256 KiB. A caller whose lines fill a member compresses it, while other callers wait for
// that output. They also wait for a checkpoint, at most once a second. A full disk (files.NoRoom)
// leaves no partial line; Page and Skipped then wait for space, through Options.Full. Any other
// error of the disk is final: the first one is kept, and every later Page, Skipped and Sync returns
// it.
//
// The package does not decide what a page's text or language is, does not find
// duplicates, and does not lock the folder: one process per folder.
package lists
