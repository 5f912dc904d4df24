// Package wire is what the nodes send each other about partitions: the messages of a stream from a
// holder to a replica (frames.go), and the calls (calls.go). It encodes and decodes, and does
// nothing else. What a message means is said where it is sent and taken: packages replication,
// copies and handoff.
//
// Everything here is the protocol between nodes: fields are only ever added. Lengths are checked
// before memory is taken, so a message costs no more memory than a small multiple of its bytes.
package wire
