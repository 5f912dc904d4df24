package door

import (
	"container/list"
	"net"
	"net/netip"
	"sync"
)

// Limits bound the connections of a Listener; both must be above zero.
type Limits struct {
	Strangers int // without a call of Trust
	Trusted   int
}

// Listener accepts connections as *Conn. Its methods may be called from any goroutine at
// any time; Accept never waits for room.
type Listener struct {
	net.Listener
	limits Limits

	mu        sync.Mutex                  // guards the rest; held for memory only
	strangers map[netip.Prefix]*list.List // of *Conn, the oldest first; no list is empty
	count     int                         // of strangers
	trusted   int
}

// Listen bounds the connections that l accepts.
func Listen(l net.Listener, limits Limits) *Listener {
	return &Listener{Listener: l, limits: limits, strangers: map[netip.Prefix]*list.List{}}
}

// Accept returns the next connection, a *Conn.
func (l *Listener) Accept() (net.Conn, error) {
	raw, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c := &Conn{Conn: raw, door: l, source: sourceOf(raw.RemoteAddr())}
	if crowded := l.enter(c); crowded != nil {
		_ = crowded.Close() // its reader gets an error
	}
	return c, nil
}

// enter adds a stranger and returns the one to close for it, or nil.
func (l *Listener) enter(c *Conn) *Conn {
	l.mu.Lock()
	defer l.mu.Unlock()
	queue := l.strangers[c.source]
	if queue == nil {
		queue = list.New()
		l.strangers[c.source] = queue
	}
	c.place = queue.PushBack(c)
	l.count++
	if l.count <= l.limits.Strangers {
		return nil
	}
	busiest := queue
	for _, q := range l.strangers {
		if q.Len() > busiest.Len() {
			busiest = q
		}
	}
	oldest := busiest.Front().Value.(*Conn)
	l.removeLocked(oldest)
	return oldest
}

// removeLocked takes a stranger out of its queue, if it is in one.
func (l *Listener) removeLocked(c *Conn) {
	if c.place == nil {
		return
	}
	queue := l.strangers[c.source]
	queue.Remove(c.place)
	if queue.Len() == 0 {
		delete(l.strangers, c.source)
	}
	c.place = nil
	l.count--
}

// Conn is a connection that a Listener accepted.
type Conn struct {
	net.Conn
	door   *Listener
	source netip.Prefix

	place   *list.Element // among the strangers; guarded by door.mu, as trusted is
	trusted bool
}

// Trust says that the other side has authenticated itself. A second call does nothing.
func (c *Conn) Trust() {
	l := c.door
	l.mu.Lock()
	defer l.mu.Unlock()
	if c.place == nil || l.trusted >= l.limits.Trusted {
		return
	}
	l.removeLocked(c)
	c.trusted = true
	l.trusted++
}

// Close ends the connection.
func (c *Conn) Close() error {
	l := c.door
	l.mu.Lock()
	l.removeLocked(c)
	if c.trusted {
		c.trusted = false
		l.trusted--
	}
	l.mu.Unlock()
	return c.Conn.Close()
}

// sourceOf returns the source that a connection is counted for: an IPv4 address, or the
// /64 of an IPv6 address, because one machine has all of it. Addresses of other kinds are
// one source.
func sourceOf(addr net.Addr) netip.Prefix {
	at, err := netip.ParseAddrPort(addr.String())
	if err != nil {
		return netip.Prefix{}
	}
	return sourceOfIP(at.Addr())
}

func sourceOfIP(ip netip.Addr) netip.Prefix {
	ip = ip.Unmap().WithZone("")
	bits := 32
	if ip.Is6() {
		bits = 64
	}
	source, err := ip.Prefix(bits)
	if err != nil {
		return netip.Prefix{}
	}
	return source
}

// Trust calls Trust of c, or of the connection that c wraps as TLS does, if that is a
// *Conn. It is for servers that accept connections of any kind.
func Trust(c net.Conn) {
	if wrapped, ok := c.(interface{ NetConn() net.Conn }); ok {
		c = wrapped.NetConn()
	}
	if own, ok := c.(*Conn); ok {
		own.Trust()
	}
}
