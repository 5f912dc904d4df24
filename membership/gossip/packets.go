package gossip

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"hash/maphash"
	"net/netip"
	"slices"
	"sync/atomic"
	"time"

	"github.com/hashicorp/memberlist"
)

// How many packets are let through in a second. A member sends some tens to each other
// one.
const (
	packetsPerSender = 500
	packetsInAll     = 5000
	senderSlots      = 4096
)

// reason says why a packet is dropped.
type reason string

const (
	admitted   reason = ""
	otherLabel reason = "another --cluster, or no crawlnode"
	otherKey   reason = "not encrypted with this cluster's key"
	tooMany    reason = "too many packets in this second"
)

// logged reports whether a dropped packet is worth a log line. One packet too many is
// not: its sender may be a member.
func (r reason) logged() bool { return r != tooMany }

// packetFilter judges packets before anything of them is stored: those that do not carry
// the cluster's name, or are not encrypted with its key, never reach memberlist. One
// goroutine owns it.
type packetFilter struct {
	label   []byte                        // first bytes of each packet: memberlist's header with the cluster's name
	name    []byte                        // authenticated with each packet
	keys    atomic.Pointer[[]cipher.AEAD] // one of them must fit; nil: no key
	plain   []byte                        // buffer for decrypting a packet; memberlist decrypts it again
	seed    maphash.Seed
	window  int64 // the second that is being counted
	total   int
	senders [senderSlots]uint16 // by hash of address and port: one flood fills one slot
}

// newPacketFilter makes the filter of a cluster. Without a key every packet with the
// cluster's name passes.
func newPacketFilter(cluster string, keys [][]byte) (*packetFilter, error) {
	label, err := memberlist.AddLabelHeaderToPacket(nil, cluster)
	if err != nil {
		return nil, err
	}
	f := &packetFilter{label: label, name: []byte(cluster), seed: maphash.MakeSeed()}
	if len(keys) == 0 {
		return f, nil
	}
	f.plain = make([]byte, 0, packetBytes)
	return f, f.setKeys(keys)
}

// setKeys replaces the keys; any goroutine may call it.
func (f *packetFilter) setKeys(keys [][]byte) error {
	aeads := make([]cipher.AEAD, len(keys))
	for i, key := range keys {
		block, err := aes.NewCipher(key)
		if err != nil {
			return err
		}
		if aeads[i], err = cipher.NewGCM(block); err != nil {
			return err
		}
	}
	f.keys.Store(&aeads)
	return nil
}

// check returns why a packet is dropped, or that memberlist gets it.
func (f *packetFilter) check(packet []byte, from netip.AddrPort, now time.Time) reason {
	sealed, ok := bytes.CutPrefix(packet, f.label)
	if !ok {
		return otherLabel
	}
	if keys := f.keys.Load(); keys != nil && !slices.ContainsFunc(*keys, func(k cipher.AEAD) bool { return f.authentic(k, sealed) }) {
		return otherKey
	}
	return f.count(from, now)
}

// authentic checks a packet of memberlist's format: a byte of version 0 or 1, the
// nonce, the text with its tag. The cluster's name is authenticated as well.
func (f *packetFilter) authentic(key cipher.AEAD, b []byte) bool {
	const version = 1
	text := version + key.NonceSize()
	if len(b) <= text+key.Overhead() || b[0] > 1 { // a message has a type at least
		return false
	}
	_, err := key.Open(f.plain[:0], b[version:text], b[text:], f.name)
	return err == nil
}

// count bounds what passes in a second.
func (f *packetFilter) count(from netip.AddrPort, now time.Time) reason {
	if second := now.Unix(); second != f.window {
		f.window, f.total = second, 0
		clear(f.senders[:])
	}
	slot := &f.senders[maphash.Comparable(f.seed, from)%senderSlots]
	if f.total >= packetsInAll || *slot >= packetsPerSender {
		return tooMany
	}
	f.total++
	*slot++
	return admitted
}
