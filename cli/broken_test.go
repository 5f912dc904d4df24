package cli

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"crawlnode/crawl"
)

// TestBroken names ten links, counts the others, and leaves out what no page links to.
func TestBroken(t *testing.T) {
	t.Parallel()
	status, odd, reason, from := 404, 599, "dns: no such host", "http://a.test/"
	for _, c := range []struct {
		lines []crawl.URLLine
		total string
		want  []string
	}{
		{nil, "0 broken links", nil},
		{[]crawl.URLLine{{URL: "http://a.test/seed", Status: &status}}, "0 broken links", nil},
		{[]crawl.URLLine{
			{URL: "http://a.test/1", Status: &status, Referrer: &from},
		}, "1 broken link", []string{"http://a.test/1 (404 Not Found) found first on http://a.test/"}},
		{[]crawl.URLLine{
			{URL: "http://a.test/1", Status: &odd, Reason: &reason, Referrer: &from},
			{URL: "http://b.test/", Reason: &reason, Referrer: &from}, {URL: "http://c.test/", Referrer: &from},
		}, "3 broken links", []string{
			"http://a.test/1 (599) found first on http://a.test/",
			"http://b.test/ (dns: no such host) found first on http://a.test/",
			"http://c.test/ (given up) found first on http://a.test/",
		}},
	} {
		b, err := countBroken(t.Context(), urlLists{"broken": c.lines})
		if err != nil || b.Total() != c.total ||
			strings.Join(b.Lines(), "\n") != strings.Join(c.want, "\n") {
			t.Errorf("%s: %q, %v", b.Total(), b.Lines(), err)
		}
	}
	many := urlLists{}
	for n := range 25 {
		many["broken"] = append(many["broken"],
			crawl.URLLine{URL: fmt.Sprintf("http://a.test/%d", n), Status: &status, Referrer: &from})
	}
	b, err := countBroken(t.Context(), many)
	if lines := b.Lines(); err != nil || b.Links != 25 || len(lines) != maxBrokenLinks+1 ||
		lines[maxBrokenLinks] != "and 15 more" {
		t.Errorf("%d links: %q, %v", b.Links, lines, err)
	}
}

// TestPagesOfALink: only a list of links that has the page on which a URL was found first tells of
// all its pages.
func TestPagesOfALink(t *testing.T) {
	t.Parallel()
	b := brokenList{Links: 2, First: []brokenLink{
		{URL: "http://a.test/1", Why: "404", From: "http://a.test/"},
		{URL: "http://a.test/2", Why: "404", From: "http://a.test/early"},
	}}
	folder := t.TempDir()
	if err := b.readPages(t.Context(), folder); err != nil || b.First[0].Pages != nil {
		t.Fatalf("of no list: %+v, %v", b, err)
	}
	var lines bytes.Buffer
	z := gzip.NewWriter(&lines)
	for _, link := range []string{"/b /1", "/ /1", "/b /1", "/b /3", "/late /2"} {
		source, target, _ := strings.Cut(link, " ")
		if _, err := fmt.Fprintf(z,
			`{"source":"http://a.test%s","target":"http://a.test%s","tag":"a"}`+
				"\n", source, target); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(folder, "links-20260101000000-00000-n.jsonl.gz")
	if err := os.WriteFile(path, lines.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := b.readPages(t.Context(), folder); err != nil {
		t.Fatal(err)
	}
	want := []string{"http://a.test/1 (404) linked from http://a.test/, http://a.test/b",
		"http://a.test/2 (404) found first on http://a.test/early"}
	if got := b.Lines(); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
