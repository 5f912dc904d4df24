// Package peer carries the calls between crawlnode processes: gRPC, described in
// peer.proto, with generated code beside it.
//
// A Pool holds one connection to each peer and offers typed calls with deadlines. A
// Server answers them from a Handler that package node implements. Both check
// that the other side belongs to the same cluster.
//
// # Only the target answers
//
// target.go: each call and each stream names the id and the boot that it is for
// (metadata "crawlnode-to"), and each answer names its sender ("crawlnode-self"). A
// server refuses what is not for it before its handler sees it. A caller treats an
// answer from another node, or one without a sender, as if the target had not answered.
// If another node or an earlier boot answered, the caller closes the connection, and the next call
// resolves the name again, a quarter of a second later at the earliest. So a node that
// has taken over another one's address, or to which a stale name leads, cannot acknowledge, deny or
// grant anything in its place, and its end proves nothing about the other one.
//
// Only membership calls may be answered by another boot than the one that they name: their
// messages carry id and boot of both sides and are checked by them, and nodes learn of restarts
// through them. They also search for a second process of
// one id, and for a node that an operator wants to forget, whose boots are not known.
//
// The end of a connection is reported with the boot that had answered on that very
// connection, and with the address behind the name (ended.go).
//
// # Bytes
//
// Archive is a stream of bytes in pieces: of the member's index, or of one record.
// HTTP/2's flow control makes the sender wait for the reader.
//
// # Links
//
// Links are most of the traffic, so they have a stream. Forward hands the links of a page that
// other nodes hold to the stream's one goroutine, which packs waiting links into
// batches, keeps at most eight batches in flight, and answers each caller when
// the batch with its links was acknowledged. While a batch is in flight, fewer than
// 250 links wait for more. An acknowledgement means that the links are stored.
//
// A peer that is slow, stopped or dead costs its callers nothing but their own deadline:
// the queue in front of the stream is bounded, a full queue answers ErrBusy at once, and
// after a failure the stream backs off (100 ms doubling to 5 s, with jitter) and answers
// ErrDown meanwhile. The caller puts links that were not acknowledged into its outbox.
//
//	queue            filled by   emptied by        bound          when full
//	linkStream.in    Forward     linkStream.run    256 pieces     ErrBusy
//	held             run         its batches       1,000 links    run takes no more pieces
//	in flight        run         acks, time-out    8 batches      held links wait
//
// # Key rotation
//
// While the cluster's key is replaced, a node has two keys. If a handshake fails because the other
// side presented another key than expected, the next one uses the node's other key
// (PoolOptions.TLS); after other failures it does not. Pool.Renew reconnects
// to the targets that were reached with the old key, and closes the old
// connections six seconds later; Server.Recheck closes connections whose key
// is no longer valid.
//
// # Strangers
//
// With TLS only a peer with the cluster's key passes the handshake; without it any call that
// names the cluster is accepted. Package door counts a connection as a stranger's
// until its first valid call. A call has at most 16 KiB of headers, a message 8 MiB,
// a batch MaxBatchLinks links. Refusals are logged once for each sender and kind of
// fault, and at most once a second.
//
// This package knows no view, no ring and no frontier: of the project it imports
// only package door.
package peer
