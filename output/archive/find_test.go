package archive

import (
	"errors"
	"os"
	"testing"
	"time"

	"crawlnode/crawl"
)

// TestFind looks for captures in finished and open files, and for the payload of a revisit.
func TestFind(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a := open(t, dir, Options{})
	old := capture(t, "http://example.org/a", "one")
	first := put(t, a, old)
	newer := capture(t, "http://example.org/a", "two")
	newer.FetchedAt = old.FetchedAt.Add(time.Hour)
	second := put(t, a, newer)
	// The same key, another URL.
	put(t, a, capture(t, "https://www.example.org/a", "three"))
	again := capture(t, "http://example.org/b", "one")
	again.Original = &crawl.Original{URL: "http://example.org/a", FetchedAt: old.FetchedAt}
	revisit := put(t, a, again)

	look := func(when string) {
		t.Helper()
		for _, c := range []struct {
			url, payload string
			want         crawl.ArchiveRef
		}{
			{"http://example.org/a", "", second},
			{"http://example.org/a", digest(old.Digest), first},
			{"http://example.org/b", "", revisit},
		} {
			c.want.Node, c.want.Record = "", [16]byte{} // an index knows the place only
			if got, err := Find(dir, c.url, c.payload); err != nil || got != c.want {
				t.Errorf("%s: %s %s: %+v, %v; want %+v", when, c.url, c.payload, got, err, c.want)
			}
		}
		for url, payload := range map[string]string{
			"http://example.org/c": "",
			"http://example.org/b": digest(old.Digest),
		} {
			if got, err := Find(dir, url, payload); !errors.Is(err, ErrNoCapture) {
				t.Errorf("%s: %s: %+v, %v", when, url, got, err)
			}
		}
	}
	if err := a.Sync(); err != nil {
		t.Fatal(err)
	}
	look("open")
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	look("finished")

	f, err := os.Open(dir + "/" + first.File)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Seek(first.Offset, 0); err != nil {
		t.Fatal(err)
	}
	if r, err := ReadRecord(f); err != nil || string(r.Payload) != "one" {
		t.Errorf("ReadRecord: %q, %v", r.Payload, err)
	}
}
