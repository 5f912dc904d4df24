// Package changes keeps the last change of the members: which node joined, left or failed, and
// when every partition was served again after it.
//
//	log.go       Log: compares each view with the one before, keeps the last change and the former members
//	progress.go  how far moves and repairs have come, and since when this node is in a minority
//
// A change begins with the view that makes it (Note) and ends when every partition is served again (End),
// which the caller finds out. A failure stays the last change until it has ended: another
// failure joins it, and what else changes meanwhile is not shown.
//
// The package starts no goroutine, reads no clock and has no queue. A Log may be used from anywhere.
package changes
