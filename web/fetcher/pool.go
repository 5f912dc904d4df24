package fetcher

import (
	"container/list"
	"sync"
	"time"
)

// pool keeps idle connections, at most one for each key: politeness allows one request at a time
// per host, so a second one would never be used.
type pool struct {
	max int
	ttl time.Duration

	// mu guards the fields below. Connections are closed outside it.
	mu     sync.Mutex
	byKey  map[connKey]*list.Element
	lru    *list.List // of *conn, the longest idle in front
	timer  *time.Timer
	closed bool
}

func newPool(max int, ttl time.Duration) *pool {
	return &pool{max: max, ttl: ttl, byKey: make(map[connKey]*list.Element), lru: list.New()}
}

// take removes and returns an open connection for key, or nil.
func (p *pool) take(key connKey) *conn {
	p.mu.Lock()
	e := p.byKey[key]
	if e == nil {
		p.mu.Unlock()
		return nil
	}
	c := p.removeLocked(e)
	p.mu.Unlock()
	if time.Since(c.idleSince) >= p.ttl || !c.usable() {
		c.close()
		return nil
	}
	return c
}

// put keeps c. A full pool closes its longest idle connection for it.
func (p *pool) put(c *conn) {
	c.idleSince = time.Now()
	var out *conn
	p.mu.Lock()
	switch e := p.byKey[c.key]; {
	case p.closed:
		out = c
	case e != nil:
		out = p.removeLocked(e)
	case p.lru.Len() >= p.max:
		out = p.removeLocked(p.lru.Front())
	}
	if !p.closed {
		p.byKey[c.key] = p.lru.PushBack(c)
		if p.timer == nil {
			p.timer = time.AfterFunc(p.ttl, p.expire)
		}
	}
	p.mu.Unlock()
	if out != nil {
		out.close()
	}
}

// expire closes connections that were idle too long and schedules itself for the next.
func (p *pool) expire() {
	var old []*conn
	p.mu.Lock()
	now := time.Now()
	p.timer = nil
	for e := p.lru.Front(); e != nil && !p.closed; e = p.lru.Front() {
		if left := p.ttl - now.Sub(e.Value.(*conn).idleSince); left > 0 {
			p.timer = time.AfterFunc(left, p.expire)
			break
		}
		old = append(old, p.removeLocked(e))
	}
	p.mu.Unlock()
	for _, c := range old {
		c.close()
	}
}

func (p *pool) removeLocked(e *list.Element) *conn {
	c := p.lru.Remove(e).(*conn)
	delete(p.byKey, c.key)
	return c
}

func (p *pool) len() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.lru.Len()
}

// close closes all connections; those put later are closed at once.
func (p *pool) close() {
	var all []*conn
	p.mu.Lock()
	p.closed = true
	for e := p.lru.Front(); e != nil; e = p.lru.Front() {
		all = append(all, p.removeLocked(e))
	}
	if p.timer != nil {
		p.timer.Stop()
		p.timer = nil
	}
	p.mu.Unlock()
	for _, c := range all {
		c.close()
	}
}
