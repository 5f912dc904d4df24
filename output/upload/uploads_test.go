package upload

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"crawlnode/crawl"
	"crawlnode/output/archive"
	"crawlnode/output/upload/s3"
)

// fakeStore takes files, and refuses some.
type fakeStore struct {
	mu     sync.Mutex
	refuse func(key string) error
	have   map[string]string
	tried  []string
}

func (s *fakeStore) Put(_ context.Context, key string, f io.ReaderAt, size int64) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tried = append(s.tried, key)
	if err := s.refuse(key); err != nil {
		return "", err
	}
	body, err := io.ReadAll(io.NewSectionReader(f, 0, size))
	s.have[key] = string(body)
	return "tag", err
}

func (s *fakeStore) Open(_ context.Context, key string) (io.ReaderAt, int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	body, ok := s.have[key]
	if !ok {
		return nil, 0, s3.ErrMissing
	}
	return strings.NewReader(body), int64(len(body)), nil
}

func newUploads(t *testing.T, refuse func(string) error, files ...string) (*Uploads, *fakeStore) {
	t.Helper()
	dir, store := t.TempDir(), &fakeStore{refuse: refuse, have: map[string]string{}}
	for i, name := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
		at := time.Now().Add(time.Duration(i-100) * time.Second)
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	u, err := Open(Options{
		Dir:     dir,
		Node:    "n",
		Cluster: func() string { return "c" },
		Target:  s3.Target{},
		Store:   store,
		Log:     slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	u.every = time.Millisecond
	return u, store
}

// TestOneIsRefused: a file that the store refuses keeps no other, stays on the disk, and is named
// with the time of its first attempt.
func TestOneIsRefused(t *testing.T) {
	t.Parallel()
	u, store := newUploads(t, func(key string) error {
		if key == "c/n/warc/a.warc.gz" {
			return errors.New("too large")
		}
		return nil
	}, "warc/a.warc.gz", "warc/a.cdxj", "warc/b.warc.gz", "warc/b.cdxj", "derived/pages-1.jsonl.gz",
		"warc/c.warc.gz.open")
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Minute)
	defer cancel()
	over := make(chan error, 1)
	go func() { over <- u.Run(ctx) }()
	// It is named again with its first attempt after the last of the others was sent.
	for _, failing := u.Failing(); u.Status(time.Now()).QueuedFiles != 1 ||
		!failing; _, failing = u.Failing() {
		time.Sleep(time.Millisecond)
		if ctx.Err() != nil {
			t.Fatal("the other files are not sent, or the one is not named")
		}
	}
	cancel()
	if err := <-over; err != nil {
		t.Fatal(err)
	}
	one, failing := u.Failing()
	s := u.Status(time.Now())
	if !failing || one.File != "warc/a.warc.gz" || one.Err.Error() != "too large" ||
		s.FailedTotal == 0 || s.BehindSeconds < 90 {
		t.Errorf("failing %v %+v, status %+v", failing, one, s)
	}
	if len(store.have) != 4 || s.BytesTotal != int64(
		len("warc/a.cdxj")+len("warc/b.warc.gz")+len("warc/b.cdxj")+len("derived/pages-1.jsonl.gz")) {
		t.Errorf("the store has %v, the status says %+v", store.have, s)
	}
	if _, err := os.Stat(filepath.Join(u.o.Dir, "warc", "a.warc.gz")); err != nil {
		t.Errorf("a file that is not in the store: %v", err)
	}
	store.mu.Lock()
	store.refuse = func(string) error { return nil }
	store.mu.Unlock()
	if err := u.Finish(t.Context(), crawl.Wait); err != nil {
		t.Fatal(err)
	}
	left, err := filepath.Glob(filepath.Join(u.o.Dir, "*", "*"))
	if err != nil || !slices.Equal(left, []string{filepath.Join(u.o.Dir, "warc", "c.warc.gz.open")}) {
		t.Errorf("left on the disk: %v, %v", left, err)
	}
	if _, failing := u.Failing(); failing {
		t.Error("a file that was sent is named as failing")
	}
}

// TestLastRound: the end of a node tries thrice, with pauses that grow, when the store is away, and
// removes nothing. One that takes a file is given the rest. The end of the time ends it. What the
// store has not got is named.
func TestLastRound(t *testing.T) {
	t.Parallel()
	away := errors.New("connection refused")
	for _, tc := range []struct {
		name   string
		fails  int // so many attempts fail
		over   bool
		tried  int
		left   int
		most   []time.Duration // the longest of each pause; the shortest is half of it
		unsent string          // a part of it; "": none
	}{
		{"away", 99, false, lastFailures, 3, []time.Duration{time.Second, 2 * time.Second},
			"3 of its files could not be copied to s3://bucket/crawls (warc/a.warc.gz: " +
				"connection refused); they are kept in DIR: mend the store or --upload, " +
				"and the same command copies them"},
		{"back after a moment", 2, false, 5, 0, []time.Duration{time.Second, 2 * time.Second}, ""},
		{"there", 0, false, 3, 0, nil, ""},
		{"away, and the time is over", 99, true, 1, 3, []time.Duration{time.Second}, "3 of its files could not be copied"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			attempts := 0
			u, store := newUploads(t, func(string) error {
				if attempts++; attempts > tc.fails {
					return nil
				}
				return away
			}, "warc/a.warc.gz", "warc/a.cdxj", "warc/b.cdxj")
			u.o.Target = s3.Target{Bucket: "bucket", Prefix: "crawls"}
			var pauses []time.Duration
			wait := func(_ context.Context, d time.Duration) bool {
				pauses = append(pauses, d)
				return !tc.over
			}
			if err := u.Finish(t.Context(), wait); err != nil {
				t.Fatal(err)
			}
			left, err := filepath.Glob(filepath.Join(u.o.Dir, "warc", "*"))
			if err != nil || len(left) != tc.left || len(store.tried) != tc.tried ||
				!within(pauses, tc.most) {
				t.Errorf("left %v, %v; tried %v; pauses %v", left, err, store.tried, pauses)
			}
			got := ""
			if err := u.Unsent(); err != nil {
				got = strings.ReplaceAll(err.Error(), u.o.Dir, "DIR")
			}
			if (got == "") != (tc.unsent == "") || !strings.Contains(got, tc.unsent) {
				t.Errorf("unsent: %q", got)
			}
		})
	}
}

// within reports whether each pause is of half its longest time to that.
func within(pauses, most []time.Duration) bool {
	return slices.EqualFunc(pauses, most, func(d, most time.Duration) bool {
		return d >= most/2-1 && d <= most+1 // rounding
	})
}

// TestNoTimeForTheLastRound: when the time is over before an attempt, no store is blamed.
func TestNoTimeForTheLastRound(t *testing.T) {
	t.Parallel()
	u, store := newUploads(t, func(string) error { return nil }, "warc/a.cdxj")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := u.Finish(ctx, crawl.Wait); err != nil || len(store.tried) > 0 {
		t.Fatal(err, store.tried)
	}
	if err := u.Unsent(); err == nil ||
		!strings.Contains(err.Error(), "1 of its files were not copied") {
		t.Error(err)
	}
}

// TestFailures: which file is named after each event.
func TestFailures(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	f := newFailures()
	for i, step := range []struct {
		event, file string
		want        string // file and minutes
	}{
		{"failed", "a", "a 0"},
		{"failed", "b", "a 0"},
		{"failed", "a", "a 0"},
		{"sent", "c", ""},      // the store is there
		{"failed", "b", "b 1"}, // and still refuses this one
		{"failed", "a", "a 0"},
		{"sent", "a", ""},
		{"failed", "b", "b 1"},
		{"sent", "b", ""},
		{"failed", "b", "b 9"}, // a new one
	} {
		if step.event == "sent" {
			f.sent(step.file)
		} else {
			f.failed(step.file, start.Add(time.Duration(i)*time.Minute), errors.New("no"))
		}
		got := ""
		if one, ok := f.oldest(); ok {
			got = fmt.Sprint(one.File, " ", int(one.Since.Sub(start).Minutes()))
		}
		if got != step.want {
			t.Errorf("after step %d, %s of %s: %q, want %q", i, step.event, step.file, got, step.want)
		}
	}
}

// local is an archive without a record.
type local struct{}

func (local) WriteRange(io.Writer, crawl.IndexRange) error { return nil }
func (local) OpenMember(string, int64) (*archive.Member, error) {
	return nil, archive.ErrNoCapture
}

// TestAnotherStore: a node that is started with another --upload copies what it still has to there,
// keeps none of it before, says what only the first store has, and answers without it. Given the
// first again, it finds all.
func TestAnotherStore(t *testing.T) {
	t.Parallel()
	const line = "test,a)/ 20260101000000 {}\n"
	takes := func(string) error { return nil }
	u, first := newUploads(t, takes, "warc/a.warc.gz", "warc/a.cdxj", "warc/b.warc.gz", "warc/b.cdxj")
	if err := os.WriteFile(filepath.Join(u.o.Dir, "warc", "a.cdxj"), []byte(line), 0o600); err != nil {
		t.Fatal(err)
	}
	again := func(bucket string, keep s3.Keep, s Store) (*Uploads, string) {
		var says strings.Builder
		o := u.o
		o.Target.Bucket, o.Keep, o.Store, o.Log = bucket, keep, s,
			slog.New(slog.NewTextHandler(&says, nil))
		v, err := Open(o)
		if err != nil {
			t.Fatal(err)
		}
		return v, says.String()
	}
	finish := func(v *Uploads) {
		if err := v.Finish(t.Context(), crawl.Wait); err != nil {
			t.Fatal(err)
		}
	}
	lines := func(v *Uploads) string {
		var out strings.Builder
		if err := v.WriteRange(local{}, &out, crawl.IndexRange{}); err != nil {
			t.Error(err)
		}
		return out.String()
	}
	v, says := again("one", s3.Keep{All: true}, first)
	finish(v)
	if len(first.have) != 4 || says != "" {
		t.Fatalf("the store has %v; %s", first.have, says)
	}
	for _, name := range []string{"a.warc.gz", "a.cdxj"} { // as --keep-local does
		if err := os.Remove(filepath.Join(u.o.Dir, "warc", name)); err != nil {
			t.Fatal(err)
		}
	}

	second := &fakeStore{
		refuse: func(string) error { return errors.New("not yet") },
		have:   map[string]string{},
	}
	v, says = again("two", s3.Keep{}, second)
	if !strings.Contains(says, "files=2 store=s3://one upload=s3://two") {
		t.Errorf("it says %q", says)
	}
	if got := lines(v); got != "" {
		t.Errorf("lines %q", got)
	}
	finish(v)
	if _, err := os.Stat(filepath.Join(u.o.Dir, "warc", "b.warc.gz")); err != nil {
		t.Errorf("a file that the second store has not got: %v", err)
	}
	second.refuse = takes
	v, _ = again("two", s3.Keep{}, second)
	finish(v)
	if left, err := os.ReadDir(filepath.Join(u.o.Dir, "warc")); err != nil || len(left) > 0 ||
		len(second.have) != 2 {
		t.Errorf("left on the disk %v, %v; the second store has %v", left, err, second.have)
	}
	v, _ = again("one", s3.Keep{}, first)
	if got := lines(v); got != line {
		t.Errorf("lines %q with the first store", got)
	}
	finish(v)
}
