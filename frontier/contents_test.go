package frontier

import (
	"encoding/binary"
	"errors"
	"fmt"
	"testing"

	"crawlnode/crawl"
	"crawlnode/frontier/commit"
	"crawlnode/frontier/layout"
	"crawlnode/frontier/storage"
	"crawlnode/frontier/storage/storagetest"
)

// payload is the n-th of a partition, in the order in which hashes would come.
func payload(p crawl.Partition, n int) Content {
	c := Content{Partition: p, Original: crawl.Original{
		Record:    [16]byte{byte(n)},
		Node:      "n1",
		URL:       fmt.Sprintf("http://h1.p0.test/%d", n),
		FetchedAt: day,
	}}
	binary.BigEndian.PutUint64(c.Digest[:], uint64(n+1)*0x9e3779b97f4a7c15)
	return c
}

// note adds payloads, some of them known, some of a partition that is not held.
func (m *model) note() {
	var cs []Content
	for range m.rng.IntN(8) {
		cs = append(cs, payload(crawl.Partition(m.rng.IntN(4)), m.rng.IntN(100)))
	}
	m.r.must(m.r.NoteContents(m.t.Context(), cs))
	m.noted = append(m.noted, cs...)
	for range min(len(m.noted), 8) {
		cs = append(cs, m.noted[m.rng.IntN(len(m.noted))])
	}
	for _, c := range cs {
		o, known, err := m.r.Content(c.Partition, c.Digest)
		if m.current[c.Partition] == 0 {
			if !errors.Is(err, commit.ErrNotHolder) {
				m.t.Fatalf("partition %d: %v", c.Partition, err)
			}
			continue
		}
		if m.r.must(err); !known || o != c.Original {
			m.t.Fatalf("payload %+v: %+v, %t", c, o, known)
		}
	}
}

// A partition remembers the first capture of a payload, and no more payloads than it
// may; all of it survives a crash, and goes with the partition.
func TestContents(t *testing.T) {
	storagetest.OnStores(t, func(t *testing.T, kv storage.KV, reopen func() storage.KV) {
		const most = 50
		o := commit.Options{ContentsPerPartition: most}
		r := startHolding(t, kv, 2, o)
		first := payload(1, 0)
		again := first
		again.Original.URL = "http://h2.p0.test/"
		r.must(r.NoteContents(t.Context(), []Content{first, again}))
		r.must(r.NoteContents(t.Context(), []Content{again}))
		r.add(link("http://h1.p0.test/"))
		second := payload(1, 1)
		r.must(r.Complete(t.Context(),
			Completion{Lease: r.lease(0, "h1.p0.test"), Outcome: fetched, Contents: []Content{second}}))
		r = r.crash(reopen, o)
		for _, c := range []Content{first, second} {
			if got, known, err := r.Content(1, c.Digest); err != nil || !known || got != c.Original {
				t.Fatalf("payload %x is %+v, %t, %v; want %+v", c.Digest, got, known, err, c.Original)
			}
		}
		moved := first // the same page is stored once more
		moved.Original.Record[1]++
		r.must(r.NoteContents(t.Context(), []Content{moved}))
		taken := second
		taken.Original.URL, taken.Replace = "http://h3.p0.test/", true
		r.must(r.NoteContents(t.Context(), []Content{taken}))
		for _, c := range []Content{moved, taken} {
			if got, _, err := r.Content(1, c.Digest); err != nil || got != c.Original {
				t.Fatalf("payload %x is %+v, %v; want %+v", c.Digest, got, err, c.Original)
			}
		}
		if _, known, err := r.Content(0, first.Digest); known || err != nil {
			t.Fatalf("another partition knows of it: %t, %v", known, err)
		}
		for n := range 4 * most {
			r.must(r.NoteContents(t.Context(), []Content{payload(1, n)}))
		}
		if m, _ := r.Meta(1); m.Counters.Contents != most {
			t.Fatalf("%d payloads, want %d", m.Counters.Contents, most)
		}
		known := 0
		for n := range 4 * most {
			if _, ok, err := r.Content(1, payload(1, n).Digest); err != nil {
				t.Fatal(err)
			} else if ok {
				known++
			}
		}
		if _, ok, _ := r.Content(1, payload(1, 4*most-1).Digest); known != most || !ok {
			t.Fatalf("%d payloads are known, want %d; the last one %t", known, most, ok)
		}
		r.check()
		r.must(r.Freeze(t.Context(), 1))
		r.must(r.NoteContents(t.Context(), []Content{payload(1, 9999)}))
		r.become(1, layout.Released)
		if _, _, err := r.Content(1, first.Digest); !errors.Is(err, commit.ErrNotHolder) {
			t.Fatalf("asked for what is not held: %v", err)
		}
		r.check()
	})
}

// Pages in a row that are like others send the links of their host to the end, and
// count them against its budget when it repeats itself.
func TestNearStreak(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, near, dup string
		suspicious      int64
	}{
		{"its own pages", "http://h1.p0.test:8080/x", "", 1},
		{"its own payload", "", "http://h1.p0.test/x", 1},
		{"another host's", "http://h10.p0.test/x", "", 0},
	} {
		r := startHolding(t, storage.NewMemory(), 1, commit.Options{})
		r.add(link("http://h1.p0.test/0"))
		for n := 1; n <= nearStreak+2; n++ {
			o := fetched
			o.Simhash, o.NearOf, o.DuplicateOf = 7, c.near, c.dup
			if n == nearStreak+2 {
				o.NearOf, o.DuplicateOf = "", ""
			}
			lease := r.lease(0, "h1.p0.test")
			if want := crawl.Band(1); n == nearStreak+1 {
				if want = crawl.Bands - 1; lease.Item.Band != want {
					t.Errorf("%s: after %d pages the band is %d, want %d", c.name, n, lease.Item.Band, want)
				}
			} else if lease.Item.Band != want && n <= nearStreak {
				t.Errorf("%s: after %d pages the band is %d, want %d", c.name, n, lease.Item.Band, want)
			}
			next := link(fmt.Sprintf("http://h1.p0.test/%d", n))
			next.Target.Via = crawl.ViaLink
			r.must(r.Complete(t.Context(), Completion{Lease: lease, Outcome: o, Own: []crawl.Routed{next}}))
			s, _, _, err := r.Host(0, "h1.p0.test")
			if want := n % (nearStreak + 2); err != nil || s.NearStreak != want {
				t.Fatalf("%s: a streak of %d after %d pages, want %d (%v)", c.name, s.NearStreak, n, want, err)
			}
			if want := c.suspicious *
				int64(max(0, min(n, nearStreak+1)-nearStreak+1)); s.Suspicious != want {
				t.Errorf("%s: %d URLs count as a trap after %d pages, want %d", c.name, s.Suspicious, n, want)
			}
		}
		r.check()
	}
}

func TestHostOfText(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"http://a.test/": "a.test", "https://a.test:8443/x?y": "a.test", "http://[::1]:80/": "[::1]",
		"http://[::1]/": "[::1]", "http://a.test?x:1": "a.test",
	} {
		if got := hostOfText(url); got != want {
			t.Errorf("%s: %q, want %q", url, got, want)
		}
	}
}
