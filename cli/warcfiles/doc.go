// Package warcfiles has the verbs that read WARC files without a node: warc list, warc extract, warc
// verify. They take files, or the folder of a data directory.
//
// The files may be anyone's: a record that is damaged ends the reading of its file with an error, and
// what is printed of it has no control characters. One record at a time is in memory, at most 1 GiB.
// The package starts no goroutine.
package warcfiles
