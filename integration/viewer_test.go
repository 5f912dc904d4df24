package integration

import (
	"archive/zip"
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha1" //nolint:gosec // WARC digests are SHA-1
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"crawlnode/crawl"
	"crawlnode/output/archive"
)

// viewerSites are URLs of each kind that is looked up otherwise than it is sorted, by a number.
var viewerSites = []string{
	"http://a.test/dir/%d/", "http://a.test/dir/%d", "http://a.test/dir/%d-x",
	"http://a.test/Dir/%d/Page.HTML",
	"https://b.test/%%7E%d/", "https://b.test/?u=https%%3A%%2F%%2Fx.test%%2F%d%%2F",
	"http://b.test//x//%d",
	"http://www.c.test/%d/?b=2&a=1", "http://www.c.test/%d?A=1&b=2",
	"http://xn--bcher-kva.example/%d/",
	"http://127.0.0.1:8500/%d/", "http://h%d.test/", "http://a.test/%d!/",
	"http://a.test/%%C3%%BC/%d/",
	"http://a.test/%d.x/?q=%%26%%23", "http://d.test/%d/?",
	"http://d.test/%d?sid=9682993c8daa2c5497996114facdc805",
	"http://[2001:db8::1]:81/%d/", "http://a.test/(%d)/",
}

// viewerArchive writes an archive of n captures, each of its own URL, at one second each.
func viewerArchive(t *testing.T, n int) (dir string, urls []string, at []time.Time) {
	t.Helper()
	dir = t.TempDir()
	a, err := archive.Open(filepath.Join(dir, "warc"),
		archive.Options{Node: "0123456789abcdef", Name: "n1", Gather: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		url := fmt.Sprintf(viewerSites[i%len(viewerSites)], i)
		c := crawl.Capture{
			FetchedAt: time.Date(2026, 1, 2, 3, 4, i, 0, time.UTC), Status: 200, ContentType: "text/html",
			ResponseHead: []byte("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"), Body: viewerPage(i),
			Digest: sha1.Sum(viewerPage(i)), //nolint:gosec // as WARC has it
		}
		if err := c.URL.UnmarshalText([]byte(url)); err != nil {
			t.Fatal(err)
		}
		if _, err := a.Put(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		urls, at = append(urls, url), append(at, c.FetchedAt)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	return dir, urls, at
}

func viewerPage(i int) []byte { return fmt.Appendf(nil, "<!doctype html><p>page number %d.", i) }

// viewerPages adds a file of so many pages, which takes minutes.
var viewerPages = flag.Int("viewerpages", 0,
	"TestViewerFindsPages also looks into a file of so many pages")

// TestViewerFindsPages: the engine of ReplayWeb.page finds the pages of a WACZ file, whatever its
// size and whatever their URLs are: with one block of the index, with one that is nearly full, with
// two, and with more blocks than the engine reads for one question, which are seven.
func TestViewerFindsPages(t *testing.T) {
	needsViewer(t)
	t.Parallel()
	sizes := []int{1, len(viewerSites), 2999, 3001, 22_000}
	if testing.Short() {
		sizes = []int{1, 3001}
	}
	if *viewerPages > 0 {
		sizes = append(sizes, *viewerPages)
	}
	for _, n := range sizes {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			data, urls, at := viewerArchive(t, n)
			file := filepath.Join(data, "x.wacz")
			if out, err := exec.Command(binary(t), "export", "wacz", "--data-dir", data, "-o",
				file).CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			var asked bytes.Buffer
			lines := json.NewEncoder(&asked)
			lines.SetEscapeHTML(false)
			ask := func(i int, fresh bool) {
				if err := lines.Encode([]any{urls[i], at[i].Format("20060102150405"), string(viewerPage(i)),
					fresh}); err != nil {
					t.Fatal(err)
				}
			}
			for i := 0; i < n; i += n/20 | 1 { // each kind, all over the file
				ask(i, true)
			}
			each := 3
			if n > 9000 {
				each = 1
			}
			for _, url := range edges(t, file, each) {
				ask(slices.Index(urls, url), true)
			}
			for i := 0; i < n; i += n/300 | 1 {
				ask(i, false)
			}
			askViewer(t, data, "x.wacz", &asked)
		})
	}
}

// needsViewer fails in CI, and leaves the test out elsewhere, when the viewer is not there.
func needsViewer(t *testing.T) {
	t.Helper()
	_, err := os.Stat(filepath.Join("wabac", "node_modules", "@webrecorder", "wabac"))
	if err == nil {
		_, err = exec.LookPath("node")
	}
	if err != nil {
		unable(t, "needs node and its packages, which make deps installs: %v", err)
	}
}

// askViewer has the viewer open a file of a folder and look for what is asked (check.mjs).
func askViewer(t *testing.T, dir, file string, asked io.Reader) {
	t.Helper()
	server := httptest.NewServer(http.FileServer(http.Dir(dir)))
	defer server.Close()
	viewer := exec.Command("node", filepath.Join("wabac", "check.mjs"), server.URL+"/"+file)
	viewer.Stdin = asked
	var said bytes.Buffer
	viewer.Stderr = &said
	out, err := viewer.Output()
	if err != nil {
		t.Errorf("%v: %s%s", err, out, said.String()[max(0, said.Len()-3000):])
	}
	t.Logf("%s: %s", file, out)
}

// TestViewerShowsPage: of a page that a browser has shown, the engine of ReplayWeb.page shows the
// HTML when it opens the WARC file itself; the picture has a name of its own.
func TestViewerShowsPage(t *testing.T) {
	needsViewer(t)
	t.Parallel()
	dir := t.TempDir()
	a, err := archive.Open(dir, archive.Options{Node: "0123456789abcdef", Name: "n1"})
	if err != nil {
		t.Fatal(err)
	}
	var asked bytes.Buffer
	lines := json.NewEncoder(&asked)
	lines.SetEscapeHTML(false)
	for i, url := range []string{"http://a.test/", "http://a.test/X?b=2&a=1", "https://a.test/(x)/",
		"http://a.test/%7Ey", "http://[::1]:81/"} {
		at := time.Date(2026, 1, 2, 3, 4, 10*i, 0, time.UTC)
		c := crawl.Capture{
			FetchedAt: at, Status: 200, ContentType: "text/html", Body: []byte("<p>answer"),
			ResponseHead: []byte("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"),
			Resources: []crawl.Resource{
				{At: at.Add(2 * time.Second), ContentType: "text/html; charset=utf-8", Body: []byte("<p>shown")},
				{At: at.Add(2 * time.Second), ContentType: "image/png", Body: []byte("\x89PNG picture")},
			},
		}
		if err := c.URL.UnmarshalText([]byte(url)); err != nil {
			t.Fatal(err)
		}
		if _, err := a.Put(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		for _, question := range [][]any{
			{url, at.Format("20060102150405"), "<p>answer", false},
			{url, at.Add(2 * time.Second).Format("20060102150405"), "<p>shown", false},
			{"urn:view:" + url, at.Format("20060102150405"), "PNG picture", false},
		} {
			if err := lines.Encode(question); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.warc.gz"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%q, %v", files, err)
	}
	askViewer(t, dir, filepath.Base(files[0]), &asked)
}

// edges lists the URLs that stand first and last in the blocks of an index.
func edges(t *testing.T, file string, each int) (urls []string) {
	t.Helper()
	z, err := zip.OpenReader(file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = z.Close() }()
	packed, err := z.Open("indexes/index.cdx.gz")
	if err != nil {
		t.Fatal(err)
	}
	in := bufio.NewReader(packed)
	block, err := gzip.NewReader(in)
	for ; err == nil; err = block.Reset(in) {
		block.Multistream(false)
		text, err := io.ReadAll(block)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSpace(string(text)), "\n")
		for i, line := range lines {
			if i >= each && i < len(lines)-each {
				continue
			}
			e, err := archive.ParseEntry([]byte(line))
			if err != nil {
				t.Fatal(err)
			}
			urls = append(urls, e.URL)
		}
	}
	if !errors.Is(err, io.EOF) || len(urls) == 0 {
		t.Fatalf("%d URLs: %v", len(urls), err)
	}
	return urls
}
