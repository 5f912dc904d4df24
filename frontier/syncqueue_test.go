package frontier

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"crawlnode/crawl"
	"crawlnode/frontier/commit"
	"crawlnode/frontier/layout"
	"crawlnode/frontier/storage"
	"crawlnode/frontier/storage/storagetest"
)

// slowSync is a KV whose Sync waits for the gate, and counts.
type slowSync struct {
	storage.KV
	begun chan struct{} // gets a value at each Sync
	gate  chan struct{} // closed: syncs pass
	fail  atomic.Bool
}

func (s *slowSync) Sync() error {
	s.begun <- struct{}{}
	<-s.gate
	if s.fail.Load() {
		return storagetest.ErrInjected
	}
	return s.KV.Sync()
}

// TestTransitionsShareSyncs checks that transitions wait for the disk, that
// those which wait at once share one sync, and that nobody else waits.
//
//race:meets
func TestTransitionsShareSyncs(t *testing.T) {
	t.Parallel()
	kv := &slowSync{
		KV:    storage.NewMemory(),
		begun: make(chan struct{}, 2000),
		gate:  make(chan struct{}),
	}
	r := start(t, kv, commit.Options{})
	release := sync.OnceFunc(func() { close(kv.gate) })
	t.Cleanup(release) // before the one of start, which waits for the disk
	var ps []crawl.Partition
	for p := range crawl.Partition(64) {
		ps = append(ps, p)
	}
	founded := make(chan error, 1)
	go func() { founded <- r.Found(t.Context(), ps, 1) }()
	<-kv.begun
	// The disk is busy: adds pass, transitions gather.
	if got := r.add(link("http://h1.p0.test/")); got[0] != Added {
		t.Fatalf("admission = %v", got)
	}
	var wg sync.WaitGroup
	var answered atomic.Int32
	for _, p := range ps {
		wg.Go(func() {
			err := r.Transition(t.Context(), p,
				func(m *layout.Meta) error { m.State, m.View = layout.Released, 2; return nil })
			if err != nil {
				t.Error(err)
			}
			answered.Add(1)
		})
	}
	for _, p := range ps { // all are committed
		for m, _ := r.Meta(p); m.State != layout.Released; m, _ = r.Meta(p) {
			r.add(link("http://h1.p1.test/"))
		}
	}
	if n := answered.Load(); n != 0 {
		t.Errorf("%d transitions were answered before they were on disk", n)
	}
	release()
	wg.Wait()
	r.must(<-founded)
	if n := 1 + len(kv.begun); n > 4 {
		t.Errorf("%d syncs for 64 transitions", n)
	}
	kv.fail.Store(true)
	if err := r.Transition(t.Context(), 0,
		func(m *layout.Meta) error { m.View = 3; return nil }); !errors.Is(err, storagetest.ErrInjected) {
		t.Fatalf("a transition that is not on disk: %v", err)
	}
	if err := r.stop(); !errors.Is(err, storagetest.ErrInjected) {
		t.Fatalf("Run ended with %v", err)
	}
}
