package output

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"crawlnode/crawl"
	"crawlnode/local/disk"
	"crawlnode/output/archive"
)

// slowArchive takes a while for each record and counts what it was given.
type slowArchive struct {
	archive.None
	most, busy, puts atomic.Int64
}

func (s *slowArchive) Put(context.Context, crawl.Capture) (crawl.ArchiveRef, error) {
	s.most.Store(max(s.most.Load(), s.busy.Add(1)))
	time.Sleep(time.Second)
	s.busy.Add(-1)
	s.puts.Add(1)
	return crawl.ArchiveRef{File: "f"}, nil
}

// TestPatientArchive: what is written at the same time fits all together, what does
// not fit waits, and the end of the node ends the wait.
func TestPatientArchive(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var inner slowArchive
		var free atomic.Int64
		running, stop := context.WithCancel(t.Context())
		a := &patientArchive{
			Archive:  &inner,
			hasSpace: func(n int64) bool { return n <= free.Load() },
			running:  func() context.Context { return running },
			short:    &shortage{},
		}
		free.Store(250)
		results := make(chan error, 10)
		put := func() {
			_, err := a.Put(t.Context(), crawl.Capture{Body: make([]byte, 100)})
			results <- err
		}
		for range 6 {
			go put()
		}
		time.Sleep(10 * time.Second)
		if inner.puts.Load() != 6 || inner.most.Load() != 2 {
			t.Errorf("%d records, %d at once, want 6 and 2: there is space for two", inner.puts.Load(),
				inner.most.Load())
		}
		free.Store(99)
		go put()
		time.Sleep(time.Minute)
		if inner.puts.Load() != 6 {
			t.Error("it was written though there is no space")
		}
		free.Store(100)
		time.Sleep(5 * time.Second)
		if inner.puts.Load() != 7 {
			t.Error("it was not written when there was space again")
		}
		free.Store(0)
		go func() { results <- a.PutFailure(t.Context(), crawl.Failure{Reason: "x"}) }()
		time.Sleep(time.Minute)
		stop()
		for range 7 {
			if err := <-results; err != nil {
				t.Error(err)
			}
		}
		if err := <-results; !errors.Is(err, disk.ErrStopped) {
			t.Errorf("at the end of the node: %v", err)
		}
	})
}
