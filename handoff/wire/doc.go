// Package wire encodes and decodes what nodes send each other about partitions: the messages of a
// stream from a holder to a replica (frames.go), and the calls (calls.go). The meaning of a message
// is described where it is sent and received: in packages replication, copies and handoff.
//
// This is the protocol between nodes: fields are only ever added. Lengths are checked before memory
// is allocated, so a message costs no more memory than a small multiple of its bytes.
package wire
