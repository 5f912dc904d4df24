package linkgraph

import (
	"bytes"
	"crypto/sha1" //nolint:gosec // payload digests of WARC are SHA-1
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"

	"crawlnode/crawl"
	"crawlnode/output/archive"
	"crawlnode/web/urlnorm"
)

// TestLinksAsSeen: the links of a WARC file are those that the crawl saw: of duplicates too, of
// pages as a browser has shown them, of pages of which a part could be decoded. The file may be
// compressed record by record, as a whole, or not at all; duplicates may stand before what they
// refer to.
func TestLinksAsSeen(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a, err := archive.Open(dir, archive.Options{Node: "n", MaxFileBytes: 1})
	if err != nil {
		t.Fatal(err)
	}
	var first crawl.ArchiveRef
	put := func(name, head, body, shown string, status int, duplicate bool) {
		t.Helper()
		u, err := urlnorm.Parse("http://h.test/" + name)
		if err != nil {
			t.Fatal(err)
		}
		c := crawl.Capture{
			URL:          u,
			FetchedAt:    time.Unix(1e9, 0),
			Status:       status,
			RequestHead:  []byte("GET / HTTP/1.1\r\n\r\n"),
			Body:         []byte(body),
			Digest:       sha1.Sum([]byte(body)),
			ResponseHead: fmt.Appendf(nil, "HTTP/1.1 %d X\r\n%s\r\n", status, head),
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
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, _ = z.Write([]byte(`<a href=/from-packed>x</a>`))
	_ = z.Close()
	const html = "Content-Type: text/html\r\n"
	put("plain", html, `<a href=/from-plain>x</a>`, "", 200, false)
	put("twin", html, `<a href=/from-plain>x</a>`, "", 200, true)
	put("shown", html, `<script src=/app.js></script>`, `<a href=/from-shown>x</a>`, 200, false)
	put("packed", html+"Content-Encoding: gzip\r\n", packed.String()+"abc", "", 200, false)
	put("untyped", "", `<!doctype html><a href=/from-untyped>x</a>`, "", 200, false)
	put("moved", "Location: /there\r\n", "", "", 301, false)
	put("again", "Location: /there\r\n", `<a href=/from-plain>x</a>`, "", 302, true)
	put("plain", "", "", "", 304, true)
	put("error", html, `<a href=/none>x</a>`, "", 404, false)
	put("picture", "Content-Type: image/png\r\n", `<a href=/none>x</a>`, "", 200, false)
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	want := []string{"again there", "moved there", "packed from-packed", "plain from-plain",
		"shown from-shown", "twin from-plain", "untyped from-untyped"}
	files, err := archive.Files(dir)
	if err != nil || len(files) != 10 {
		t.Fatal(files, err)
	}
	forms := map[string]func(plain []byte) ([]byte, string){
		"plain": func(b []byte) ([]byte, string) { return b, ".warc" },
		"whole": func(b []byte) ([]byte, string) {
			var out bytes.Buffer
			z := gzip.NewWriter(&out)
			_, _ = z.Write(b)
			_ = z.Close()
			return out.Bytes(), ".warc.gz"
		},
	}
	check := func(form string, paths []string) {
		t.Helper()
		b, err := NewBuilder(Options{Dir: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := b.Close(); err != nil {
				t.Error(err)
			}
		}()
		for _, p := range paths {
			if err := b.Read(p); err != nil {
				t.Errorf("%s: %v", form, err)
			}
		}
		g, err := b.Finish()
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		name := func(id uint32) string {
			n, err := g.Name(id)
			if err != nil {
				t.Error(err)
			}
			return strings.TrimPrefix(n, "http://h.test/")
		}
		if err := g.InLinks(func(to uint32, sources []uint32) error {
			for _, from := range sources {
				got = append(got, name(from)+" "+name(to))
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		slices.Sort(got)
		if !slices.Equal(got, want) || b.Counts().Missing != 0 {
			t.Errorf("%s: %q, want %q; %d missing", form, got, want, b.Counts().Missing)
		}
	}
	check("records", files)
	backward := slices.Clone(files)
	slices.Reverse(backward)
	check("backward", backward)
	for form, make := range forms {
		var paths []string
		for i, f := range files {
			packed, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			z, err := gzip.NewReader(bytes.NewReader(packed))
			if err != nil {
				t.Fatal(err)
			}
			var plain bytes.Buffer
			if _, err := plain.ReadFrom(z); err != nil {
				t.Fatal(err)
			}
			b, suffix := make(plain.Bytes())
			path := filepath.Join(t.TempDir(), fmt.Sprint(i, suffix))
			if err := os.WriteFile(path, b, 0o600); err != nil {
				t.Fatal(err)
			}
			paths = append(paths, path)
		}
		check(form, paths)
	}
}
