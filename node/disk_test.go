package node

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"crawlnode/crawl"
	"crawlnode/node/datadir"
	"crawlnode/store/archive"
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
		a := &patientArchive{archiver: &inner, hasSpace: func(n int64) bool { return n <= free.Load() }, running: func() context.Context { return running }}
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
			t.Errorf("%d records, %d at once, want 6 and 2: there is space for two", inner.puts.Load(), inner.most.Load())
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
		if err := <-results; !errors.Is(err, errNoSpace) {
			t.Errorf("at the end of the node: %v", err)
		}
	})
}

// TestDiskWatch: a path that cannot be asked is not judged, and the others are.
func TestDiskWatch(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var d diskWatch
	if d.look(filepath.Join(dir, "missing")) || d.free(dir) != nil {
		t.Error("a path that is not there was judged")
	}
	d.look(dir, filepath.Join(dir, "missing"))
	if free := d.free(dir); free == nil || *free <= 0 {
		t.Errorf("free space %v", free)
	}
	since := time.Now().Add(-time.Hour)
	d.volumes = []volume{{path: dir, low: true, since: since}, {path: "gone", low: true}}
	d.low.Store(true)
	changed := d.look(dir)
	short := d.short()
	if *d.free(dir) >= 2*lowDiskBytes && (!changed || len(short) > 0) {
		t.Errorf("there is space and yet short: %+v", short)
	}
	if slices.ContainsFunc(short, func(v volume) bool { return v.path == "gone" || !v.since.Equal(since) }) {
		t.Errorf("short %+v", short)
	}
	if !datadir.SameVolume(dir, filepath.Join(dir, "missing")) || !datadir.SameVolume(dir, dir) {
		t.Error("one folder on two volumes")
	}
}

// TestSpaceLook: a look at the volumes counts for a moment, and only with plenty left.
func TestSpaceLook(t *testing.T) {
	t.Parallel()
	at := time.Unix(1000, 0)
	l := &spaceLook{at: at, spare: plenty + 100}
	if !l.vouches(at.Add(plentyFor-1), 100) {
		t.Error("there is plenty, and it is asked for again")
	}
	for name, bad := range map[string]bool{
		"too old":        l.vouches(at.Add(plentyFor), 100),
		"too little":     l.vouches(at, 101),
		"never looked":   (*spaceLook)(nil).vouches(at, 0),
		"less than none": (&spaceLook{at: at, spare: -1}).vouches(at, 0),
	} {
		if bad {
			t.Errorf("%s: the look counts", name)
		}
	}
}

// What a full disk refuses is done when there is space, and not once nobody waits.
func TestOnceThereIsSpace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		full := fmt.Errorf("write the scope entries: %w", syscall.ENOSPC)
		tries := 0
		err := onceThereIsSpace(t.Context(), t.Context(), func() error {
			if tries++; tries < 4 {
				return full
			}
			return nil
		})
		if err != nil || tries != 4 {
			t.Errorf("after %d tries: %v", tries, err)
		}
		broken := errors.New("input/output error")
		if err := onceThereIsSpace(t.Context(), t.Context(), func() error { return broken }); !errors.Is(err, broken) {
			t.Errorf("another error: %v", err)
		}
		running, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		if err := onceThereIsSpace(t.Context(), running, func() error { return full }); !errors.Is(err, errNoSpace) {
			t.Errorf("at the end of the node: %v", err)
		}
	})
}
