package integration

import (
	"flag"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"crawlnode/crawl"
)

var trapsToTheEnd = flag.Bool("traps", false,
	"run TestTraps until the endless hosts have ended; takes minutes")

// maze serves a number of hosts, each on a loopback address of its own, and
// counts the pages that each was asked for.
type maze struct {
	t     *testing.T
	mu    sync.Mutex // guards asked
	asked map[string]map[string]int
}

// host serves pages on 127.9.0.k and returns the host's base URL.
func (m *maze) host(k int, page func(u *url.URL) string) string {
	m.t.Helper()
	l, err := net.Listen("tcp", fmt.Sprintf("127.9.0.%d:0", k))
	if err != nil {
		m.t.Fatal(err)
	}
	base := "http://" + l.Addr().String()
	m.mu.Lock()
	m.asked[base] = map[string]int{}
	m.mu.Unlock()
	srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" || r.URL.Path == "/sitemap.xml" {
			http.NotFound(w, r)
			return
		}
		m.mu.Lock()
		m.asked[base][r.URL.RequestURI()]++
		m.mu.Unlock()
		w.Header().Set("Content-Type", "text/html")
		_, _ = fmt.Fprint(w, page(r.URL)) // the crawler has gone
	})}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = srv.Serve(l) // until Close
	}()
	m.t.Cleanup(func() {
		_ = srv.Close()
		<-done
	})
	return base
}

// pages counts the pages of a host that were fetched, and those fetched twice.
func (m *maze) pages(base string) (once, twice int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, n := range m.asked[base] {
		once++
		if n > 1 {
			twice++
		}
	}
	return once, twice
}

// trap is an endless host.
type trap struct {
	page func(u *url.URL) string
	// plain is the most pages that do not look like a trap.
	plain int
	// spent: the budget is used up within seconds.
	spent bool
}

// traps are the ways in which hosts are endless by mistake.
func traps() map[string]trap {
	var mu sync.Mutex
	next := 0
	number := func() int {
		mu.Lock()
		defer mu.Unlock()
		next++
		return next
	}
	links := func(n int, link func() string) string {
		var b strings.Builder
		for range n {
			fmt.Fprintf(&b, "<a href='%s'>x</a>\n", link())
		}
		return b.String()
	}
	return map[string]trap{
		"a session id in every link": {plain: 1, spent: true, page: func(*url.URL) string {
			return links(300, func() string { return fmt.Sprintf("/item?PHPSESSID=%016x", number()) })
		}},
		"facets": {plain: 1, spent: true, page: func(*url.URL) string {
			return links(300,
				func() string { n := number(); return fmt.Sprintf("/shop?a=%d&b=1&c=2&d=3&e=4&f=%d", n%7, n) })
		}},
		"a calendar": {plain: 14, page: func(u *url.URL) string {
			year, month := 2040, 0
			_, _ = fmt.Sscanf(u.Path, "/calendar/%d/%d", &year, &month) // the start page has none
			year, month = year+month/12, month%12+1
			return fmt.Sprintf("<a href='/calendar/%d/%02d'>next</a>", year, month)
		}},
		"a parameter more each time": {plain: 6, page: func(u *url.URL) string {
			return fmt.Sprintf("<a href='/?%s&x=1'>x</a>", u.RawQuery)
		}},
		"a folder in itself": {
			plain: 69,
			page:  func(*url.URL) string { return "<a href='a/'>a</a><a href='b/'>b</a>" },
		},
	}
}

// A host without end is limited to its budget, in the lowest band, and the others are not slowed
// down.
func TestTraps(t *testing.T) {
	needsProcesses(t)
	t.Parallel()
	const normalHosts, normalPages = 12, 40
	delay := 20 * time.Millisecond
	if *trapsToTheEnd {
		delay = 0
	}
	m := &maze{t: t, asked: map[string]map[string]int{}}
	bases, seeds := map[string]string{}, []string{}
	all := traps()
	for name, tr := range all {
		bases[name] = m.host(1+len(seeds), tr.page)
		seeds = append(seeds, bases[name])
	}
	var normal []string
	for range normalHosts {
		base := m.host(1+len(seeds), func(u *url.URL) string {
			n := 0
			_, _ = fmt.Sscanf(u.Path, "/%d", &n) // the start page has none
			if n >= normalPages-1 {
				return "the end"
			}
			return fmt.Sprintf("<a href='/%d'>next</a>", n+1)
		})
		normal, seeds = append(normal, base), append(seeds, base)
	}
	c := newCluster(t, "--allow-net", "127.0.0.0/8", "--delay", delay.String(), "--store", "none")
	c.addReady(1)
	n := c.nodes[0]
	n.seed(seeds...)

	until(t, 90*time.Second, func() string {
		for _, base := range normal {
			if got, _ := m.pages(base); got < normalPages {
				return fmt.Sprintf("%s has had %d of its %d pages", base, got, normalPages)
			}
		}
		return ""
	})
	for name, tr := range all {
		if tr.spent && !*trapsToTheEnd {
			if got, _ := m.pages(bases[name]); got > 10_000 {
				t.Errorf("%s: %d pages were fetched before the other hosts were done", name, got)
			}
			until(t, time.Minute, func() string {
				if h := hostOf(t, n, bases[name]); h.Suspicious < h.SuspiciousBudget {
					return fmt.Sprintf("%s: %d suspicious URLs of %d", name, h.Suspicious, h.SuspiciousBudget)
				}
				return ""
			})
		}
	}
	if *trapsToTheEnd {
		c.finished(15 * time.Minute)
	}
	judgeTraps(t, m, n, bases, all)
	c.stop()
}

// judgeTraps checks what the endless hosts got, and what the node says of it.
func judgeTraps(t *testing.T, m *maze, n *node, bases map[string]string, all map[string]trap) {
	t.Helper()
	for name, tr := range all {
		h := hostOf(t, n, bases[name])
		once, twice := m.pages(bases[name])
		if h.Suspicious > h.SuspiciousBudget || int64(once) > int64(tr.plain)+h.SuspiciousBudget ||
			twice > 0 {
			t.Errorf("%s: %d pages fetched, %d of them twice; %d suspicious URLs of %d", name, once, twice,
				h.Suspicious, h.SuspiciousBudget)
		}
		if plain := h.Pages + h.Queued - h.Suspicious; plain > int64(tr.plain)+1 {
			t.Errorf("%s: %d URLs did not look like a trap, at most %d do not", name, plain, tr.plain)
		}
		for band, queued := range h.ByBand[:crawl.Bands-1] {
			if queued > int64(tr.plain) {
				t.Errorf("%s: %d URLs wait in band %d", name, queued, band)
			}
		}
		t.Logf("%s: %d pages fetched, %d queued, %d suspicious", name, once, h.Queued, h.Suspicious)
	}
	for link, reason := range map[string]string{
		bases["a folder in itself"] + "/a/b/a/b/a/b/a/":                          "trap",
		bases["facets"] + "/shop?a=0&b=1&c=2&d=3&e=4&f=999999999":                "host_budget",
		bases["a parameter more each time"] + "/?" + strings.Repeat("x=1&", 600): "too_long",
	} {
		var r crawl.URLReport
		if err := n.decode("/api/v1/urls?url="+url.QueryEscape(link), &r); err != nil || r.Scope.Admit ||
			r.Scope.Reason != reason {
			t.Errorf("%.80s: %+v, %v; want %s", link, r.Scope, err, reason)
		}
	}
	var s crawl.Status
	if err := n.decode("/status", &s); err != nil || s.Fetch.SkippedByReason.HostBudget == 0 ||
		s.Fetch.SkippedByReason.Trap == 0 {
		t.Errorf("skipped %+v, %v", s.Fetch.SkippedByReason, err)
	}
}

// hostOf asks for one host.
func hostOf(t *testing.T, n *node, base string) (h crawl.HostReport) {
	t.Helper()
	u, err := url.Parse(base)
	if err == nil {
		err = n.decode("/api/v1/hosts/"+u.Hostname(), &h)
	}
	if err != nil {
		t.Fatal(err)
	}
	return h
}
