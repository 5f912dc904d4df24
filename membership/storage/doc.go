// Package storage keeps what a node's membership must remember across restarts: one
// small document with the id, the boot number, the installed view, the promises and
// acceptances of the decision under way, and the addresses of other nodes.
//
//	Document   the content; Encode and Decode are its format, with a checksum
//	File       stores it in the data directory, Memory in a simulation
//
// Decode validates everything: a damaged file is ErrCorrupt, never an empty document,
// because a node that loses its promises may vote twice.
//
// The package has no goroutine and no queue. The loop of package membership owns the
// document, and saves it before a promise is sent.
package storage
