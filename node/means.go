package node

import (
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"crawlnode/crawl"
	"crawlnode/security/secrets"
	"crawlnode/web/cookies"
)

// This file gives the pipeline what rules for sites need of this node (pipeline.Means), and tells
// what of it is missing.

const (
	// lackRemembered is for how long a host counts as waiting: it looks again every ten seconds.
	lackRemembered = 30 * time.Second
	// maxLacking bounds the hosts that are remembered.
	maxLacking = 100_000
	// addressesKnown is how long the addresses of this machine are taken for known.
	addressesKnown = 10 * time.Second
)

// means are this node's. Its methods may be called by any goroutine.
type means struct {
	secrets *secrets.Store

	mu        sync.Mutex // guards the rest
	lacking   map[lack]seen
	addresses map[netip.Addr]bool // of this machine
	looked    time.Time
}

// lack is a host that waits for something.
type lack struct {
	what string // secret:NAME, an address, or pipeline.WorkingProxy
	host crawl.Host
}

// seen is when a host was noticed to wait.
type seen struct {
	first, last time.Time
	unnamed     bool // the file of secrets did not have the secret; else what it names was unreadable
}

// over reports whether a host waits no more for what. A secret that has come is noticed at once.
func (m *means) over(what string, s seen, now time.Time) bool {
	name, secret := strings.CutPrefix(what, "secret:")
	if secret && s.unnamed {
		if _, here := m.secrets.Lookup(name); here {
			return true
		}
	}
	return now.Sub(s.last) > lackRemembered
}

func newMeans(s *secrets.Store) *means {
	return &means{secrets: s, lacking: map[lack]seen{}}
}

// Secret is the value of a secret.
func (m *means) Secret(name string) (string, bool) {
	v, ok := m.secrets.Lookup(name)
	if !ok {
		return "", false
	}
	return v.Reveal(), true
}

// CookieFile are the cookies for a host of a cookie file.
func (m *means) CookieFile(name string, host crawl.Host, now time.Time) (cookies.Jar, bool) {
	f, err := m.secrets.CookieFile(name)
	if err != nil {
		return "", false
	}
	return f.ForHost(string(host), now), true
}

// HasAddress reports whether a is an address of this machine.
func (m *means) HasAddress(a netip.Addr) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if now := time.Now(); m.addresses == nil || now.Sub(m.looked) > addressesKnown {
		m.addresses, m.looked = localAddresses(), now
	}
	return m.addresses[a] || a.IsLoopback() && a.Is4() // Linux has all of 127.0.0.0/8
}

func localAddresses() map[netip.Addr]bool {
	all := map[netip.Addr]bool{}
	known, _ := net.InterfaceAddrs() // without them no address is this machine's
	for _, a := range known {
		if p, err := netip.ParsePrefix(a.String()); err == nil {
			all[p.Addr().Unmap().WithZone("")] = true
		}
	}
	return all
}

// Lacks notes a host that waits.
func (m *means) Lacks(host crawl.Host, what string) {
	now := time.Now()
	name, secret := strings.CutPrefix(what, "secret:")
	_, here := m.secrets.Lookup(name)
	m.mu.Lock()
	defer m.mu.Unlock()
	l := lack{what, host}
	was, known := m.lacking[l]
	switch {
	case !known && len(m.lacking) >= maxLacking:
		return
	case !known || m.over(what, was, now):
		was.first = now
	}
	m.lacking[l] = seen{was.first, now, secret && !here}
}

// lackedBy is what a host waits for; "": nothing.
func (m *means) lackedBy(host crawl.Host) string {
	now := time.Now()
	m.mu.Lock()
	defer m.mu.Unlock()
	for l, seen := range m.lacking {
		if l.host == host && !m.over(l.what, seen, now) {
			return l.what
		}
	}
	return ""
}

// waited is what hosts wait for.
type waited struct {
	what  string
	hosts int
	since time.Time
}

// waiting lists what hosts wait for, in order.
func (m *means) waiting(now time.Time) (list []waited) {
	m.mu.Lock()
	defer m.mu.Unlock()
	by := map[string]waited{}
	for l, seen := range m.lacking {
		if m.over(l.what, seen, now) {
			delete(m.lacking, l)
			continue
		}
		w := by[l.what]
		if w.what, w.hosts = l.what, w.hosts+1; w.since.IsZero() || seen.first.Before(w.since) {
			w.since = seen.first
		}
		by[l.what] = w
	}
	for _, w := range by {
		list = append(list, w)
	}
	slices.SortFunc(list, func(a, b waited) int { return strings.Compare(a.what, b.what) })
	return list
}

// troubles is what keeps this node from doing what the rules for sites say.
func (n *Node) troubles() (t crawl.SiteTrouble) {
	now := time.Now()
	for _, l := range n.means.waiting(now) {
		if name, ok := strings.CutPrefix(l.what, "secret:"); ok {
			t.Secrets = append(t.Secrets, crawl.MissingSecret{Secret: name, Hosts: l.hosts, Since: l.since})
		} else if a, err := netip.ParseAddr(l.what); err == nil {
			t.Sources = append(t.Sources, crawl.MissingSource{Address: a, Hosts: l.hosts, Since: l.since})
		}
	}
	if f := n.fetcher.Load(); f != nil {
		for _, p := range f.FailingProxies(now) {
			t.Proxies = append(t.Proxies,
				crawl.FailingProxy{Proxy: p.Proxy.String(), Error: p.Error, Since: p.Since})
		}
	}
	return t
}
