// Package seedlist reads the seeds that a person gives: from the command line, from files, also
// packed ones, and from standard input. It keeps where each was written, so that a report can
// name the file and the line (Complaint), and it tells what was meant when a URL is none
// (a file, a directory, a missing scheme). What is done with the seeds is the verbs' part.
//
// ReadUnless reads in a goroutine of its own, because standard input knows no context; when a
// value comes from stop first, that goroutine stays behind and the process must end.
package seedlist
