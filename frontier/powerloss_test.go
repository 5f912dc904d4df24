package frontier

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"crawlnode/crawl"
	"crawlnode/frontier/commit"
	"crawlnode/frontier/layout"
	"crawlnode/frontier/storage"
)

// After a loss of power every partition is unsure, also after a later kill; a fresh
// copy, a holder who goes on from exactly here, and a promotion end that.
func TestUnsure(t *testing.T) {
	t.Parallel()
	m := storage.NewMemory()
	r := startHolding(t, m, 3, commit.Options{})
	r.become(1, layout.Released)
	r.become(1, layout.Copy)
	r.must(m.Sync())
	m = m.Crash()
	r = r.crash(func() storage.KV { return m }, commit.Options{})
	unsure := func(want ...crawl.Partition) {
		t.Helper()
		is := map[crawl.Partition]bool{}
		for _, p := range want {
			is[p] = true
		}
		for _, meta := range r.Metas() {
			if meta.Unsure != is[meta.Partition] {
				t.Fatalf("partition %d: unsure is %t, want %t", meta.Partition, meta.Unsure, is[meta.Partition])
			}
		}
	}
	unsure()
	m = m.PowerLoss()
	r = r.crash(func() storage.KV { return m }, commit.Options{})
	unsure(0, 1, 2)
	m = m.Crash()
	r = r.crash(func() storage.KV { return m }, commit.Options{})
	unsure(0, 1, 2)
	r.must(r.AdoptCopy(t.Context(), 1, 1, 0, 2))
	unsure(0, 2)
	for p := range crawl.Partition(3) {
		if p != 1 {
			r.become(p, layout.Released)
			r.become(p, layout.Copy)
		}
	}
	unsure(0, 2)
	r.must(r.promote(0, 5))
	unsure(2)
}

// TestUnsureAfterReopening: the store on disk notes under which run of the machine it is
// open, and every partition is unsure when that run is over.
func TestUnsureAfterReopening(t *testing.T) {
	t.Parallel()
	if storage.MachineRun() == "" && runtime.GOOS != "linux" {
		t.Skip("this system does not name its runs")
	}
	dir := t.TempDir()
	kv, err := storage.OpenBadger(filepath.Join(dir, "store"), storage.BadgerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	r := startHolding(t, kv, 1, commit.Options{})
	file := filepath.Join(dir, "store", "MACHINE")
	if b, _ := os.ReadFile(file); string(b) != storage.MachineRun()+"\n" {
		t.Fatalf("an open store says %q", b)
	}
	r.must(r.stop())
	r.must(kv.Close())
	if b, _ := os.ReadFile(file); string(b) != "closed\n" {
		t.Fatalf("a closed store says %q", b)
	}
	// Whoever starts with --sync after the power cut does not make it undone.
	if err := os.WriteFile(file, []byte("another-run\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if kv, err = storage.OpenBadger(filepath.Join(dir, "store"), storage.BadgerOptions{
		Sync: true,
	}); err != nil {
		t.Fatal(err)
	}
	if !kv.(interface{ LostPower() bool }).LostPower() {
		t.Error("with --sync the loss of power is not seen")
	}
	r = start(t, kv, commit.Options{})
	if m, _ := r.Meta(0); !m.Unsure {
		t.Errorf("partition 0 is %+v", m)
	}
	if b, _ := os.ReadFile(file); string(b) != storage.MachineRun()+" synced\n" {
		t.Fatalf("a store that syncs each write says %q", b)
	}
	r.must(r.stop())
	r.must(kv.Close())
}
