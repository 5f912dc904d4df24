package frontier

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"crawlnode/crawl"
)

// TestWriteDuringSync checks that a Write goes on while the disk is busy with a
// Sync.
func TestWriteDuringSync(t *testing.T) {
	t.Parallel()
	kv, reopen := openTestBadger(t)
	b := kv.(*badgerKV)
	busy, release := make(chan string, 64), make(chan struct{})
	b.files.fsync = func(f *os.File) error {
		busy <- filepath.Base(f.Name())
		<-release
		return f.Sync()
	}
	put := func(key string) {
		t.Helper()
		if err := kv.Write([]Entry{{Key: []byte(key), Value: []byte{1}}}); err != nil {
			t.Fatal(err)
		}
	}
	put("a")
	over := make(chan error, 1)
	go func() { over <- kv.Sync() }()
	synced := []string{<-busy}
	put("b") // it would wait for ever
	if got := dump(t, kv, ""); len(got) != 2 {
		t.Fatalf("keys while the disk is busy: %v", got)
	}
	close(release)
	if err := <-over; err != nil {
		t.Fatal(err)
	}
	for len(busy) > 0 {
		synced = append(synced, <-busy)
	}
	if !slices.Contains(synced, "00001.mem") || !slices.Contains(synced, filepath.Base(b.files.dir)) {
		t.Fatalf("synced %v; want the log of the table in memory, and the folder", synced)
	}
	if err := kv.Sync(); err != nil {
		t.Fatal(err)
	}
	for len(busy) > 0 {
		if name := <-busy; name == filepath.Base(b.files.dir) {
			t.Fatal("the folder was synced again, with the same names")
		}
	}
	if got := dump(t, reopen(), ""); len(got) != 2 {
		t.Fatalf("keys after a crash: %v", got)
	}
}

// TestSyncOfVanishedFile removes a log between listing and opening.
func TestSyncOfVanishedFile(t *testing.T) {
	t.Parallel()
	s := newFileSync(t.TempDir())
	for _, name := range []string{"00001.mem", "00002.mem"} {
		if err := os.WriteFile(filepath.Join(s.dir, name), []byte{1}, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var synced []string
	s.fsync = func(f *os.File) error {
		synced = append(synced, filepath.Base(f.Name()))
		err := os.Remove(filepath.Join(s.dir, "00002.mem"))
		if errors.Is(err, os.ErrNotExist) {
			return nil
		}
		return err
	}
	if err := s.sync(); err != nil {
		t.Fatal(err)
	}
	if want := []string{"00001.mem", filepath.Base(s.dir)}; !slices.Equal(synced, want) {
		t.Fatalf("synced %v, want %v", synced, want)
	}
	s.fsync = func(*os.File) error { return errInjected }
	if err := s.sync(); !errors.Is(err, errInjected) {
		t.Fatalf("a disk that fails: %v", err)
	}
}

// slowSync is a KV whose Sync waits for the gate, and counts.
type slowSync struct {
	KV
	begun chan struct{} // gets a value at each Sync
	gate  chan struct{} // closed: syncs pass
	fail  atomic.Bool
}

func (s *slowSync) Sync() error {
	s.begun <- struct{}{}
	<-s.gate
	if s.fail.Load() {
		return errInjected
	}
	return s.KV.Sync()
}

// TestTransitionsShareSyncs checks that transitions wait for the disk, that
// those which wait at once share one sync, and that nobody else waits.
func TestTransitionsShareSyncs(t *testing.T) {
	t.Parallel()
	kv := &slowSync{KV: NewMemory(), begun: make(chan struct{}, 2000), gate: make(chan struct{})}
	r := start(t, kv, Options{})
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
			err := r.Transition(t.Context(), p, func(m *Meta) error { m.State, m.View = Released, 2; return nil })
			if err != nil {
				t.Error(err)
			}
			answered.Add(1)
		})
	}
	for _, p := range ps { // all are committed
		for m, _ := r.Meta(p); m.State != Released; m, _ = r.Meta(p) {
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
	if err := r.Transition(t.Context(), 0, func(m *Meta) error { m.View = 3; return nil }); !errors.Is(err, errInjected) {
		t.Fatalf("a transition that is not on disk: %v", err)
	}
	if err := r.stop(); !errors.Is(err, errInjected) {
		t.Fatalf("Run ended with %v", err)
	}
}
