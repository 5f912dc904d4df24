package focus

import (
	"crypto/sha1"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"crawlnode/crawl"
	model "crawlnode/focus"
	"crawlnode/output/archive"
	"crawlnode/web/urlnorm"
)

// TestPagesAsSeen: a model learns from what the crawl saw: pages as a browser has shown them,
// duplicates, and those of which only a part could be decoded.
func TestPagesAsSeen(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a, err := archive.Open(dir, archive.Options{Node: "n"})
	if err != nil {
		t.Fatal(err)
	}
	var first crawl.ArchiveRef
	put := func(name, head, body, shown string, duplicate bool) {
		t.Helper()
		u, err := urlnorm.Parse("http://h.test/" + name)
		if err != nil {
			t.Fatal(err)
		}
		c := crawl.Capture{
			URL:          u,
			FetchedAt:    time.Unix(1e9, 0),
			Status:       200,
			RequestHead:  []byte("GET / HTTP/1.1\r\n\r\n"),
			Body:         []byte(body),
			Digest:       sha1.Sum([]byte(body)),
			ResponseHead: fmt.Appendf(nil, "HTTP/1.1 200 X\r\n%s\r\n", head),
		}
		if shown != "" {
			c.Resources = []crawl.Resource{
				{At: c.FetchedAt, ContentType: "text/html; charset=utf-8", Body: []byte(shown)}}
		}
		if duplicate {
			c.Original = &crawl.Original{
				Record:    first.Record,
				URL:       "http://h.test/plain",
				FetchedAt: c.FetchedAt,
			}
		}
		ref, err := a.Put(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		if first.File == "" {
			first = ref
		}
	}
	const html = "Content-Type: text/html\r\n"
	put("plain", html, "<title>P</title>words", "", false)
	put("shown", html, "<title>Loading</title>", "<title>S</title>made", false)
	put("twin", html, "<title>P</title>words", "", true)
	put("twice", "Content-Type: text/html, text/html\r\n", "<title>T</title>more", "", false)
	put("text", "Content-Type: text/plain\r\n", "<title>a text", "", false)
	put("untyped", "", "<!doctype html><title>U</title>sniffed", "", false)
	put("picture", "Content-Type: image/png\r\n", "<title>no</title>", "", false)
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	var got []string
	if err := pages(dir, func(name string, p model.Page) error {
		got = append(got, filepath.Base(name)+" "+p.Title+" "+strings.TrimSpace(string(p.Text)))
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	want := []string{"plain P words", "shown S made", "text  <title>a text", "twice T more",
		"twin P words", "untyped U sniffed"}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
