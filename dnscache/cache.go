package dnscache

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/miekg/dns"
)

// Answer is what a look-up found.
type Answer struct {
	// Addrs are at least one and at most MaxAddrs addresses, IPv4 first, else in
	// the server's order. The slice is shared: read it only.
	Addrs []netip.Addr
	// Expires is when the cache will ask again.
	Expires time.Time
	// Stale: the servers failed and this is the expired answer.
	Stale bool
}

// Cache resolves names and keeps the answers. Its methods may be called
// from any number of goroutines.
type Cache struct {
	opts     Options
	resolver resolver
	outage   outage
	system   *systemFiles // nil when servers were given

	ctx    context.Context // ends with Close
	cancel context.CancelCauseFunc
	wg     sync.WaitGroup // flights

	// slots holds one token per flight under way.
	slots chan struct{}
	count counters

	mu      sync.Mutex // guards what follows; never held while waiting
	closed  bool
	entries *entries
	flights map[string]*flight
	probing chan struct{} // closed when the probe under way has ended; nil: there is none
}

// flight is one resolution that any number of look-ups wait for.
type flight struct {
	done   chan struct{} // closed when the rest is final
	answer Answer
	err    error
}

// New makes a cache. It starts nothing until the first look-up.
func New(o Options) (*Cache, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	c := &Cache{
		opts:    o,
		entries: newEntries(o.MaxEntries, o.Owner),
		flights: make(map[string]*flight),
		slots:   make(chan struct{}, o.Concurrency),
	}
	c.resolver = resolver{opts: &c.opts, queried: func() { c.count.queries.Add(1) }, heard: c.heard}
	c.resolver.servers.perServer = o.PerServer
	c.ctx, c.cancel = context.WithCancelCause(context.Background())
	if len(o.Servers) > 0 {
		c.resolver.servers.set(o.Servers)
		return c, nil
	}
	c.system = newSystemFiles(o.ResolvConf, o.HostsFile, c.resolver.servers.set)
	return c, nil
}

// Close ends all flights and waits for them. Look-ups that wait get ErrClosed.
func (c *Cache) Close() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.cancel(ErrClosed)
	c.wg.Wait()
}

// Lookup returns the addresses of host: a name in any case, with or without a
// trailing dot, or an IP literal (IPv6 with or without brackets). It waits for
// the servers if it must. The error is an *Error, ErrClosed, or wraps that of
// ctx; a flight continues without a caller that gave up.
func (c *Cache) Lookup(ctx context.Context, host string) (Answer, error) {
	name, literal := canonical(host)
	if literal.IsValid() {
		return Answer{Addrs: []netip.Addr{literal}, Expires: time.Now().Add(c.opts.MaxTTL)}, nil
	}
	c.countLookup(name)
	if _, ok := dns.IsDomainName(name); !ok || name == "" {
		return Answer{}, notFound(host, "it is not a host name")
	}
	if answer, ok := c.local(name); ok {
		c.countHit(name)
		return answer, nil
	}
	c.mu.Lock()
	answer, err, known := c.entries.get(name, time.Now())
	c.mu.Unlock()
	if known {
		c.countKnown(name, answer, err)
		return answer, err
	}
	if since, ok := c.outage.admit(time.Now()); !ok {
		answer, err := c.unasked(name, since)
		c.countFlight(name, answer, err)
		return answer, err
	}
	f, err := c.join(ctx, name)
	if err != nil {
		return Answer{}, err
	}
	select {
	case <-f.done:
		c.countFlight(name, f.answer, f.err)
		return f.answer, f.err
	case <-ctx.Done():
		return Answer{}, fmt.Errorf("look up %s: %w", name, context.Cause(ctx))
	}
}

// canonical returns the lower-case name without trailing dot, or the address
// that host is. An address with a zone is neither: it is link-local.
func canonical(host string) (name string, literal netip.Addr) {
	bare := host
	if strings.HasPrefix(host, "[") && strings.HasSuffix(host, "]") {
		bare = host[1 : len(host)-1]
	}
	if addr, err := netip.ParseAddr(bare); err == nil {
		if addr.Zone() != "" {
			return "", netip.Addr{}
		}
		return "", addr
	}
	return strings.ToLower(strings.TrimSuffix(host, ".")), netip.Addr{}
}

// local answers names that need no server: localhost (RFC 6761 section 6.3) and,
// with the system's servers, the hosts file.
func (c *Cache) local(name string) (Answer, bool) {
	var addrs []netip.Addr
	if name == "localhost" || strings.HasSuffix(name, ".localhost") {
		addrs = []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback()}
	} else if c.system != nil {
		addrs = c.system.addresses(name, time.Now())
	}
	if len(addrs) == 0 {
		return Answer{}, false
	}
	if addrs[0].Is4() && !c.opts.BothFamilies {
		n := 0
		for n < len(addrs) && addrs[n].Is4() {
			n++
		}
		addrs = addrs[:n]
	}
	return Answer{
		Addrs:   addrs[:min(len(addrs), c.opts.MaxAddrs)],
		Expires: time.Now().Add(c.opts.MinTTL),
	}, true
}

// join returns the flight for name, a new one if none is under way. It waits
// for a slot.
func (c *Cache) join(ctx context.Context, name string) (*flight, error) {
	c.mu.Lock()
	f := c.flights[name]
	c.mu.Unlock()
	if f != nil {
		return f, nil
	}
	select {
	case c.slots <- struct{}{}:
		return c.launch(name), nil
	case <-ctx.Done():
		return nil, fmt.Errorf("look up %s: %w", name, context.Cause(ctx))
	case <-c.ctx.Done():
		return nil, ErrClosed
	}
}

// launch starts a flight; the caller has taken a slot. launch releases the slot if there
// is nothing to do: a flight is under way, or one has ended since the caller looked.
func (c *Cache) launch(name string) *flight {
	c.mu.Lock()
	defer c.mu.Unlock()
	f := c.flights[name]
	if f == nil {
		f = &flight{done: make(chan struct{})}
		answer, err, known := c.entries.get(name, time.Now())
		switch {
		case c.closed:
			f.err = ErrClosed
			close(f.done)
		case known:
			f.answer, f.err = answer, err
			close(f.done)
		default:
			c.flights[name] = f
			c.wg.Go(func() { c.fly(f, name) })
			return f
		}
	}
	<-c.slots // never waits: the token is ours
	return f
}

// fly resolves name, keeps the outcome and ends the flight.
func (c *Cache) fly(f *flight, name string) {
	if c.system != nil {
		c.system.refresh(time.Now())
	}
	begun := time.Now()
	ctx, cancel := context.WithTimeout(c.ctx, c.opts.LookupTimeout)
	got := c.resolver.resolve(ctx, name)
	cancel()
	if c.opts.Events.Resolved != nil {
		c.opts.Events.Resolved(time.Since(begun))
	}
	if got.err != nil && got.err.Class == ErrFailed {
		got.err = c.blame(begun, got.err)
	}
	closed := c.ctx.Err() != nil

	c.mu.Lock()
	if closed {
		f.err = ErrClosed // the servers are not to blame
	} else {
		f.answer, f.err = c.entries.put(name, got, time.Now(), &c.opts)
	}
	delete(c.flights, name)
	c.mu.Unlock()
	<-c.slots
	close(f.done)
}
