// Package wire has the messages of the URLFrontier protocol, generated from urlfrontier.proto. Its names and field numbers are
// those of the published protocol, so that clients of other implementations understand them.
package wire
