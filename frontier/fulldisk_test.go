package frontier

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"crawlnode/crawl"
	"crawlnode/frontier/commit"
	"crawlnode/frontier/layout"
	"crawlnode/frontier/storage"
	"crawlnode/frontier/storage/storagetest"
)

// TestFullDisk: while the disk is full nothing that needs space is acknowledged, and
// partitions change hands all the same. It survives kill -9, and what waits goes on
// when there is space.
//
//race:meets
func TestFullDisk(t *testing.T) {
	var full atomic.Bool // of the store on disk
	free := func(string) (int64, error) {
		if full.Load() {
			return 0, nil
		}
		return storage.ReserveBytes, nil
	}
	storagetest.OnStores(t, func(t *testing.T, kv storage.KV, reopen func() storage.KV) {
		set := func(kv storage.KV, on bool) {
			if m, ok := kv.(*storage.Memory); ok {
				m.SetTrouble(storage.Trouble{Full: on})
			} else {
				full.Store(on)
			}
		}
		f := start(t, kv, commit.Options{})
		ctx := t.Context()
		if err := f.Found(ctx, []crawl.Partition{1, 2}, 3); err != nil {
			t.Fatal(err)
		}
		set(kv, true)
		hurried, cancel := context.WithTimeout(ctx, 3*storage.SpaceAgain)
		defer cancel()
		add := func(ctx context.Context) error {
			_, err := f.Add(ctx, []crawl.Routed{link("http://h1.p1.test/")})
			return err
		}
		if err := add(hurried); !errors.Is(err, storage.ErrNoSpace) ||
			!errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("without space an addition ended with %v", err)
		}
		waits := make(chan error, 1)
		go func() { waits <- add(ctx) }()
		if err := f.Freeze(ctx, 2); err != nil {
			t.Fatal(err)
		}
		release := func(m *layout.Meta) error {
			m.State, m.To, m.View = layout.Released, "x", 4
			return nil
		}
		if err := f.Transition(ctx, 2, release); err != nil {
			t.Fatalf("a full disk keeps a partition from being released: %v", err)
		}
		set9 := layout.SetRecord{Partition: 2, Epoch: 3, Version: 9, Members: []crawl.NodeID{"x"}}
		if err := f.PutSets(ctx, []layout.SetRecord{set9}); err != nil {
			t.Fatalf("a full disk keeps a set from being recorded: %v", err)
		}
		if err := f.Found(hurried, []crawl.Partition{7}, 4); err == nil {
			t.Error("a partition was begun anew without space for it")
		}
		select {
		case err := <-waits:
			t.Fatalf("an addition went on without space: %v", err)
		default:
		}
		set(kv, false)
		if err := <-waits; err != nil {
			t.Fatalf("with space again: %v", err)
		}
		set(kv, true)
		if err := f.Transition(ctx, 2,
			func(m *layout.Meta) error {
				m.State, m.To, m.View = layout.Copy, "", 0
				return nil
			}); err != nil {
			t.Fatal(err)
		}
		f = f.crash(func() storage.KV {
			set(kv, false)
			return reopen()
		}, commit.Options{})
		if m, _ := f.Meta(2); m.State != layout.Copy || m.Suspect {
			t.Errorf("after a kill partition 2 is %+v", m)
		}
		if r, _ := f.Set(2); r.Version != 9 {
			t.Errorf("after a kill the set is %+v", r)
		}
		if m, _ := f.Meta(1); m.State != layout.Holder || m.Counters.Seen != 1 {
			t.Errorf("after a kill partition 1 is %+v", m)
		}
	}, func(o *storage.BadgerOptions) { o.FreeSpace = free })
}
