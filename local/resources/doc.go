// Package resources measures what this process uses of its machine, and limits its heap.
//
//	heap.go      Collector: --memory and the rate of work decide when garbage is collected
//	latitude.go  timer slack: an idle process is woken once for several timers
//	usage.go     processor time, resident memory and open files, as the system tells them
//
// Where the system provides no figure (no /proc), it is 0 or nil, and what depends on it is left
// out.
//
// One goroutine calls Collector.Look, once a second; Collector.Work may be called from any. The
// settings of the Go runtime and of threads are the process's; several nodes in one process (tests)
// agree on the last one.
package resources
