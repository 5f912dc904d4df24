// Package fanout calls many nodes at the same time and waits for all of them. It starts one
// goroutine for each node, which ends before Ask returns; there is no queue.
package fanout
