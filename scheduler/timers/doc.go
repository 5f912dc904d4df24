// Package timers keeps times in a heap: which of many things is due next.
//
// A Timer is part of the thing that it belongs to, so that it can be set anew and stopped without a search; a Heap orders those
// that are set. Neither knows a clock, and both belong to one goroutine. Setting, stopping and taking a timer out each cost
// O(log n) of the timers set. The number of timers is bounded by whoever owns them.
package timers
