package scheduler

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"crawlnode/crawl"
)

// TestBlock: a host is left alone until its block ends, whether it is in memory, being read or on
// disk, and given out again when the block is lifted.
func TestBlock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.settings.Delay = time.Second
		r.disk.loadDelay = 100 * time.Millisecond
		r.disk.add(1, "a.test", 3, 3)
		r.start(0)
		defer r.end()
		block := func(wait time.Duration) {
			t.Helper()
			until := time.Time{}
			if wait > 0 {
				until = time.Now().Add(wait)
			}
			if err := r.d.Block(r.ctx, 1, "a.test", until); err != nil {
				t.Fatal(err)
			}
		}
		if err := r.d.Block(r.ctx, 1, "none.test", time.Now()); !errors.Is(err, crawl.ErrUnknownHost) {
			t.Errorf("an unknown host: %v", err)
		}
		visit := func(least, most time.Duration) {
			t.Helper()
			asked := time.Now()
			v, err := r.d.Next(r.ctx)
			if err != nil {
				t.Fatal(err)
			}
			if d := time.Since(asked); d < least || d > most {
				t.Errorf("it was handed out after %v, want %v to %v", d, least, most)
			}
			answer := crawl.Response{Kind: crawl.Fetched, Requested: true, Took: time.Millisecond}
			r.d.Release(v, answer)
			if err := r.finish(v, answer); err != nil {
				t.Error(err)
			}
		}
		block(20 * time.Second) // on disk
		r.d.Hold(1, 7, time.Now())
		visit(20*time.Second, 40*time.Second)
		block(time.Hour) // in memory
		time.AfterFunc(10*time.Second, func() { block(0) })
		visit(10*time.Second, 30*time.Second)
		r.d.Drop(1) // out of memory
		r.d.Hold(1, 8, time.Now())
		block(time.Minute) // being read, maybe
		visit(time.Minute, 90*time.Second)
	})
}

// TestSetDelay: a host whose delay is set waits so long from then on, and after each request,
// whether it is in memory or on disk; a smaller one ends that.
func TestSetDelay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.settings.Delay = time.Second
		r.disk.add(1, "a.test", 3, 5)
		r.start(0)
		defer r.end()
		if err := r.d.SetDelay(r.ctx, 1, "none.test", time.Minute); !errors.Is(err,
			crawl.ErrUnknownHost) {
			t.Errorf("an unknown host: %v", err)
		}
		visit := func(least, most time.Duration) {
			t.Helper()
			asked := time.Now()
			v, err := r.d.Next(r.ctx)
			if err != nil {
				t.Fatal(err)
			}
			if d := time.Since(asked); d < least || d > most {
				t.Errorf("it was handed out after %v, want %v to %v", d, least, most)
			}
			answer := crawl.Response{Kind: crawl.Fetched, Requested: true, Took: time.Millisecond}
			r.d.Release(v, answer)
			if err := r.finish(v, answer); err != nil {
				t.Error(err)
			}
		}
		set := func(d time.Duration) {
			t.Helper()
			if err := r.d.SetDelay(r.ctx, 1, "a.test", d); err != nil {
				t.Fatal(err)
			}
		}
		r.d.Hold(1, 7, time.Time{})
		visit(0, 5*time.Second)
		set(20 * time.Second)
		visit(20*time.Second, 25*time.Second)
		visit(20*time.Second, 25*time.Second)
		set(3 * time.Second)
		visit(time.Second, 10*time.Second)
		set(0)
		visit(time.Second, 5*time.Second)
	})
}
