// Package wire has the messages of the URLFrontier protocol, generated from urlfrontier.proto.
// Names and field numbers are those of the published protocol, so that existing clients can talk to
// crawlnode.
package wire
