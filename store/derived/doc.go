// Package derived writes what is derived of pages while they are crawled: lists of
// pages, links and pairs of hosts, the pages' texts, and a log of skipped URLs.
//
// Each output is a series of files in one folder. The life of a file:
//
//	pages-<time>-<serial>-<name>.jsonl.gz.open   being written
//	pages-<time>-<serial>-<name>.jsonl.tail      lines that the file may lack after a crash
//	pages-<time>-<serial>-<name>.jsonl.gz        whole; never touched again
//
// and so links-, hosts- and skipped-; text- files end in .warc.wet.gz. A file is
// turned when it has reached MaxFileBytes; an output to which nothing was written
// has no file.
//
// # Lines and their tail
//
// Lines are compressed many at a time, as one gzip member of up to 1 MiB of text:
// one line alone would hardly shrink. Until then they lie as they are in the tail, so
// that a killed process loses none. The tail begins with a line that says how much of
// the file was on the disk when the tail was begun:
//
//	{"file":"pages-20260101000000-00000-x.jsonl.gz","after":1048213}
//
// A checkpoint compresses what waits, brings the file to the disk, and only then
// empties the tail. So the invariants that repair rests on are:
//
//   - what lies before "after" is whole and on the disk;
//   - everything behind it stands in the tail, line by line.
//
// At Open a file that a crash left open is cut to "after", the tail's whole lines
// follow as one member, and the file gets its final name: nothing that was written is
// lost or doubled. Without a tail that can be read, the file is cut after its last
// whole member. Texts are a member each and written at once, like the records of an
// archive; their tail has no lines, and what stands behind "after" is read and cut
// after the last whole member.
//
// # What is promised
//
// Page returns when its lines are in the tail: safe against a crash of the process.
// Sync makes them safe against one of the machine; whoever notes a page as done must
// sync first. So each page that is done has its lines. One that a crash makes the
// crawler fetch again, or that is asked again later, appears again: whoever reads
// takes the last line of a URL. The skipped URLs are a log: they are not brought to
// the disk at each Sync.
//
// A pair of hosts may come again in a later line, of this file or another: readers
// add the counts up. Within one member a pair is written once.
//
// # Bounds
//
// Lines that wait in memory: 1 MiB for each output. One caller for each processor
// makes lines or a text at a time, of lines 256 KiB and one more before they are
// written; others wait. A caller whose lines fill a member compresses it, while others
// wait for that output; so they do for a checkpoint, once a second at the most. A
// full disk (ENOSPC) leaves no part of a line behind; Page and Skipped wait for space then,
// as Options.Full tells them. Any other error of the disk is final: the first one is kept,
// and every later Page, Skipped and Sync returns it.
//
// The package does not choose what a page's text or language is, does not find
// duplicates, and does not lock the folder: one process per folder.
package derived
