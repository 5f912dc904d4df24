package searchverb

import (
	"bytes"
	"crypto/sha1" //nolint:gosec // payload digests of WARC are SHA-1
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"

	"crawlnode/cli/command"
	"crawlnode/crawl"
	"crawlnode/local/datadir"
	"crawlnode/output/archive"
	"crawlnode/web/urlnorm"
)

// capture is an answer that a test stores.
type capture struct {
	url, head, body, shown string
	status                 int // 0: 200
	// the number of the capture with the same payload, from 1; 0: it has its own
	of int
}

// archived writes captures, an hour apart, and returns the path of their file.
func archived(t *testing.T, all ...capture) string {
	t.Helper()
	dir := t.TempDir()
	a, err := archive.Open(dir, archive.Options{Node: "n"})
	if err != nil {
		t.Fatal(err)
	}
	var refs []crawl.ArchiveRef
	for i, c := range all {
		u, err := urlnorm.Parse(c.url)
		if err != nil {
			t.Fatal(err)
		}
		if c.status == 0 {
			c.status = 200
		}
		k := crawl.Capture{
			URL:         u,
			FetchedAt:   time.Unix(int64(1e9+3600*i), 0),
			Status:      c.status,
			RequestHead: []byte("GET / HTTP/1.1\r\n\r\n"),
			Body:        []byte(c.body),
			Digest:      sha1.Sum([]byte(c.body)),
			ResponseHead: fmt.Appendf(nil, "HTTP/1.1 %d X\r\nContent-Type: text/html\r\n%s\r\n", c.status,
				c.head),
		}
		if c.of > 0 {
			k.Original = &crawl.Original{
				Record:    refs[c.of-1].Record,
				URL:       all[c.of-1].url,
				FetchedAt: k.FetchedAt,
			}
		}
		if c.shown != "" {
			k.Resources = []crawl.Resource{
				{At: k.FetchedAt, ContentType: "text/html; charset=utf-8", Body: []byte(c.shown)}}
		}
		ref, err := a.Put(t.Context(), k)
		if err != nil {
			t.Fatal(err)
		}
		refs = append(refs, ref)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	files, err := archive.Files(dir)
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	return files[0]
}

// TestIndexAsTheCrawl: of each URL the newest capture is found, as the crawl saw it, duplicates
// too. A page that is gone, or asks to be left out, is not, and what says nothing of a page changes
// nothing. A file that is not compressed is read alike.
func TestIndexAsTheCrawl(t *testing.T) {
	t.Parallel()
	page := func(name, word string) capture {
		return capture{url: "http://a.test/" + name, body: "<title>" + name +
			"</title><p>The only word of this page that matters is " + word + ".</p>"}
	}
	with := func(c capture, f func(c *capture)) capture { f(&c); return c }
	const hide = "X-Robots-Tag: noarchive\r\nX-Robots-Tag: noindex\r\n"
	for name, c := range map[string]struct {
		captures []capture
		want     []string // the paths that are found by "badger"
	}{
		"one": {[]capture{page("a", "badger")}, []string{"a"}},
		"duplicate": {[]capture{page("a", "badger"), with(page("b", "badger"),
			func(c *capture) { c.body, c.of = page("a", "badger").body, 1 })}, []string{"a", "b"}},
		"hidden twin": {[]capture{page("a", "badger"), with(page("b", "badger"),
			func(c *capture) { c.body, c.of, c.head = page("a", "badger").body, 1, hide })}, []string{"a"}},
		"newer words": {[]capture{page("a", "badger"), page("a", "otter")}, nil},
		"newer hides": {[]capture{page("a", "badger"),
			with(page("a", "badger"), func(c *capture) { c.head = hide })}, nil},
		"older hides": {[]capture{with(page("a", "badger"), func(c *capture) { c.head = hide }),
			page("a", "badger")}, []string{"a"}},
		"gone": {[]capture{page("a", "badger"),
			with(page("a", "x"), func(c *capture) { c.status = 404 })}, nil},
		"redirects": {[]capture{page("a", "badger"),
			with(page("a", "x"), func(c *capture) { c.status = 301 })}, nil},
		"failed": {[]capture{page("a", "badger"),
			with(page("a", "x"), func(c *capture) { c.status = 500 })}, []string{"a"}},
		"limited": {[]capture{page("a", "badger"),
			with(page("a", "x"), func(c *capture) { c.status = 429 })}, []string{"a"}},
		"unchanged": {[]capture{page("a", "badger"), with(page("a", "badger"),
			func(c *capture) { c.status, c.of, c.body = 304, 1, "" })}, []string{"a"}},
		"shown": {
			[]capture{with(page("a", "shell"), func(c *capture) { c.shown = page("a", "badger").body })},
			[]string{"a"},
		},
		"only a shell": {
			[]capture{with(page("a", "badger"), func(c *capture) { c.shown = page("a", "made").body })},
			nil,
		},
		"cut": {[]capture{with(page("a", "badger"), func(c *capture) {
			c.head, c.body = "Content-Encoding: gzip\r\n", packed(t, c.body)+"abc"
		})}, []string{"a"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := archived(t, c.captures...)
			plain := filepath.Join(t.TempDir(), "plain.warc")
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			z, err := gzip.NewReader(bytes.NewReader(b))
			if err != nil {
				t.Fatal(err)
			}
			var unpacked bytes.Buffer
			if _, err := unpacked.ReadFrom(z); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(plain, unpacked.Bytes(), 0o600); err != nil {
				t.Fatal(err)
			}
			for _, file := range []string{path, plain} {
				dir := filepath.Join(t.TempDir(), "index")
				for range 2 { // the same file again changes nothing
					var out, errs bytes.Buffer
					v := IndexVerb{DataDir: dir, Files: []string{file}}
					if code := v.Run(t.Context(), &command.Env{
						Stdout: &out,
						Stderr: &errs,
					}); code != command.ExitOK || errs.Len() > 0 {
						t.Fatalf("%d, %s, %s", code, out.String(), errs.String())
					}
					report, err := Offline(t.Context(), dir, crawl.SearchQuery{Query: "badger", Page: 1, Size: 10})
					if err != nil {
						t.Fatal(err)
					}
					var got []string
					for _, r := range report.Results {
						for _, u := range append(r.AlsoAt, r.Link) {
							got = append(got, strings.TrimPrefix(u, "http://a.test/"))
						}
					}
					slices.Sort(got)
					if !slices.Equal(got, c.want) {
						t.Errorf("%s: found %q, want %q", filepath.Base(file), got, c.want)
					}
				}
			}
		})
	}
}

// TestNoIndexIsNotAnEmptyOne: a data directory without an index is told as such, and stays as it is.
func TestNoIndexIsNotAnEmptyOne(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "data")
	dir, err := datadir.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	dir.Close()
	_, err = Offline(t.Context(), path, crawl.SearchQuery{Query: "badger", Page: 1, Size: 10})
	if !errors.Is(err, datadir.ErrUsage) || !strings.Contains(err.Error(), "has no index") {
		t.Errorf("search: %v", err)
	}
	if _, err := os.Stat(filepath.Join(path, "index")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the search has made an index: %v", err)
	}
}

// TestIndexDuplicateAlone: a duplicate whose content is in no file is told.
func TestIndexDuplicateAlone(t *testing.T) {
	t.Parallel()
	path := archived(t, capture{url: "http://a.test/a", body: "<p>badger"},
		capture{url: "http://a.test/b", body: "<p>badger", of: 1})
	var offset int64
	if _, err := archive.Scan(path, func(r archive.Record) error {
		if r.Type == "revisit" {
			offset = r.Offset
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b[offset:], 0o600); err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	v := IndexVerb{DataDir: filepath.Join(t.TempDir(), "index"), Files: []string{path}}
	if code := v.Run(t.Context(), &command.Env{
		Stdout: &out,
		Stderr: &errs,
	}); code != command.ExitError || !strings.Contains(errs.String(), "1 duplicates") {
		t.Errorf("%d, %s, %s", code, out.String(), errs.String())
	}
}

func packed(t *testing.T, s string) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write([]byte(s)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}
