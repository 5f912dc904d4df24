// Package stop has the verb that stops nodes: one, or all of a cluster. It sends the order, by the
// API or as a signal, and waits until the nodes are gone. It starts no goroutine.
package stop
