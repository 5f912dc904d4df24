package integration

import (
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// repeatingWeb is a web whose hosts are addresses. Two pages in five have the content of another
// one.
type repeatingWeb struct {
	hosts, pages int
	port         int
	bodies       []string // of page n of host h, at h*pages+n
	distinct     int
}

func newRepeatingWeb(hosts, pages int) *repeatingWeb {
	w := &repeatingWeb{hosts: hosts, pages: pages}
	r := rand.New(rand.NewPCG(11, 12))
	var fresh []string
	for range hosts * pages {
		if len(fresh) > 0 && r.Float64() < 0.4 {
			w.bodies = append(w.bodies, fresh[r.IntN(len(fresh))])
			continue
		}
		var b strings.Builder
		fmt.Fprintf(&b, "<title>Text %d</title><p>", len(fresh))
		for range 400 {
			fmt.Fprintf(&b, "w%x ", int(5000*r.Float64()*r.Float64()))
		}
		fresh = append(fresh, b.String())
		w.bodies = append(w.bodies, b.String())
	}
	w.distinct = len(fresh)
	return w
}

func (w *repeatingWeb) addr(host int) string { return fmt.Sprintf("127.0.41.%d", host+1) }

// serve listens at the same port of every host.
func (w *repeatingWeb) serve(t *testing.T) {
	w.port = freePort(t)
	for h := range w.hosts {
		l, err := net.Listen("tcp", fmt.Sprintf("%s:%d", w.addr(h), w.port))
		if err != nil {
			t.Fatal(err)
		}
		srv := &http.Server{
			Handler: http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) { w.page(h, rw, r) }),
		}
		var over sync.WaitGroup
		over.Go(func() { _ = srv.Serve(l) })
		t.Cleanup(func() {
			_ = srv.Close()
			over.Wait()
		})
	}
}

func (w *repeatingWeb) page(host int, rw http.ResponseWriter, r *http.Request) {
	rw.Header().Set("Content-Type", "text/html; charset=utf-8")
	var n int
	switch _, err := fmt.Sscanf(r.URL.Path, "/%d", &n); {
	case r.URL.Path == "/":
		fmt.Fprintf(rw, "<title>Start of %d</title>", host)
		for i := range w.pages {
			fmt.Fprintf(rw, "<a href=/%d>%d</a> ", i, i)
		}
	case err != nil || n < 0 || n >= w.pages:
		rw.WriteHeader(http.StatusNotFound)
		fmt.Fprintf(rw, "nothing at %s of %d", r.URL.Path, host)
	default:
		fmt.Fprint(rw, w.bodies[host*w.pages+n])
	}
}

// Three nodes store each payload once, though two pages in five repeat one that any
// of them may have; every other page becomes a revisit that names the stored one.
func TestDuplicatesAreStoredOnce(t *testing.T) {
	needsProcesses(t)
	t.Parallel()
	w := newRepeatingWeb(60, 40)
	w.serve(t)
	c := newCluster(t, "--allow-net", "127.0.0.0/8", "--delay", "5ms", "--ip-delay", "0", "--fetchers",
		"64")
	c.addReady(3)
	c.converged(time.Minute)
	var seeds []string
	for h := range w.hosts {
		seeds = append(seeds, fmt.Sprintf("http://%s:%d/", w.addr(h), w.port))
	}
	view := c.view()
	c.nodes[0].seed(seeds...)
	c.finished(4 * time.Minute)
	moved := c.moves(view, 0, 0) > 0 // then a page may be fetched, and kept, twice

	stored, revisits := map[string]int{}, map[string]string{}
	ids := map[string]string{} // digest by record id
	var count int
	for _, n := range c.nodes {
		for _, p := range pages(readWARC(t, n.dir)) {
			count++
			if p.kind == "revisit" {
				revisits[p.url] = p.refersTo
				continue
			}
			stored[p.digest]++
			ids[p.url] = p.digest
		}
	}
	digests := map[string]string{}
	for _, n := range c.nodes {
		for _, p := range pages(readWARC(t, n.dir)) {
			digests[p.url] = p.digest
		}
	}
	twice := 0
	for _, n := range stored {
		twice += n - 1
	}
	want := w.distinct + w.hosts // and the start pages
	if all := w.hosts * (w.pages + 1); len(digests) != all || count != all && !moved ||
		len(stored) != want {
		t.Errorf("%d pages with %d payloads, want %d with %d", count, len(stored), w.hosts*(w.pages+1),
			want)
	}
	for u, to := range revisits {
		if ids[to] == "" || ids[to] != digests[u] {
			t.Errorf("%s refers to %q, which has another payload", u, to)
		}
	}
	var s status
	until(t, 30*time.Second, func() string { // what a node counts reaches the others a heartbeat later
		var err error
		if s, err = c.nodes[1].status(); err != nil ||
			s.Output.ContentDuplicatesTotal != int64(len(revisits)) {
			return fmt.Sprintf("the status counts %d duplicates, there are %d revisits; %v",
				s.Output.ContentDuplicatesTotal, len(revisits), err)
		}
		return ""
	})
	t.Logf("%d pages, %d payloads, %d stored twice or more, %d revisits", count, len(stored), twice,
		len(revisits))
	// A question waits for half a second: how many have no answer depends on the machine, but
	// nothing is stored again that was answered.
	if int64(twice) > s.Output.ContentUnansweredTotal || len(revisits) == 0 {
		t.Errorf("%d of %d bodies were stored again; %d questions had no answer in time", twice, count,
			s.Output.ContentUnansweredTotal)
	}
}
