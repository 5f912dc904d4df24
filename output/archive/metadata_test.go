package archive

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"crawlnode/crawl"
)

// failed makes the failure of a URL.
func failed(t testing.TB, url string) crawl.Failure {
	c := capture(t, url, "")
	return crawl.Failure{
		URL:      c.URL,
		At:       day,
		Addr:     c.Addr,
		Error:    "timeout",
		Reason:   "no answer\r\nin time",
		Attempts: 4,
		Took:     1500 * time.Millisecond,
	}
}

// TestFailure: the reason why a URL was given up is in the file and in no index.
func TestFailure(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a := open(t, dir, Options{})
	put(t, a, capture(t, "http://a.test/1", "x"))
	limited := failed(t, "http://a.test/2")
	limited.Error, limited.Status, limited.Host = crawl.FailureRateLimited, 429, true
	for _, f := range []crawl.Failure{failed(t, "http://a.test/0"), limited} {
		if err := a.PutFailure(t.Context(), f); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	if s := a.Stats(); s.Records != 1 || s.ContentDuplicates != 0 {
		t.Errorf("stats %+v", s)
	}
	records := readAll(t, dir) // which holds the index against the file
	if len(records) != 5 {
		t.Fatalf("%d records, want warcinfo, response, request and two of metadata", len(records))
	}
	for i, want := range []string{
		"fetchError: timeout\r\nreason: no answer%0D%0Ain time\r\ngivenUp: url\r\nattempts: 4\r\n" +
			"fetchTimeMs: 1500\r\n",
		"fetchError: rate_limited\r\nhttpStatus: 429\r\nreason: no answer%0D%0Ain time\r\n" +
			"givenUp: host\r\nattempts: 4\r\nfetchTimeMs: 1500\r\n",
	} {
		r := records[3+i]
		if r.Type != "metadata" || string(r.Payload) != want ||
			r.Fields.Get("Content-Type") != "application/warc-fields" || !r.Date.Equal(day) ||
			!strings.HasPrefix(r.TargetURI, "http://a.test/") || r.Addr.String() != "192.0.2.1" ||
			r.Status != 0 {
			t.Errorf("record %+v with\n%s\nwant\n%s", r, r.Payload, want)
		}
	}
	if err := a.PutFailure(t.Context(), limited); !errors.Is(err, ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

// TestFailureAlone: a file may contain only failures, and Sync counts them.
func TestFailureAlone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a := open(t, dir, Options{SyncEach: true, MaxFileBytes: 1})
	for range 2 {
		if err := a.PutFailure(t.Context(), failed(t, "http://a.test/")); err != nil || a.file.unsynced {
			t.Fatalf("not on the disk: %v", err)
		}
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	if records := readAll(t, dir); len(records) != 4 || a.Stats().Files != 2 {
		t.Errorf("%d records in %d files", len(records), a.Stats().Files)
	}
}

// TestRepairKeepsFailures: after the last capture that the index names, a whole failure stays and a
// torn one is cut.
func TestRepairKeepsFailures(t *testing.T) {
	t.Parallel()
	for _, c := range both {
		t.Run(string(c), func(t *testing.T) { repairKeepsFailures(t, c) })
	}
}

func repairKeepsFailures(t *testing.T, c Compression) {
	dir := t.TempDir()
	a := open(t, dir, Options{Compression: c})
	ref := put(t, a, capture(t, "http://a.test/1", "x"))
	if err := a.Sync(); err != nil {
		t.Fatal(err)
	}
	whole := a.file.size
	if err := a.PutFailure(t.Context(), failed(t, "http://a.test/2")); err != nil {
		t.Fatal(err)
	}
	w := wreck{name: ref.File}
	for name, b := range map[string]*[]byte{w.name: &w.warc, indexName(w.name): &w.index} {
		var err error
		if *b, err = os.ReadFile(filepath.Join(dir, name+openSuffix)); err != nil {
			t.Fatal(err)
		}
	}
	for _, cut := range []int{0, 1, 20} {
		for _, index := range [][]byte{w.index, nil} { // without an index all is read
			wrecked := w.lay(t, bytes.Clone(w.warc[:len(w.warc)-cut]), index)
			got := reopen(t, wrecked)
			records := readAll(t, wrecked)
			last := records[len(records)-1]
			switch {
			case cut == 0 && (last.Type != "metadata" || got.Cut != 0):
				t.Errorf("a whole failure is lost: %+v", got)
			case cut > 0 && (last.Type == "metadata" || got.Kept != whole || got.Cut == 0):
				t.Errorf("%d bytes cut: %+v, last record %s, want %d kept", cut, got, last.Type, whole)
			}
			if want := map[bool]int{true: 1, false: 0}[index == nil]; got.Captures != want {
				t.Errorf("%d captures were indexed, want %d", got.Captures, want)
			}
		}
	}
}
