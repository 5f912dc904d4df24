package gossip

import (
	"bytes"
	"encoding/binary"
	"sync/atomic"

	"crawlnode/crawl"
	"crawlnode/membership/consensus"
)

// A push/pull carries, behind the states of the nodes and in both directions, the
// identity of its sender:
//
//	byte version (1), 16 bytes mark, u64 attempt, byte claims, the rest the node's id
//
// Each process draws its mark at random. Bit 0 of claims is set while the node finds
// itself at the first address of Join. A node whose release does not know the format
// sends nothing.
const (
	markBytes       = 16
	exchangeVersion = 1
	exchangeBytes   = 1 + markBytes + 8 + 1 // without the id
	claimsFirst     = 1
)

// exchange is what a push/pull carries for founding a cluster, and what it brought
// back.
type exchange struct {
	mark    [markBytes]byte
	attempt atomic.Uint64 // the newest one
	met     atomic.Uint64 // the newest attempt that reached this process itself
	first   atomic.Bool   // this node finds itself at the first address of Join
}

// BeginAttempt numbers a call of Join, or a batch of them, for MetSelf.
func (e *exchange) BeginAttempt() uint64 { return e.attempt.Add(1) }

// MetSelf reports whether a Join of this attempt or a later one has reached this
// process itself.
func (e *exchange) MetSelf(attempt uint64) bool { return e.met.Load() >= attempt }

// SetFirst tells the other nodes whether this one finds itself at the first address of
// Join.
func (e *exchange) SetFirst(first bool) { e.first.Store(first) }

func (e *exchange) encode(self crawl.NodeID) []byte {
	b := append(make([]byte, 0, exchangeBytes+len(self)), exchangeVersion)
	b = append(b, e.mark[:]...)
	b = binary.BigEndian.AppendUint64(b, e.attempt.Load())
	claims := byte(0)
	if e.first.Load() {
		claims = claimsFirst
	}
	return append(append(b, claims), self...)
}

// decode returns what another node claims. What this process has sent itself is noted
// for MetSelf instead.
func (e *exchange) decode(b []byte) (id crawl.NodeID, first, ok bool) {
	if len(b) < exchangeBytes || b[0] != exchangeVersion {
		return "", false, false
	}
	mark, rest := b[1:1+markBytes], b[1+markBytes:]
	if !bytes.Equal(mark, e.mark[:]) {
		id = crawl.NodeID(rest[9:])
		return id, rest[8]&claimsFirst != 0, consensus.ValidateID(id) == nil
	}
	for attempt := binary.BigEndian.Uint64(rest); ; {
		met := e.met.Load()
		if met >= attempt || e.met.CompareAndSwap(met, attempt) {
			return "", false, false
		}
	}
}
