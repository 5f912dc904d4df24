// Package seedlist reads the seeds that a person gives: from the command line, from files, also
// compressed ones, and from standard input. It records where each was written, so that a report can
// name the file and the line (Complaint), and suggests what was meant when a URL is invalid
// (a file, a directory, a missing scheme). The verbs decide what happens to the seeds.
//
// FromIndexes reads the URLs of indexes of archives (CDXJ, CDX), which may have millions of lines,
// and gives them on in batches: two of these are in memory at most.
//
// ReadUnless reads in a goroutine of its own, because reads of standard input cannot be cancelled;
// when stop receives a value first, that goroutine stays behind and the process must end.
package seedlist
