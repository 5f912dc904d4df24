package frontier

import (
	"slices"
	"strings"
	"testing"
	"time"

	"crawlnode/crawl"
	"crawlnode/frontier/commit"
	"crawlnode/frontier/layout"
	"crawlnode/frontier/storage"
	"crawlnode/frontier/storage/storagetest"
)

const inlineURL = "http://h1.p0.test/only?a=1"

// inlineOf is the only URL of h1.p0.test as it stands in the host's entry, and how many
// keys the host has in the tables of records and queues.
func (r *running) inlineOf() (s *layout.InlineURL, keys int) {
	r.t.Helper()
	v, err := r.w.Read(0)
	r.must(err)
	defer v.Close()
	e, err := v.Host("h1.p0.test")
	r.must(err)
	for _, table := range []byte{layout.TableRecords, layout.TableQueue} {
		r.must(v.Each(r.t.Context(), table, func(storage.Iterator) error { keys++; return nil }))
	}
	return e.Inline, keys
}

// A host's only URL stands in the host's entry, and whoever reads sees no difference.
func TestInlineURL(t *testing.T) {
	storagetest.OnStores(t, func(t *testing.T, kv storage.KV, reopen func() storage.KV) {
		r := startHolding(t, kv, 1, commit.Options{})
		r.add(link(inlineURL))
		if s, keys := r.inlineOf(); s == nil || keys != 0 {
			t.Fatalf("%+v, and %d keys", s, keys)
		}
		r = r.crash(reopen, commit.Options{}) // its filter is made anew
		want := crawl.Item{URL: mustURL(inlineURL), Band: 1, Seq: 1, Depth: 1}
		if rec := r.record(inlineURL); rec.Item != want || rec.State != crawl.Queued {
			t.Errorf("record %+v", rec)
		}
		q := r.load(0, "h1.p0.test", 5)
		if len(q.Items) != 1 || q.Items[0] != want || q.More || q.Queued != 1 || q.Next[1] != 2 {
			t.Errorf("queue %+v", q)
		}
		if again, err := r.Load(0, "h1.p0.test", q.Next, 5); err != nil || len(again.Items) != 0 ||
			again.More {
			t.Errorf("loaded twice: %+v, %v", again, err)
		}
		if a := r.add(link(inlineURL), link(inlineURL)); !slices.Equal(a, []Admission{Known, Known}) {
			t.Errorf("%v", a)
		}
		r.check()
		r.must(r.Complete(t.Context(), Completion{
			Lease:   r.lease(0, "h1.p0.test"),
			Outcome: fetched,
			Own:     []crawl.Routed{link(inlineURL)},
		}))
		if s, keys := r.inlineOf(); s != nil || keys != 1 {
			t.Errorf("completed: %+v, and %d keys", s, keys)
		}
		if rec := r.record(inlineURL); rec.State != crawl.Done {
			t.Errorf("completed: %+v", rec)
		}
		if a := r.add(link(inlineURL)); a[0] != Known {
			t.Errorf("a completed URL is %v", a[0])
		}
		r.check()
	})
}

// What gives the only URL of a host a record and a place in the queue.
func TestInlineURLIsSplit(t *testing.T) {
	t.Parallel()
	lower, seed := link(inlineURL), link(inlineURL)
	lower.Target.Depth = 0
	seed.Target.Depth, seed.Target.Via = 0, crawl.ViaSeed
	for name, do := range map[string]func(r *running){
		"second URL": func(r *running) { r.add(link("http://h1.p0.test/second")) },
		"two at once": func(r *running) {
			r.add(link("http://h1.p0.test/second"), link(inlineURL), link("http://h1.p0.test/second"))
		},
		"lower depth": func(r *running) { r.add(lower, seed) },
		"failed": func(r *running) {
			r.must(r.Complete(r.t.Context(),
				Completion{Lease: r.lease(0, "h1.p0.test"), RetryAt: time.Now().Add(time.Minute),
					Outcome: crawl.Outcome{Kind: crawl.URLFailed, Category: crawl.ErrTimeout, Reason: "timeout"}}))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			kv, reopen := storagetest.OpenMemory(t)
			r := startHolding(t, kv, 1, commit.Options{})
			r.add(link(inlineURL))
			do(r)
			s, keys := r.inlineOf()
			if s != nil || keys != int(2*r.Totals().Seen) {
				t.Errorf("%+v, and %d keys", s, keys)
			}
			rec := r.record(inlineURL)
			if rec.State != crawl.Queued || rec.Seq != 1 ||
				name == "lower depth" && (rec.Depth != 0 || rec.Via != crawl.ViaSeed) ||
				name == "failed" && (rec.Attempts != 1 || rec.NotBefore.IsZero() || rec.Reason != "timeout") {
				t.Errorf("record %+v", rec)
			}
			r.check()
			r = r.crash(reopen, commit.Options{})
			r.check()
			if q := r.load(0, "h1.p0.test", 5); len(q.Items) != int(r.Totals().Seen) ||
				q.Items[0].URL != rec.URL {
				t.Errorf("queue %+v", q)
			}
		})
	}
}

// A URL that is too long to stand in its host's entry, one of a host that is given up,
// and one that leaves memory.
func TestInlineURLElsewhere(t *testing.T) {
	t.Parallel()
	r := startHolding(t, storage.NewMemory(), 1, commit.Options{})
	long := "http://h2.p0.test/" + strings.Repeat("x", layout.MaxInline)
	r.add(link(long), link(inlineURL))
	if _, keys := r.inlineOf(); keys != 2 {
		t.Errorf("%d keys for a long URL", keys)
	}
	state := crawl.HostState{Requests: 1, Failures: 2}
	r.must(r.Park(t.Context(), []Parked{{Partition: 0, Host: "h1.p0.test", State: state},
		{Partition: 0, Host: "h2.p0.test", State: state}}))
	if s, keys := r.inlineOf(); s == nil || keys != 2 {
		t.Errorf("parked: %+v, and %d keys", s, keys)
	}
	r.check()
	for _, host := range []crawl.Host{"h1.p0.test", "h2.p0.test"} {
		if n, err := r.FailHost(t.Context(), 0, host, "host_dead"); n != 1 || err != nil {
			t.Errorf("%s: %d URLs failed, %v", host, n, err)
		}
	}
	for _, raw := range []string{inlineURL, long} {
		if rec := r.record(raw); rec.State != crawl.Failed || rec.Reason != "host_dead" {
			t.Errorf("%+v", rec)
		}
	}
	again := link(inlineURL)
	again.Target.Again = true
	if a := r.add(again); a[0] != Added {
		t.Errorf("asked for again: %v", a[0])
	}
	r.check()
}

// A replica gets the only URL of a host with the host, and goes on with it as holder.
func TestInlineURLIsCopied(t *testing.T) {
	t.Parallel()
	r := startHolding(t, storage.NewMemory(), 1, commit.Options{})
	r.add(link(inlineURL))
	replica := start(t, storage.NewMemory(), commit.Options{})
	tail := replica.replicate(r, 0)
	r.add(link("http://h2.p0.test/only"))
	replica.applyAll(tail.take())
	replica.must(replica.promote(0, 2))
	replica.check()
	if s, keys := replica.inlineOf(); s == nil || keys != 0 {
		t.Errorf("%+v, and %d keys", s, keys)
	}
	if a := replica.add(link(inlineURL), link("http://h2.p0.test/only"),
		link("http://h2.p0.test/new")); !slices.Equal(a, []Admission{Known, Known, Added}) {
		t.Errorf("%v", a)
	}
	replica.check()
}

// The books of a partition that are lost are made of what its keys say, host entries as well.
func TestInlineURLIsRecounted(t *testing.T) {
	t.Parallel()
	r := startHolding(t, storage.NewMemory(), 1, commit.Options{})
	r.add(link(inlineURL), link("http://h2.p0.test/a"), link("http://h2.p0.test/b"))
	v, err := r.w.Read(0)
	r.must(err)
	defer v.Close()
	m, err := v.Recount()
	if want := r.Totals(); err != nil || m.Counters.Seen != want.Seen ||
		m.Counters.Queued != want.Queued || m.Counters.Hosts != want.Hosts {
		t.Errorf("%+v, want %+v, %v", m.Counters, want, err)
	}
}
