package gossip

import (
	"fmt"
	"net"
	"sync"
)

// budget bounds the bytes that were received on all open streams together. Above the
// bound, the stream with the most bytes is closed: a member's stream is short and
// small. The zero value is ready.
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

// errTooMuch is the read error of a stream that was closed for its size.
var errTooMuch = fmt.Errorf("more than %d MiB in one gossip stream, or %d in all",
	maxStreamBytes>>20, maxStreamsBytes>>20)

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

// take counts n bytes of s and returns the stream to close for them, or nil.
func (b *budget) take(s *stream, n int) *stream {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.streams[s] {
		return s // it was closed for its size before
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

// Close ends the stream and releases its bytes.
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
