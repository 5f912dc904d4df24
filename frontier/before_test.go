package frontier

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"syscall"
	"testing"

	"crawlnode/crawl"
	"crawlnode/frontier/commit"
	"crawlnode/frontier/storage"
)

// TestBeforeCommit: nothing is written before what has to come first, small changes go on without it, a full disk there makes the others
// wait, and another error ends the frontier.
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
