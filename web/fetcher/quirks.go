package fetcher

import (
	"sync"
	"time"
)

// quirk is what a Fetcher remembers of a server that breaks connections.
type quirk uint8

const (
	onlyHTTP1 quirk = 1 << iota // it refuses requests over HTTP/2, which it offers
	noReuse                     // it ends kept connections without an answer
)

const (
	// maxQuirks bounds the servers that are remembered: far more than are visited at a time.
	maxQuirks = 4096
	// quirkLife is how long a server is remembered: it may have been restarted, not broken.
	quirkLife = time.Hour
)

// quirks remembers servers. It forgets the oldest for a new one.
type quirks struct {
	// mu guards the rest.
	mu    sync.Mutex
	known map[connKey]remembered
	order [maxQuirks]connKey // a ring: the keys of known, oldest at next once it is full
	next  int
}

type remembered struct {
	what  quirk
	until time.Time
}

func (q *quirks) note(key connKey, what quirk) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.known == nil {
		q.known = make(map[connKey]remembered)
	}
	was, old := q.known[key]
	q.known[key] = remembered{was.what | what, time.Now().Add(quirkLife)}
	if old {
		return
	}
	if len(q.known) > maxQuirks {
		delete(q.known, q.order[q.next])
	}
	q.order[q.next] = key
	q.next = (q.next + 1) % maxQuirks
}

// has reports whether the server at key is known for what.
func (q *quirks) has(key connKey, what quirk) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	r, ok := q.known[key]
	return ok && r.what&what != 0 && time.Now().Before(r.until)
}
