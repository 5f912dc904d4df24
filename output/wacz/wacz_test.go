package wacz

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// collection writes a collection of these WARC files and pages, and returns its parts and how each
// is stored.
func collection(
	t *testing.T,
	o Options,
	files []string,
	pages []Page,
) (parts map[string][]byte, methods map[string]uint16) {
	t.Helper()
	var out bytes.Buffer
	w := New(&out, o)
	for i, name := range files {
		if err := w.AddFile(name, func(out io.Writer) error {
			_, err := fmt.Fprintf(out, "WARC %d", i)
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	var lines strings.Builder
	for i := range 2*BlockLines + 1 {
		fmt.Fprintf(&lines, "com,example)/%05d 20261127000000 {\"filename\":\"a\"}\n", i)
	}
	if err := w.Index(strings.NewReader(lines.String())); err != nil {
		t.Fatal(err)
	}
	if err := w.Pages(func(add func(Page) error) error {
		for _, p := range pages {
			if err := add(p); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	z, err := zip.NewReader(bytes.NewReader(out.Bytes()), int64(out.Len()))
	if err != nil {
		t.Fatal(err)
	}
	parts, methods = map[string][]byte{}, map[string]uint16{}
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		if parts[f.Name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
		methods[f.Name] = f.Method
	}
	return parts, methods
}

// packageSchema is the schema of data packages by Open Knowledge, as the npm package datapackage
// 1.1.10 has it (testdata/LICENSE).
func packageSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	raw, err := os.ReadFile("testdata/data-package.json")
	if err != nil {
		t.Fatal(err)
	}
	tree, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("data-package.json", tree); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("data-package.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

func sum(b []byte) string {
	d := sha256.Sum256(b)
	return "sha256:" + hex.EncodeToString(d[:])
}

// TestSpecification holds a collection against what WACZ 1.1.1 says of its parts, and its
// description against the schema of data packages.
func TestSpecification(t *testing.T) {
	at := time.Date(2026, 11, 27, 9, 0, 0, 0, time.UTC)
	for what, files := range map[string][]string{
		"plain":                 {"crawlnode-20261127-1-n1.warc.gz", "crawlnode-20261127-2-n1.warc.gz"},
		"capitals and others":   {"Crawl-1-Nœud 1.warc.gz", "a.warc.gz"},
		"only the case differs": {"A.warc.gz", "a.warc.gz", "2-a.warc.gz"},
		"none":                  nil,
	} {
		t.Run(what, func(t *testing.T) {
			o := Options{
				Title:    "A title",
				Software: "crawlnode 1.0",
				Created:  at,
				MainPage: "https://example.com/",
				MainTime: at,
			}
			pages := []Page{{URL: "https://example.com/", At: at, Title: "Home", Text: "words <b> & more"},
				{URL: "https://example.com/2", At: at}}
			parts, methods := collection(t, o, files, pages)
			checkDescription(t, parts, len(files)+3)
			checkPages(t, parts["pages/pages.jsonl"], pages)
			checkIndex(t, parts)
			for name, method := range methods { // ranges of these are read without the rest
				if stored := strings.HasPrefix(name, "archive/") ||
					strings.HasSuffix(name, ".cdx.gz"); stored != (method == zip.Store) {
					t.Errorf("%s is stored by method %d", name, method)
				}
			}
		})
	}
}

func checkDescription(t *testing.T, parts map[string][]byte, want int) {
	t.Helper()
	tree, err := jsonschema.UnmarshalJSON(bytes.NewReader(parts["datapackage.json"]))
	if err == nil {
		err = packageSchema(t).Validate(tree)
	}
	if err != nil {
		t.Errorf("datapackage.json: %v", err)
	}
	var d description
	var signed struct{ Path, Hash string }
	for name, into := range map[string]any{
		"datapackage.json":        &d,
		"datapackage-digest.json": &signed,
	} {
		if err := json.Unmarshal(parts[name], into); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	if d.Profile != "data-package" || d.WACZVersion != "1.1.1" || len(d.Resources) != want ||
		len(parts) != want+2 || signed.Path != "datapackage.json" ||
		signed.Hash != sum(parts["datapackage.json"]) {
		t.Errorf("%+v, %+v, %d parts", d, signed, len(parts))
	}
	names := map[string]bool{}
	for _, r := range d.Resources {
		if b, ok := parts[r.Path]; !ok || r.Bytes != int64(len(b)) || r.Hash != sum(b) || names[r.Name] {
			t.Errorf("%+v is of %d bytes, %s; others: %v", r, len(b), sum(b), names)
		}
		names[r.Name] = true
	}
}

func checkPages(t *testing.T, text []byte, pages []Page) {
	t.Helper()
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	var head struct{ Format, ID, Title string }
	if err := json.Unmarshal([]byte(lines[0]), &head); err != nil || head.Format != "json-pages-1.0" ||
		head.ID == "" || head.Title == "" {
		t.Errorf("%q: %v", lines[0], err)
	}
	if len(lines) != 1+len(pages) {
		t.Fatalf("%d lines of %d pages", len(lines), len(pages))
	}
	ids := map[string]bool{}
	for i, line := range lines[1:] {
		var p pageLine
		if err := json.Unmarshal([]byte(line), &p); err != nil {
			t.Fatal(err)
		}
		ts, err := time.Parse(time.RFC3339, p.TS)
		if err != nil || !ts.Equal(pages[i].At) || p.URL != pages[i].URL || p.Title != pages[i].Title ||
			p.Text != pages[i].Text || p.ID == "" || ids[p.ID] {
			t.Errorf("%+v is %s: %v", pages[i], line, err)
		}
		ids[p.ID] = true
	}
}

// checkIndex reads each block of the index by the index of blocks alone.
func checkIndex(t *testing.T, parts map[string][]byte) {
	t.Helper()
	packed := parts["indexes/index.cdx.gz"]
	lines := strings.Split(strings.TrimSpace(string(parts["indexes/index.idx"])), "\n")
	if len(lines) != 1+3 || !strings.HasPrefix(lines[0], `!meta 0 {"format": "cdxj-gzip-1.0"`) {
		t.Fatalf("%q", lines)
	}
	end := int64(0)
	for _, line := range lines[1:] {
		fields := strings.SplitN(line, " ", 3)
		var b struct {
			Offset, Length   int64
			Digest, Filename string
		}
		if err := json.Unmarshal([]byte(fields[2]), &b); err != nil {
			t.Fatal(err)
		}
		if b.Offset != end || b.Filename != "index.cdx.gz" {
			t.Errorf("%s does not follow %d", line, end)
		}
		end = b.Offset + b.Length
		z, err := gzip.NewReader(bytes.NewReader(packed[b.Offset:end]))
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(z)
		if err != nil || !strings.HasPrefix(string(text), fields[0]+" "+fields[1]+" ") ||
			b.Digest != sum(packed[b.Offset:end]) {
			t.Errorf("%s: %.80q, %v", line, text, err)
		}
	}
	if end != int64(len(packed)) {
		t.Errorf("the blocks have %d bytes of %d", end, len(packed))
	}
}
