// Package timers keeps times in a heap, which says what is due next.
//
// A Timer is embedded in the value that it belongs to, so that it can be reset and stopped without
// a search; a Heap orders the timers that are set. Neither reads a clock, and both belong to one
// goroutine. Setting, stopping and removing a timer each cost O(log n) of the timers set. The
// caller bounds the number of timers.
package timers
