package frontier

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"crawlnode/crawl"
	"crawlnode/frontier/commit"
	"crawlnode/frontier/filters"
	"crawlnode/frontier/storage"
	"crawlnode/frontier/storage/storagetest"
)

// filterOf reads a partition's filter between two groups.
func (r *running) filterOf(p crawl.Partition) (fl *filters.URLs) {
	r.t.Helper()
	r.must(r.change(r.t.Context(), func(g group) error {
		fl = g.part(p).Live.Filter
		return nil
	}))
	return fl
}

// waitFilter waits until a partition has a filter that satisfies ok.
func (r *running) waitFilter(p crawl.Partition, ok func(*filters.URLs) bool) *filters.URLs {
	r.t.Helper()
	for deadline := time.Now().Add(15 * time.Minute); ; time.Sleep(2 * time.Millisecond) {
		if fl := r.filterOf(p); fl != nil && ok(fl) {
			return fl
		}
		if time.Now().After(deadline) {
			r.t.Fatalf("partition %d gets no filter", p)
		}
	}
}

// manyHosts is the number of hosts of manyLinks.
const manyHosts = 9

func manyLinks(from, n int) []crawl.Routed {
	var out []crawl.Routed
	for i := range n {
		out = append(out, link(fmt.Sprintf("http://h%d.p0.test/%d", (from+i)%manyHosts, from+i)))
	}
	return out
}

// TestFilterGrows fills a filter beyond its design, while it is being used.
func TestFilterGrows(t *testing.T) {
	storagetest.OnStores(t, func(t *testing.T, kv storage.KV, _ func() storage.KV) {
		r := startHolding(t, kv, 1, commit.Options{CacheEntries: 8})
		small := r.filterOf(0).Capacity
		n := 0
		for ; int64(n) < 3*small; n += 100 {
			r.add(manyLinks(n, 100)...)
		}
		fl := r.waitFilter(0, func(f *filters.URLs) bool { return f.Capacity > small && !f.Full() })
		if fl.Count != int64(n+manyHosts) {
			t.Errorf("the filter has %d URLs and hosts, want %d", fl.Count, n+manyHosts)
		}
		for i := 0; i < n; i += 100 {
			for j, a := range r.add(manyLinks(i, 100)...) {
				if a != Known {
					t.Fatalf("URL %d is %v", i+j, a)
				}
			}
		}
		r.check()
	})
}

// TestFilterLearnsWhileItIsMade adds URLs between the snapshot of a rebuild and
// its end: the new filter must not call them new.
func TestFilterLearnsWhileItIsMade(t *testing.T) {
	t.Parallel()
	kv, reopen := storagetest.OpenMemory(t)
	r := startHolding(t, kv, 1, commit.Options{})
	r.add(manyLinks(0, 50)...)
	_ = r.stop()
	g := &gated{KV: reopen(), arrived: make(chan struct{}), gate: make(chan struct{})}
	r = start(t, g, commit.Options{CacheEntries: 4})
	open := sync.OnceFunc(func() { close(g.gate) })
	t.Cleanup(open) // before the one of start, which waits for the walk
	<-g.arrived
	r.add(manyLinks(50, 50)...)
	for i, a := range r.add(manyLinks(0, 100)...) { // without a filter
		if a != Known {
			t.Fatalf("URL %d is %v", i, a)
		}
	}
	open()
	r.waitFilter(0, func(f *filters.URLs) bool { return f.Count == 100+manyHosts })
	for i, a := range r.add(manyLinks(0, 100)...) {
		if a != Known {
			t.Fatalf("URL %d is %v", i, a)
		}
	}
	r.check()
}

// TestFiltersAreSavedOnce checks that a clean stop saves the filters, that they
// are used once, and never after a crash.
func TestFiltersAreSavedOnce(t *testing.T) {
	t.Parallel()
	kv, reopen := storagetest.OpenMemory(t)
	o := commit.Options{BloomDir: t.TempDir(), CacheEntries: 8}
	path := filepath.Join(o.BloomDir, filters.FileName)
	r := startHolding(t, kv, 2, o)
	r.add(manyLinks(0, 300)...)
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	saved, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	r = start(t, reopen(), o)
	if fl := r.filterOf(0); fl == nil || fl.Count != 300+manyHosts {
		t.Fatalf("filter after a clean stop: %+v", fl)
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Fatalf("the file is still there: %v", err)
	}
	for _, a := range r.add(manyLinks(0, 300)...) {
		if a != Known {
			t.Fatalf("a known URL is %v", a)
		}
	}
	// A stale file, as if its removal had been lost: it says new of a URL that
	// is known, and must not be used.
	r.add(link("http://h1.p0.test/later"))
	_ = r.stop()
	if err := os.WriteFile(path, saved, 0o600); err != nil {
		t.Fatal(err)
	}
	r = start(t, reopen(), o)
	if got := r.add(link("http://h1.p0.test/later")); got[0] != Known {
		t.Fatalf("with a stale filter a known URL is %v", got)
	}
	r.waitFilter(0, func(f *filters.URLs) bool { return f.Count == 301+manyHosts })
	r.check()
}
