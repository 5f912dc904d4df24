// Package warcfiles has the verbs that read WARC files without a node: warc list, warc extract,
// warc verify. Their arguments are files, or a data directory.
//
// The files may come from any source: a damaged record ends the reading of its file with an error,
// and printed text has no control characters. One record at a time is in memory, at most 1 GiB. The
// package starts no goroutine.
package warcfiles
