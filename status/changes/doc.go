// Package changes keeps the last change of the members: which node joined, left or failed, and
// when every partition was served again after it.
//
//	log.go       Log: compares consecutive views, keeps the last change and the former members
//	progress.go  the progress of moves and repairs, and since when this node is in a minority
//
// A change begins with the view that makes it (Note) and ends when every partition is served again
// (End), as the caller reports. A failure remains the last change until it has ended: another
// failure is added to it, and other changes meanwhile are not shown.
//
// The package starts no goroutine, reads no clock and has no queue. Any goroutine may use a Log.
package changes
