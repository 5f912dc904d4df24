package membership

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"fmt"
	"hash/maphash"
	"net"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/memberlist"
)

// How many packets a second are let through. A member sends some tens to each other.
const (
	packetsPerSender = 500
	packetsInAll     = 5000
	senderSlots      = 4096
)

// reason says why a packet goes no further.
type reason string

const (
	admitted   reason = ""
	otherLabel reason = "another --cluster, or no crawlnode"
	otherKey   reason = "not encrypted with this cluster's key"
	tooMany    reason = "too many packets in this second"
)

// worthALine: what is only too much is said by nobody; it may be a member.
func (r reason) worthALine() bool { return r != tooMany }

// sieve judges packets before anything is kept of them: those that do not carry the
// cluster's name, or are not encrypted with its key, never reach memberlist. One
// goroutine owns it.
type sieve struct {
	label   []byte                        // as a packet begins: memberlist's header with the cluster's name
	name    []byte                        // authenticated with each packet
	keys    atomic.Pointer[[]cipher.AEAD] // of which one has to fit; nil: no key
	plain   []byte                        // where packets are decrypted to be judged; memberlist does it again
	seed    maphash.Seed
	window  int64 // the second that is counted
	total   int
	senders [senderSlots]uint16 // by hash of address and port: one flood fills one slot
}

// newSieve makes the sieve of a cluster; without a key every packet with its name passes.
func newSieve(cluster string, keys [][]byte) (*sieve, error) {
	label, err := memberlist.AddLabelHeaderToPacket(nil, cluster)
	if err != nil {
		return nil, err
	}
	s := &sieve{label: label, name: []byte(cluster), seed: maphash.MakeSeed()}
	if len(keys) == 0 {
		return s, nil
	}
	s.plain = make([]byte, 0, packetBytes)
	return s, s.setKeys(keys)
}

// setKeys replaces the keys; any goroutine may call it.
func (s *sieve) setKeys(keys [][]byte) error {
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
	s.keys.Store(&aeads)
	return nil
}

// judge says whether a packet is worth memberlist's time.
func (s *sieve) judge(packet []byte, from netip.AddrPort, now time.Time) reason {
	sealed, ok := bytes.CutPrefix(packet, s.label)
	if !ok {
		return otherLabel
	}
	if keys := s.keys.Load(); keys != nil && !slices.ContainsFunc(*keys, func(k cipher.AEAD) bool { return s.authentic(k, sealed) }) {
		return otherKey
	}
	return s.count(from, now)
}

// authentic checks a packet as memberlist encrypts it: a byte of version 0 or 1, the
// nonce, the text with its tag; the cluster's name is authenticated as well.
func (s *sieve) authentic(key cipher.AEAD, b []byte) bool {
	const version = 1
	text := version + key.NonceSize()
	if len(b) <= text+key.Overhead() || b[0] > 1 { // a message has a type at least
		return false
	}
	_, err := key.Open(s.plain[:0], b[version:text], b[text:], s.name)
	return err == nil
}

// count bounds what passes in a second.
func (s *sieve) count(from netip.AddrPort, now time.Time) reason {
	if second := now.Unix(); second != s.window {
		s.window, s.total = second, 0
		clear(s.senders[:])
	}
	slot := &s.senders[maphash.Comparable(s.seed, from)%senderSlots]
	if s.total >= packetsInAll || *slot >= packetsPerSender {
		return tooMany
	}
	s.total++
	*slot++
	return admitted
}

// budget bounds the bytes that open streams have brought. When they are too many, the
// stream that has brought most is closed: a member's brings little and ends soon. The
// zero value is ready.
type budget struct {
	mu      sync.Mutex // guards the rest, and stream.taken
	streams map[*stream]bool
	taken   int
}

// stream is a connection whose bytes are counted.
type stream struct {
	net.Conn
	budget *budget
	taken  int
}

// errTooMuch ends a stream that brings too much.
var errTooMuch = fmt.Errorf("more than %d MiB in one gossip stream, or %d in all", maxStreamBytes>>20, maxStreamsBytes>>20)

// open counts a connection's bytes from now on.
func (b *budget) open(c net.Conn) net.Conn {
	s := &stream{Conn: c, budget: b}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.streams == nil {
		b.streams = map[*stream]bool{}
	}
	b.streams[s] = true
	return s
}

// take counts n bytes of s and returns the stream that has to end for it, or nil.
func (b *budget) take(s *stream, n int) *stream {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.streams[s] {
		return s // it had to end already
	}
	s.taken += n
	b.taken += n
	if s.taken > maxStreamBytes {
		return s
	}
	if b.taken <= maxStreamsBytes {
		return nil
	}
	most := s
	for other := range b.streams {
		if other.taken > most.taken {
			most = other
		}
	}
	return most
}

// Read reads and counts.
func (s *stream) Read(p []byte) (int, error) {
	n, err := s.Conn.Read(p)
	if victim := s.budget.take(s, n); victim != nil {
		_ = victim.Close()
		if victim == s {
			return 0, errTooMuch
		}
	}
	return n, err
}

// Close ends the stream and gives its bytes back.
func (s *stream) Close() error {
	b := s.budget
	b.mu.Lock()
	if b.streams[s] {
		delete(b.streams, s)
		b.taken -= s.taken
	}
	b.mu.Unlock()
	return s.Conn.Close()
}
