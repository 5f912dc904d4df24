// Package lists has the verbs that list: urls list and nodes list.
//
//	urls.go    the stored URLs, of a cluster or of data directories whose nodes do not run
//	text.go    a list of URLs for people
//	nodes.go   the nodes
//
// A list is written as it is read, one page at a time, so memory does not grow with its length,
// here or on the nodes. The package starts no goroutine.
package lists
