package frontier

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"crawlnode/crawl"
	"crawlnode/frontier/commit"
	"crawlnode/frontier/layout"
	"crawlnode/frontier/reader"
	"crawlnode/frontier/storage"
	"crawlnode/frontier/storage/storagetest"
)

// promises are what a frontier acknowledged before it crashed.
type promises struct {
	added  []crawl.Routed
	done   []Completion
	failed []crawl.Host
	begun  *Completion // not acknowledged: all of it is there, or nothing
	state  map[crawl.Partition]layout.State
}

// story is a run over everything that writes. It ends with the first error,
// which the crash makes, and returns what was acknowledged until then.
func story(ctx context.Context, f *Frontier) (p promises, err error) {
	p.state = map[crawl.Partition]layout.State{}
	if err = f.Found(ctx, []crawl.Partition{0, 1, 2}, 1); err != nil {
		return p, err
	}
	for part := range crawl.Partition(3) {
		p.state[part] = layout.Holder
	}
	for round := range 4 {
		var links []crawl.Routed
		for i := range 6 {
			l := link(fmt.Sprintf("http://h%d.p%d.test/%d", i%3, i%2, round*10+i))
			l.Target.Band = crawl.Band(i % crawl.Bands)
			links = append(links, l)
		}
		as, err := f.Add(ctx, links)
		if err != nil {
			return p, err
		}
		for i, a := range as {
			if a != NotHolder {
				p.added = append(p.added, links[i])
			}
		}
		if err := p.visit(ctx, f, round); err != nil {
			return p, err
		}
	}
	if err := f.Park(ctx, []Parked{
		{Partition: 0, Host: "h1.p1.test", State: crawl.HostState{}},
		{Partition: 0, Host: "h0.p0.test", State: crawl.HostState{NotBefore: day}},
	}); err != nil && !errors.Is(err, commit.ErrNotHolder) {
		return p, err
	}
	if _, err = f.FailHost(ctx, 0, "h2.p0.test", "dead"); err != nil {
		return p, err
	}
	p.failed = append(p.failed, "h2.p0.test")
	if out, err := f.Outbox(0, layout.OutboxKey{}, 2); err != nil {
		return p, err
	} else if err := f.AckOutbox(ctx, out); err != nil {
		return p, err
	}
	return p, p.move(ctx, f)
}

// visit completes two visits, one that is done and one that is tried again.
func (p *promises) visit(ctx context.Context, f *Frontier, round int) error {
	for i, kind := range []crawl.Kind{crawl.Fetched, crawl.URLFailed} {
		q, err := f.Load(0, crawl.Host(fmt.Sprintf("h%d.p0.test", i*2)), reader.Cursor{}, 1)
		if err != nil || len(q.Items) == 0 {
			return err
		}
		c := Completion{
			Lease:   crawl.Lease{Partition: 0, Epoch: 1, Host: q.Host, Item: q.Items[0]},
			Outcome: crawl.Outcome{Kind: kind, Status: 200}, RetryAt: day,
			Own: []crawl.Routed{link(fmt.Sprintf("http://h7.p1.test/%d", round)),
				link(fmt.Sprintf("http://h8.p2.test/%d", round))},
			Outbox: []crawl.Routed{link(fmt.Sprintf("http://h9.p9.test/%d", round))},
		}
		p.begun = &c
		if err := f.Complete(ctx, c); err != nil {
			return err
		}
		p.begun = nil
		p.done = append(p.done, c)
	}
	return nil
}

// move gives partition 2 away, deletes it, and takes it in again.
func (p *promises) move(ctx context.Context, f *Frontier) error {
	e, err := f.Export(ctx, 2, nil)
	if err != nil {
		return err
	}
	defer e.Close()
	var entries []storage.Entry
	if err := e.Snapshot(ctx, 1<<
		20, func(es []storage.Entry) error { entries = append(entries, es...); return nil }); err != nil {
		return err
	}
	if err := f.Freeze(ctx, 2); err != nil {
		return err
	}
	delete(p.state, 2) // until it is acknowledged either will do
	if err := f.Transition(ctx, 2,
		func(m *layout.Meta) error {
			m.State, m.To, m.View = layout.Released, "n2", 2
			return nil
		}); err != nil {
		return err
	}
	p.state[2] = layout.Released
	i, err := f.BeginImport(ctx, 2)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if err := i.Put(ctx, []storage.Entry{entry}); err != nil {
			return err
		}
	}
	delete(p.state, 2)
	if err := i.CommitCopy(ctx, 2); err != nil {
		return err
	}
	if err := f.Transition(ctx, 2,
		func(m *layout.Meta) error { m.State, m.Epoch = layout.Holder, 3; return nil }); err != nil {
		return err
	}
	p.state[2] = layout.Holder
	return nil
}

// verify checks that a frontier keeps the promises.
func (p *promises) verify(f *Frontier) error {
	if err := invariants(f); err != nil {
		return err
	}
	for part, want := range p.state {
		if m, _ := f.Meta(part); m.State != want {
			return fmt.Errorf("partition %d is %v, want %v", part, m.State, want)
		}
	}
	for _, l := range p.added {
		if _, ok, err := f.Record(l.Partition, l.Target.URL); err != nil || !ok {
			return fmt.Errorf("acknowledged URL %s: there %v, %v", l.Target.URL, ok, err)
		}
	}
	for i := range p.done {
		if whole, err := isApplied(f, &p.done[i]); err != nil || !whole {
			return fmt.Errorf("acknowledged completion of %s: %v, %v", p.done[i].Lease.Item.URL, whole, err)
		}
	}
	if p.begun != nil {
		if _, err := isApplied(f, p.begun); err != nil {
			return err
		}
	}
	for _, h := range p.failed {
		if _, queued, _, err := f.Host(0, h); err != nil || queued != [crawl.Bands]int64{} {
			return fmt.Errorf("host %s, which was given up: %v queued, %v", h, queued, err)
		}
	}
	return nil
}

// isApplied reports whether a completion was written. Half of it is an error.
func isApplied(f *Frontier, c *Completion) (bool, error) {
	rec, ok, err := f.Record(0, c.Lease.Item.URL)
	if err != nil || !ok {
		return false, fmt.Errorf("record of %s: there %v, %w", c.Lease.Item.URL, ok, err)
	}
	applied := rec.State == crawl.Done || rec.Attempts > c.Lease.Item.Attempts ||
		rec.State == crawl.Failed
	for _, l := range c.Own {
		_, ok, err := f.Record(l.Partition, l.Target.URL)
		if err != nil {
			return false, err
		}
		// The second outcome of a round brings the links of the first again.
		if !ok && applied {
			return false, fmt.Errorf("%s is %v, but its link %s is lost", rec.URL, rec.State, l.Target.URL)
		}
		if ok && !applied && c.Outcome.Kind == crawl.Fetched {
			return false, fmt.Errorf("%s is %v, but its link %s is there", rec.URL, rec.State, l.Target.URL)
		}
	}
	return applied, nil
}

// TestCrashAtEveryWrite runs the story with a crash at each of its writes, just
// before and just after the write reached the store.
func TestCrashAtEveryWrite(t *testing.T) {
	t.Parallel()
	for _, s := range storagetest.Stores {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			for at, ended := 0, false; !ended; at += crashStep(s.Name) {
				// The disk store costs more, and takes turns.
				for _, applied := range []bool{false, true} {
					if s.Name == "memory" || applied == (at%2 == 0) {
						ended = crashAt(t, s.Open, at, applied)
					}
				}
			}
		})
	}
}

// crashStep is from one write that a store crashes at to the next. With -short the store on disk
// crashes at every third one: it costs far more than the one in memory.
func crashStep(store string) int {
	if testing.Short() && store != "memory" {
		return 3
	}
	return 1
}

// crashAt runs the story until its at-th write and verifies what the next
// process finds. It reports whether the story came to its end.
func crashAt(t *testing.T, open storagetest.Opener, at int, applied bool) bool {
	kv, reopen := open(t)
	if err := kv.Write([]storage.Entry{
		{Key: layout.NodeKey(layout.NodeVersion), Value: []byte{layout.FormatVersion}}}); err != nil {
		t.Fatal(err)
	}
	f := start(t, &storagetest.Faulty{KV: kv, Left: at, Applied: applied}, commit.Options{})
	p, err := story(t.Context(), f.Frontier)
	if runErr := f.stop(); err != nil && !errors.Is(runErr, storagetest.ErrInjected) {
		t.Fatalf("write %d: the story ended with %v, Run with %v", at, err, runErr)
	}
	next := start(t, reopen(), commit.Options{})
	if err := p.verify(next.Frontier); err != nil {
		t.Fatalf("crash at write %d, applied %v: %v", at, applied, err)
	}
	// It goes on: what was refused as known, or not, is decided rightly.
	for _, l := range p.added {
		if m, _ := next.Meta(l.Partition); m.State == layout.Holder {
			if got := next.add(l); got[0] != Known {
				t.Fatalf("crash at write %d: %s is %v", at, l.Target.URL, got[0])
			}
		}
	}
	next.check()
	for _, m := range next.Metas() {
		for g := uint32(1); g < m.Generation; g++ {
			waitSwept(t, next, m.Partition, g)
		}
	}
	_ = next.stop()
	_ = next.w.KV.Close()
	return err == nil
}

// TestPowerLoss checks that what is promised to be on disk is.
func TestPowerLoss(t *testing.T) {
	t.Parallel()
	m := storage.NewMemory()
	r := startHolding(t, m, 2, commit.Options{})
	r.must(r.Transition(t.Context(), 0,
		func(m *layout.Meta) error { m.State, m.To = layout.Released, "n2"; return nil }))
	i, err := r.BeginImport(t.Context(), 5)
	r.must(err)
	r.must(i.Put(t.Context(), []storage.Entry{{
		Key:   []byte(layout.MetaKey),
		Value: layout.EncodeMeta(&layout.PartState{Meta: layout.Meta{Seq: 4}}, layout.Stamp{}),
	}}))
	r.must(i.CommitCopy(t.Context(), 6))
	r.must(r.promote(5, 7))
	r.add(link("http://h1.p1.test/lost"))
	_ = r.stop()
	r = start(t, m.PowerLoss(), commit.Options{})
	r.check()
	for p, want := range map[crawl.Partition]layout.State{
		0: layout.Released,
		1: layout.Holder,
		5: layout.Holder,
	} {
		if m, _ := r.Meta(p); m.State != want {
			t.Errorf("partition %d is %v, want %v", p, m.State, want)
		}
	}
	if c := r.Totals(); c.Seen != 0 {
		t.Errorf("what was not synced is there: %+v", c)
	}
	r.add(link("http://h1.p1.test/kept"))
	r.must(r.Sync())
	_ = r.stop()
	r = start(t, r.w.KV.(*storage.Memory).PowerLoss(), commit.Options{})
	if c := r.Totals(); c.Seen != 1 {
		t.Errorf("what was synced is lost: %+v", c)
	}
}
