package frontier

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"crawlnode/crawl"
	"crawlnode/frontier/commit"
	"crawlnode/frontier/layout"
	"crawlnode/frontier/storage"
	"crawlnode/frontier/storage/storagetest"
)

// deaf is a KV whose snapshots cannot be read while it is broken.
type deaf struct {
	storage.KV
	broken atomic.Bool
	asked  atomic.Int64
}

var errDeaf = errors.New("injected read error")

func (d *deaf) Snapshot() (storage.Snapshot, error) {
	if d.broken.Load() {
		d.asked.Add(1)
		return nil, errDeaf
	}
	return d.KV.Snapshot()
}

// giveUp makes a copy of a partition with some keys, and abandons it.
func (r *running) giveUp(p crawl.Partition, keys int) {
	i, err := r.BeginImport(r.t.Context(), p)
	r.must(err)
	es := make([]storage.Entry, keys)
	for k := range es {
		value := make([]byte, 64)
		for n := range value {
			value[n] = byte(rand.Uint32())
		}
		es[k] = storage.Entry{Key: fmt.Appendf(nil, "u%032x", rand.Uint64()), Value: value}
	}
	r.must(i.Put(r.t.Context(), es))
	r.must(i.Abort(r.t.Context()))
}

// TestSweepAfterError deletes what was dead when the store could not be read for a
// while: once this ended the deletion for good.
func TestSweepAfterError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kv := &deaf{KV: storage.NewMemory()}
		r := startHolding(t, kv, 1, commit.Options{})
		kv.broken.Store(true)
		r.giveUp(3, 10)
		r.giveUp(4, 10)
		time.Sleep(10 * time.Second)
		if d := r.Dead(); d.Generations != 2 || d.Bytes == 0 || !errors.Is(d.Err, errDeaf) ||
			time.Since(d.Since) < 9*time.Second {
			t.Errorf("while the store cannot be read: %+v", d)
		}
		if n := kv.asked.Load(); n < 3 || n > 8 {
			t.Errorf("it was tried %d times in ten seconds", n)
		}
		kv.broken.Store(false)
		time.Sleep(2 * time.Minute)
		if d := r.Dead(); d.Generations != 0 || d.Bytes != 0 || d.Err != nil {
			t.Errorf("afterwards: %+v", d)
		}
		if n := len(storagetest.Dump(t, kv, string(layout.AppendPrefix(nil, 3, 1)))) +
			len(storagetest.Dump(t, kv, string(layout.AppendPrefix(nil, 4, 1)))); n > 0 {
			t.Errorf("%d keys are left", n)
		}
		_ = r.stop()
	})
}

// crowded is a store on which nothing may wait to be deleted.
type crowded struct{ *deaf }

func (*crowded) Compact(int64) bool { return false }
func (*crowded) MostDead() int64    { return 0 }

// TestImportWaitsForSweep lets no copy begin while too much waits to be deleted.
func TestImportWaitsForSweep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kv := &crowded{&deaf{KV: storage.NewMemory()}}
		r := startHolding(t, kv, 1, commit.Options{})
		kv.broken.Store(true)
		r.giveUp(3, 10)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := r.BeginImport(ctx, 4); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("with %d bytes that wait to be deleted: %v", r.Dead().Bytes, err)
		}
		time.AfterFunc(time.Second, func() { kv.broken.Store(false) })
		if _, err := r.BeginImport(t.Context(), 4); err != nil {
			t.Error(err)
		}
		_ = r.stop()
	})
}

// compacting is what compacts a store.
type compacting interface {
	Compact(deleted int64) bool
	MostDead() int64
}

// compacted is a KV that says when it has begun to compact.
type compacted struct {
	storage.KV
	compacting
	once  sync.Once
	begun chan struct{}
}

func (c *compacted) Compact(deleted int64) bool {
	ok := c.compacting.Compact(deleted)
	if ok {
		c.once.Do(func() { close(c.begun) })
	}
	return ok
}

// TestNearlyFullDisk lets no copy begin before what is dead is gone, and gets the room of
// little back.
func TestNearlyFullDisk(t *testing.T) {
	dir := t.TempDir()
	kv, err := storage.OpenBadger(dir,
		storage.BadgerOptions{FreeSpace: func(string) (int64, error) { return 200 << 20, nil }})
	if err != nil {
		t.Fatal(err)
	}
	watched := &compacted{KV: kv, compacting: kv.(compacting), begun: make(chan struct{})}
	r := startHolding(t, watched, 1, commit.Options{})
	for range 3 {
		r.giveUp(3, 5_000)
		i, err := r.BeginImport(t.Context(), 4)
		r.must(err)
		if d := r.Dead(); d.Bytes != 0 {
			t.Errorf("a copy begins while %d bytes wait to be deleted", d.Bytes)
		}
		r.must(i.Abort(t.Context()))
	}
	select {
	case <-watched.begun:
	case <-time.After(time.Minute):
		t.Fatal("nothing was compacted")
	}
	_ = r.stop()
	if err := kv.Close(); err != nil {
		t.Error(err)
	}
}

// TestDiskReturns gives many copies up, one after the other, and looks at the disk: it
// comes back to what the store holds.
func TestDiskReturns(t *testing.T) {
	if testing.Short() {
		t.Skip("on request: it writes 100 MB")
	}
	dir := t.TempDir()
	kv, err := storage.OpenBadger(dir, storage.BadgerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	r := startHolding(t, kv, 1, commit.Options{})
	empty, most := diskUsage(t, dir), int64(0) // a new store has the blocks of its logs
	for round := range 40 {
		r.giveUp(crawl.Partition(3+round%10), 20_000)
		most = max(most, diskUsage(t, dir))
	}
	if most < empty+60<<20 {
		t.Fatalf("the disk grew to %d MB only: nothing to give back", most>>20)
	}
	left, end := most, time.Now().Add(4*time.Minute)
	for left > empty+24<<20 && time.Now().Before(end) {
		time.Sleep(100 * time.Millisecond)
		left = diskUsage(t, dir)
	}
	t.Logf("%d MB at first, %d MB at most, %d MB in the end", empty>>20, most>>20, left>>20)
	if left > empty+24<<20 {
		t.Errorf("%d MB of %d are left on disk: %+v", left>>20, most>>20, r.Dead())
	}
	_ = r.stop()
	if err := kv.Close(); err != nil {
		t.Error(err)
	}
}

// diskUsage is what the files in a folder take on disk.
func diskUsage(t *testing.T, dir string) (bytes int64) {
	t.Helper()
	err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if errors.Is(err, os.ErrNotExist) {
			return nil // a table that was compacted away
		}
		if st, ok := info.Sys().(*syscall.Stat_t); ok && err == nil {
			bytes += st.Blocks * 512
		}
		return err
	})
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return bytes
}
