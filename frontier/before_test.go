package frontier

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"crawlnode/crawl"
	"crawlnode/frontier/commit"
	"crawlnode/frontier/layout"
	"crawlnode/frontier/storage"
	"crawlnode/frontier/storage/storagetest"
)

// TestBeforeCommit: nothing is written before what has to come first, small changes go on without
// it, a full disk there makes the others wait, and another error ends the frontier.
//
//race:meets
func TestBeforeCommit(t *testing.T) {
	t.Parallel()
	var calls atomic.Int64
	var answer atomic.Pointer[error]
	f := start(t, storage.NewMemory(), commit.Options{BeforeCommit: func() error {
		calls.Add(1)
		if err := answer.Load(); err != nil {
			return *err
		}
		return nil
	}})
	set := func(err error) { answer.Store(&err) }
	ctx := t.Context()
	if err := f.Found(ctx, []crawl.Partition{1}, 3); err != nil {
		t.Fatal(err)
	}
	add := func(ctx context.Context, url string) error {
		_, err := f.Add(ctx, []crawl.Routed{link(url)})
		return err
	}
	before := calls.Load()
	if err := add(ctx, "http://h1.p1.test/"); err != nil || calls.Load() != before+1 {
		t.Fatalf("an addition: %v, %d calls before it", err, calls.Load()-before)
	}
	set(fmt.Errorf("write to a file: %w", syscall.ENOSPC))
	hurried, cancel := context.WithTimeout(ctx, 3*storage.SpaceAgain)
	defer cancel()
	if err := add(hurried, "http://h1.p1.test/2"); !errors.Is(err, storage.ErrNoSpace) {
		t.Errorf("an addition ended with %v, want ErrNoSpace", err)
	}
	waits := make(chan error, 1)
	go func() { waits <- add(ctx, "http://h1.p1.test/3") }()
	if err := f.Freeze(ctx, 1); err != nil {
		t.Errorf("a small change: %v", err)
	}
	if err := f.Unfreeze(ctx, 1); err != nil {
		t.Errorf("a small change: %v", err)
	}
	set(nil)
	if err := <-waits; err != nil {
		t.Errorf("with space again: %v", err)
	}
	broken := errors.New("the disk has gone")
	set(broken)
	if err := add(ctx, "http://h1.p1.test/4"); !errors.Is(err, broken) {
		t.Errorf("an addition ended with %v", err)
	}
	if err := f.stop(); !errors.Is(err, broken) {
		t.Errorf("the frontier ended with %v", err)
	}
}

// fullBefore is a frontier whose changes have to wait for another full disk while full is set. Each
// of its answers of then is told to asked.
type fullBefore struct {
	*running
	full  atomic.Bool
	asked chan struct{}
}

func startFullBefore(t *testing.T, hosts int) *fullBefore {
	f := &fullBefore{asked: make(chan struct{}, 1)}
	f.running = startHolding(t, storage.NewMemory(), hosts,
		commit.Options{Node: "n2", BeforeCommit: func() error {
			if !f.full.Load() {
				return nil
			}
			select {
			case f.asked <- struct{}{}:
			default: // one is enough
			}
			return fmt.Errorf("write to a file: %w", syscall.EDQUOT)
		}})
	return f
}

// importBefore imports a partition of a URL into a frontier, whose mutations of a second one have
// come.
func importBefore(t *testing.T) (from *running, to *fullBefore, i *Import, ms []Mutation) {
	from = startHolding(t, storage.NewMemory(), 2, commit.Options{Node: "n1"})
	to = startFullBefore(t, 0)
	from.add(link("http://h1.p1.test/0"))
	tail := &caught{}
	e, err := from.Export(t.Context(), 1, tail.sink)
	from.must(err)
	defer e.Close()
	i, err = to.BeginImport(t.Context(), 1)
	to.must(err)
	from.must(e.Snapshot(t.Context(), 300,
		func(entries []storage.Entry) error { return i.Put(t.Context(), entries) }))
	from.add(link("http://h1.p1.test/1"))
	for _, m := range tail.take() {
		ms = append(ms, m.Mutation)
	}
	return from, to, i, ms
}

// TestImportWaitsBeforeCommit: what an import does is done once, although it waits for space before
// it. A copy whose books know a mutation that its entries lack would lose URLs (I2).
//
//race:meets
func TestImportWaitsBeforeCommit(t *testing.T) {
	t.Parallel()
	from, to, i, ms := importBefore(t)
	waiting := func(change func() error) {
		to.full.Store(true)
		over := make(chan error, 1)
		go func() { over <- change() }()
		<-to.asked
		to.full.Store(false)
		to.must(<-over)
	}
	waiting(func() error { return i.Apply(t.Context(), ms) })
	waiting(func() error { return i.CommitCopy(t.Context(), 1) })
	storagetest.Compare(t, "content", content(t, to.running, 1), content(t, from, 1))
}

// TestVotesGoOnBeforeCommit: a small change never waits with a large one that came beside it.
//
//race:meets
func TestVotesGoOnBeforeCommit(t *testing.T) {
	t.Parallel()
	f := startFullBefore(t, 2)
	f.full.Store(true)
	ctx, cancel := context.WithCancel(t.Context())
	var added sync.WaitGroup
	for n := range 50 {
		added.Go(
			func() { _, _ = f.Add(ctx, []crawl.Routed{link(fmt.Sprintf("http://h1.p1.test/%d", n))}) })
		// patience: nothing frees the additions
		limited, stop := context.WithTimeout(t.Context(), time.Minute)
		if err := f.PutSets(limited, []layout.SetRecord{{
			Partition: 1,
			Epoch:     crawl.Epoch(n + 1),
			Version:   1,
			Members:   []crawl.NodeID{"n2"},
		}}); err != nil {
			t.Errorf("vote %d beside additions that wait: %v", n, err)
		}
		stop()
	}
	cancel()
	added.Wait()
}

// TestHurryBeforeCommit: a node that stops does not wait for space.
//
//race:meets
func TestHurryBeforeCommit(t *testing.T) {
	t.Parallel()
	f := startFullBefore(t, 2)
	f.full.Store(true)
	over := make(chan error, 1)
	go func() {
		_, err := f.Add(context.WithoutCancel(t.Context()), []crawl.Routed{link("http://h1.p1.test/a")})
		over <- err
	}()
	<-f.asked
	f.Hurry()
	if err := <-over; !errors.Is(err, storage.ErrNoSpace) {
		t.Errorf("ended with %v, want ErrNoSpace", err)
	}
}
