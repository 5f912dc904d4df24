package output

import (
	"context"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"crawlnode/crawl"
	"crawlnode/local/datadir"
	"crawlnode/local/disk"
	"crawlnode/local/files"
	"crawlnode/output/archive"
	"crawlnode/web/urlnorm"
)

// fullFile takes nothing while full is set, and gives its error.
type fullFile struct {
	files.File
	full *atomic.Bool
	err  error
}

func (f fullFile) Write(b []byte) (int, error) {
	if f.full.Load() {
		return 0, f.err
	}
	return f.File.Write(b)
}

func page(t *testing.T) urlnorm.URL {
	t.Helper()
	u, err := urlnorm.Parse("http://a.test/")
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// TestShortage: a volume that takes nothing, though the system says that it has space, is a
// shortage until it takes what has waited: records that come before a commit, and captures that are
// too large to wait in memory.
func TestShortage(t *testing.T) {
	t.Parallel()
	for name, err := range map[string]error{"disk": syscall.ENOSPC, "quota": syscall.EDQUOT} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { testShortage(t, err) })
		})
	}
}

func testShortage(t *testing.T, refusal error) {
	t.Helper()
	dir, err := datadir.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	var full atomic.Bool
	o := &Outputs{o: Options{Dir: dir}}
	inner, err := archive.Open(dir.Join("warc"), archive.Options{
		Node:   "n",
		Gather: 1000,
		OpenFile: func(path string, flag int) (files.File, error) {
			f, err := files.OpenFile(path, flag)
			return fullFile{f, &full, refusal}, err
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	o.archive = &patientArchive{
		Archive:  inner,
		hasSpace: func(int64) bool { return true },
		running:  t.Context,
		short:    &o.short,
	}
	defer func() {
		if err := o.archive.Close(); err != nil {
			t.Error(err)
		}
	}()
	put := func(size int) error {
		_, err := o.archive.Put(t.Context(), crawl.Capture{
			URL:          page(t),
			Status:       200,
			FetchedAt:    time.Now(),
			Body:         make([]byte, size),
			ResponseHead: []byte("HTTP/1.1 200 OK\r\n\r\n"),
		})
		return err
	}
	want := func(when string, since time.Time, commits bool) {
		t.Helper()
		if s := o.Shortage(); !s.Since.Equal(since) || s.Commits != commits ||
			s.Path != dir.Join("warc") {
			t.Errorf("%s: %+v, want since %v, commits wait: %v", when, s, since, commits)
		}
	}
	if err := put(1); err != nil || o.Flush() != nil {
		t.Fatal(err)
	}
	want("with space", time.Time{}, false)
	full.Store(true)
	if err := put(1); err != nil { // it waits in memory
		t.Fatal(err)
	}
	want("before a commit", time.Time{}, false)
	first := time.Now()
	for range 2 {
		if err := o.Flush(); !disk.IsFull(err) {
			t.Errorf("on a full disk: %v", err)
		}
		time.Sleep(time.Second)
	}
	want("at a commit", first, true)
	full.Store(false)
	if err := o.Sync(func(f func() error) error { return f() }); err != nil {
		t.Error(err)
	}
	want("when a sync has written it", time.Time{}, false)

	full.Store(true)
	second, over := time.Now(), make(chan error, 1)
	u := page(t)
	go func() { over <- putNoise(t.Context(), o, u) }()
	time.Sleep(time.Minute)
	want("with a large capture", second, false)
	full.Store(false)
	if err := <-over; err != nil {
		t.Error(err)
	}
	want("when it is stored", time.Time{}, false)
}

// putNoise stores a capture that is larger than what may wait, however well it is compressed.
func putNoise(ctx context.Context, o *Outputs, u urlnorm.URL) error {
	body := make([]byte, 4000)
	for i, x := 0, uint32(1); i < len(body); i++ {
		x = x*1664525 + 1013904223
		body[i] = byte(x >> 24)
	}
	_, err := o.archive.Put(ctx, crawl.Capture{
		URL:          u,
		Status:       200,
		FetchedAt:    time.Now(),
		Body:         body,
		ResponseHead: []byte("HTTP/1.1 200 OK\r\n\r\n"),
	})
	return err
}
