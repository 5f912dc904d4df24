// Package resources knows what this process takes of its machine, and bounds the part that Go lets
// it bound: the heap.
//
//	heap.go      Collector: --memory and the rate of work decide when garbage is collected
//	latitude.go  how late timers may be: an idle process is woken for several at once
//	usage.go     processor time, resident memory and open files, as the system tells them
//
// Where the system tells nothing (no /proc), a figure is 0 or nil, and what is made of it is left
// out.
//
// One goroutine calls Collector.Look, once a second; Collector.Work may be called from any. The settings of the
// Go runtime and of threads are the process's; several nodes in one process (tests) agree on the last one.
package resources
