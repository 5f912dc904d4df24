package integration

import (
	"archive/zip"
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/parquet-go/parquet-go"

	"crawlnode/output/archive"
	"crawlnode/output/table"
)

// smallSite has a page of each kind that exports tell apart.
func smallSite(t *testing.T) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		switch r.URL.Path {
		case "/":
			fmt.Fprint(w,
				`<html lang=en><title>Home & more</title><a href="/old">moved</a> <a href="/none" rel="nofollow">gone</a> <a href="/hidden">h</a> <a href="/same">s</a> <a href="/data.bin">d</a>`)
		case "/old":
			http.Redirect(w, r, "/new?a=1&b=2", http.StatusMovedPermanently)
		case "/new":
			fmt.Fprint(w, `<title>New</title><p>Grüße "und" <b>mehr</b>`)
		case "/hidden":
			fmt.Fprint(w, `<meta name=robots content=noindex><title>Hidden</title>`)
		case "/same":
			// a revisit of /new's payload, or the other way round
			fmt.Fprint(w, `<title>New</title><p>Grüße "und" <b>mehr</b>`)
		case "/data.bin":
			w.Header().Set("Content-Type", "application/octet-stream")
			_, _ = w.Write(bytes.Repeat([]byte{0, 1, 2}, 1000))
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// TestExports writes everything that there is of a crawl from its data directory and through a
// running node, and reads it back.
func TestExports(t *testing.T) {
	needsProcesses(t)
	t.Parallel()
	web, base := smallSite(t), t.TempDir()
	c := newCluster(t, "--allow-net", "127.0.0.0/8", "--delay", "5ms")
	c.addReady(1)
	c.nodes[0].seed(web.URL + "/")
	c.finished(time.Minute)
	data, addr := c.nodes[0].dir, c.nodes[0].http
	var entries []archive.Entry
	// what is asked for is synced
	if err := archive.ReadEntries(strings.NewReader(exported(t, c.nodes[0])),
		func(e archive.Entry) error {
			entries = append(entries, e)
			return nil
		}); err != nil || len(entries) < 7 {
		t.Fatalf("%d captures, %v", len(entries), err)
	}
	wants := func(code int, out, errs string, args ...string) {
		t.Helper()
		if c, o, e := run(t, "", args...); c != code || !strings.Contains(o, out) ||
			!strings.Contains(e, errs) {
			t.Fatalf("%q: %d, %q, %q; want %d, %q, %q", args, c, o, e, code, out, errs)
		}
	}
	index := exported(t, c.nodes[0])
	// each line once
	if code, out, errs := run(t, "", "export", "cdxj", "--data-dir", data, "--data-dir",
		data); code != 0 ||
		out != index || errs != "" {
		t.Errorf("the index of the data directory: %d, %q, %q; want %q", code, out, errs, index)
	}
	for name, from := range map[string][]string{
		"dir":  {"--data-dir", data},
		"addr": {"--addr", addr},
	} {
		export := func(verb, file string, more ...string) string {
			path := filepath.Join(base, name+file)
			wants(0, " in "+path, "", slices.Concat([]string{"export", verb, "-o", path}, from, more)...)
			return path
		}
		checkCaptures(t, export("parquet", "c.parquet"), entries, false)
		checkCaptures(t, export("parquet", "d.parquet", "--details"), entries, true)
		checkPages(t, export("parquet", "p.parquet", "--table", "pages"), web.URL)
		links := readTable[table.Link](t, export("parquet", "links", "--table", "links", "--rows", "2"))
		if len(links) != 5 || links[1].Target != web.URL+"/none" || !links[1].NoFollow ||
			*links[1].Text != "gone" || links[1].Tag != "a" || links[1].Position != 1 {
			t.Errorf("%s: links %+v", name, links)
		}
		checkCollection(t, export("wacz", "x.wacz", "--title", "A title", "--text"), entries,
			name == "dir")
		checkDocuments(t, export("jsonl", "x.jsonl"), web.URL, 1, 3)
		checkDocuments(t, export("bulk", "x.ndjson", "--index", "i", "--with-noindex"), web.URL, 2, 4)
	}
	wants(1, "", "is not empty", "export", "parquet", "--data-dir", data, "-o", base)
	wants(2, "", "has no folder warc", "export", "jsonl", "--data-dir", base)
	wants(2, "", "has no folder warc", "export", "cdxj", "--data-dir", base)
	wants(2, "", "--rows", "export", "parquet", "-o", "x.parquet", "--rows", "0")
}

// readTable reads a file, or a folder of parts.
func readTable[T any](t *testing.T, path string) (rows []T) {
	t.Helper()
	paths := []string{path}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		if paths, err = filepath.Glob(filepath.Join(path, "part-*.parquet")); err != nil ||
			len(paths) < 2 {
			t.Fatalf("%q, %v", paths, err)
		}
	}
	for _, p := range paths {
		part, err := parquet.ReadFile[T](p)
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, part...)
	}
	return rows
}

func checkCaptures(t *testing.T, path string, entries []archive.Entry, details bool) {
	t.Helper()
	rows := readTable[table.Capture](t, path)
	if len(rows) != len(entries) {
		t.Errorf("%s: %d rows of %d captures", path, len(rows), len(entries))
	}
	for _, e := range entries {
		i := slices.IndexFunc(rows, func(r table.Capture) bool {
			return r.File == e.Ref.File && int64(r.Offset) == e.Ref.Offset && int64(r.Length) == e.Ref.Length
		})
		if i < 0 {
			t.Fatalf("%s: no row of %+v", path, e)
		}
		r := &rows[i]
		if r.URL != e.URL || r.SURTKey != archive.Key(e.URL) || int(r.Status) != e.Status ||
			!r.Time.Equal(e.At) || r.Port == nil || r.Host != "127.0.0.1" || r.TLD != nil ||
			r.Protocol != "http" {
			t.Errorf("%s: %+v is %+v", path, e, r)
		}
		if redirects := r.Redirect != nil && strings.HasSuffix(*r.Redirect, "/new?a=1&b=2"); redirects !=
			(details && e.Status == 301) || details != (len(r.RecordID) == 16) {
			t.Errorf("%s: details of %s: %v, %x", path, e.URL, r.Redirect, r.RecordID)
		}
		if strings.HasSuffix(e.URL, "?a=1&b=2") &&
			(r.Path != "/new" || *r.Query != "a=1&b=2" || r.Subset != "warc") {
			t.Errorf("%+v", r)
		}
	}
}

func checkPages(t *testing.T, path, site string) {
	t.Helper()
	rows := readTable[table.Page](t, path)
	titles := map[string]string{}
	for _, r := range rows {
		titles[strings.TrimPrefix(r.URL, site)] = *r.Title
		if strings.HasSuffix(r.URL, "/hidden") != r.NoIndex {
			t.Errorf("%+v", r)
		}
		if strings.HasSuffix(r.URL, "/same") && *r.Text != `Grüße "und" mehr` &&
			*r.Text != `New Grüße "und" mehr` {
			t.Errorf("the text of a revisit is %q", *r.Text)
		}
	}
	if want := map[string]string{
		"/":            "Home & more",
		"/new?a=1&b=2": "New",
		"/same":        "New",
		"/hidden":      "Hidden",
	}; fmt.Sprint(titles) != fmt.Sprint(want) {
		t.Errorf("%s: %v, want %v", path, titles, want)
	}
}

func checkDocuments(t *testing.T, path, site string, lines, want int) {
	t.Helper()
	f, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	ids, n := map[string]bool{}, 0
	for line := range strings.Lines(string(f)) {
		var d struct {
			Index *struct {
				Index string `json:"_index"`
				ID    string `json:"_id"`
			}
			ID, URL, Host, Title, Text string
			Timestamp                  int64
		}
		if err := json.Unmarshal([]byte(line), &d); err != nil {
			t.Fatal(err)
		}
		if n++; lines == 2 && n%2 == 1 {
			if d.Index == nil || d.Index.Index != "i" {
				t.Fatalf("line %d is no action: %s", n, line)
			}
			ids[d.Index.ID] = true
			continue
		}
		if ids[d.ID] != (lines == 2) || !strings.HasPrefix(d.URL, site) || d.Host != "127.0.0.1" ||
			d.Title == "" || d.Timestamp == 0 {
			t.Errorf("%s: %s", path, line)
		}
	}
	if n != lines*want {
		t.Errorf("%s: %d lines, want %d", path, n, lines*want)
	}
}

// checkCollection holds a WACZ file against the rules of the specification.
func checkCollection(t *testing.T, path string, entries []archive.Entry, whole bool) {
	t.Helper()
	z, err := zip.OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	content, methods := map[string][]byte{}, map[string]uint16{}
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		if content[f.Name], err = io.ReadAll(r); err != nil { // it checks the CRC
			t.Fatal(err)
		}
		methods[f.Name] = f.Method
	}
	var about struct {
		Profile     string
		WACZVersion string `json:"wacz_version"`
		Title       string
		MainPageURL string
		Resources   []struct {
			Name, Path, Hash string
			Bytes            int
		}
	}
	var digest struct{ Path, Hash string }
	for name, into := range map[string]any{
		"datapackage.json":        &about,
		"datapackage-digest.json": &digest,
	} {
		if err := json.Unmarshal(content[name], into); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	if about.Profile != "data-package" || about.WACZVersion != "1.1.1" || about.Title != "A title" ||
		about.MainPageURL == "" || len(about.Resources) != len(content)-2 ||
		digest.Hash != hash(content["datapackage.json"]) {
		t.Errorf("%+v, %+v", about, digest)
	}
	for _, r := range about.Resources {
		if b := content[r.Path]; r.Hash != hash(b) || r.Bytes != len(b) ||
			r.Name != strings.ToLower(filepath.Base(r.Path)) {
			t.Errorf("%+v is %d bytes, %s", r, len(b), hash(b))
		}
	}
	checkBlocks(t, content, methods, entries, whole)
	pages := strings.Split(strings.TrimSpace(string(content["pages/pages.jsonl"])), "\n")
	if len(pages) != 5 || !strings.Contains(pages[0], `"format":"json-pages-1.0"`) ||
		!strings.Contains(string(content["pages/pages.jsonl"]), `"text":"`) {
		t.Errorf("pages: %q", pages)
	}
}

func hash(b []byte) string {
	sum := sha256.Sum256(b)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// checkBlocks reads the index of a collection by its blocks, and each record that it names.
func checkBlocks(
	t *testing.T,
	content map[string][]byte,
	methods map[string]uint16,
	entries []archive.Entry,
	whole bool,
) {
	t.Helper()
	blocks := strings.Split(strings.TrimSpace(string(content["indexes/index.idx"])), "\n")
	if len(blocks) != 2 || !strings.HasPrefix(blocks[0], `!meta 0 {"format": "cdxj-gzip-1.0"`) ||
		methods["indexes/index.cdx.gz"] != zip.Store {
		t.Fatalf("%q", blocks)
	}
	packed, err := gzip.NewReader(bytes.NewReader(content["indexes/index.cdx.gz"]))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for in := bufio.NewScanner(packed); in.Scan(); n++ {
		e, err := archive.ParseEntry(in.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		file := content["archive/"+e.Ref.File]
		if int64(len(file)) < e.Ref.Offset+e.Ref.Length || methods["archive/"+e.Ref.File] != zip.Store {
			t.Fatalf("%+v is not in the collection", e)
		}
		r, err := archive.ReadRecord(bytes.NewReader(file[e.Ref.Offset : e.Ref.Offset+e.Ref.Length]))
		if err != nil || r.TargetURI != e.URL || r.Verify() != nil {
			t.Errorf("%+v: %v, %s", e, err, r.TargetURI)
		}
	}
	if n != len(entries) {
		t.Errorf("%d lines of %d captures", n, len(entries))
	}
	if _, same := content["archive/"+entries[0].Ref.File]; same != whole {
		t.Errorf("WARC files as they are: %v, want %v", same, whole)
	}
}
