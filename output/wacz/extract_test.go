package wacz

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// entry is a part of a file of another program.
type entry struct {
	name   string
	method uint16
	body   string
}

// zipped makes a ZIP file.
func zipped(t testing.TB, parts ...entry) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, p := range parts {
		w, err := z.CreateHeader(&zip.FileHeader{Name: p.name, Method: p.method})
		if err == nil {
			_, err = io.WriteString(w, p.body)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// extracted extracts a file, and returns the WARC files by their names.
func extracted(t testing.TB, raw []byte) (*Contents, map[string]string, error) {
	t.Helper()
	file, dir := filepath.Join(t.TempDir(), "x.wacz"), t.TempDir()
	if err := os.WriteFile(file, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := Extract(file, dir)
	files := map[string]string{}
	list, readErr := os.ReadDir(dir)
	if readErr != nil {
		t.Fatal(readErr)
	}
	for _, e := range list {
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		files[e.Name()] = string(b)
	}
	return c, files, err
}

// TestExtractOwn reads what the Writer has written.
func TestExtractOwn(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	var b bytes.Buffer
	w := New(&b, Options{Created: at, MainPage: "http://a.test/", MainTime: at})
	for _, name := range []string{"1.warc.gz", "2.warc.gz"} {
		if err := w.AddFile(name, func(out io.Writer) error {
			_, err := io.WriteString(out, "bytes of "+name)
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Index(strings.NewReader("a.test)/ 20260102030405 {}\n")); err != nil {
		t.Fatal(err)
	}
	if err := w.Pages(func(add func(Page) error) error {
		return add(Page{URL: "http://a.test/", At: at})
	}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	c, files, err := extracted(t, b.Bytes())
	if err != nil || len(c.Damage) > 0 || len(c.Files) != 2 {
		t.Fatalf("%+v, %v", c, err)
	}
	if files["1.warc.gz"] != "bytes of 1.warc.gz" || files["2.warc.gz"] != "bytes of 2.warc.gz" ||
		len(files) != 2 {
		t.Errorf("%q", files)
	}
	if want := []Page{{URL: "http://a.test/", At: at}}; fmt.Sprint(c.Starts) != fmt.Sprint(want) {
		t.Errorf("starts %v", c.Starts)
	}
}

// TestExtractForeign reads a file in the form that browsertrix writes.
func TestExtractForeign(t *testing.T) {
	t.Parallel()
	const warc = "bytes of a record"
	sum := sha256.Sum256([]byte(warc))
	parts := []entry{
		{"archive/rec-1-20260102.warc.gz", zip.Store, warc},
		{"archive/", zip.Store, ""}, // folders may stand there
		{"indexes/index.cdx.gz", zip.Store, "\x1f\x8bno index"},
		{"indexes/index.idx", zip.Deflate, "!meta 0 {}\n"},
		{"logs/crawl.log", zip.Deflate, "{}\n"},
		{"pages/pages.jsonl", zip.Deflate, `{"format":"json-pages-1.0","id":"pages","title":"Seed Pages","hasText":"false"}
{"id":"1","url":"https://a.test/","title":"A","ts":"2026-01-02T03:04:05.678Z","seed":true,"depth":0}
{"id":"2","url":"https://a.test/deep","ts":"2026-01-02T03:04:06Z","seed":false}
not JSON
{"id":"3","url":"https://b.test/","ts":"no time","seed":true}
`},
		{"pages/extraPages.jsonl", zip.Deflate, "{}\n"},
		{"datapackage.json", zip.Deflate,
			`{"profile":"data-package","wacz_version":"1.1.1","resources":[{"name":"rec-1-20260102.warc.gz",` +
				`"path":"archive/rec-1-20260102.warc.gz","hash":"sha256:` + hex.EncodeToString(sum[:]) +
				`","bytes":17}]}`},
		{"datapackage-digest.json", zip.Deflate, "{}"},
	}
	c, files, err := extracted(t, zipped(t, parts...))
	if err != nil || len(c.Damage) > 0 || len(files) != 1 || files["rec-1-20260102.warc.gz"] != warc {
		t.Fatalf("%+v, %q, %v", c, files, err)
	}
	if len(c.Starts) != 2 || c.Starts[0].Title != "A" || c.Starts[0].At.Second() != 5 ||
		c.Starts[1].URL != "https://b.test/" {
		t.Errorf("starts %v", c.Starts)
	}

	// Without an index, a description and a list of pages it opens too, and with files of one name.
	c, files, err = extracted(t, zipped(t, parts[0],
		entry{"archive/sub/rec-1-20260102.warc.gz", zip.Deflate, "other"},
		entry{"archive/x.cdxj", zip.Store, "no"}))
	if err != nil || len(c.Files) != 2 || files["2-rec-1-20260102.warc.gz"] != "other" ||
		len(files) != 2 {
		t.Errorf("%+v, %q, %v", c, files, err)
	}

	// What was changed on the way is read and named.
	changed := append([]entry{{parts[0].name, zip.Store, "bytes of a lie..."}}, parts[1:]...)
	if c, _, err := extracted(t, zipped(t, changed...)); err != nil || len(c.Damage) != 1 ||
		len(c.Files) != 1 ||
		!strings.Contains(c.Damage[0].Error(), "its digest is another one") {
		t.Errorf("%+v, %v", c, err)
	}
	raw := zipped(t, parts...)
	raw[bytes.Index(raw, []byte(warc))] ^= 1
	if c, _, err := extracted(t, raw); err != nil || len(c.Damage) != 1 ||
		!strings.Contains(c.Damage[0].Error(), "checksum") {
		t.Errorf("%+v, %v", c, err)
	}
}

// TestExtractHostile: files that were made to do harm, and files that are none, are refused with a
// reason, and nothing is written beside the folder.
func TestExtractHostile(t *testing.T) {
	t.Parallel()
	good := entry{"archive/a.warc.gz", zip.Store, "x"}
	whole := zipped(t, good)
	encrypted := bytes.Clone(whole)
	encrypted[bytes.Index(encrypted, []byte("PK\x01\x02"))+8] |= 1
	crowded := bytes.Clone(whole) // as if it had 65,000 parts, and by its larger directory a million
	end := bytes.Index(crowded, []byte("PK\x05\x06"))
	larger := make([]byte, 56+20)
	copy(larger, "PK\x06\x06")
	binary.LittleEndian.PutUint64(larger[32:], 1_000_000)
	copy(larger[56:], "PK\x06\x07")
	binary.LittleEndian.PutUint64(larger[56+8:], uint64(end))
	crowded = append(crowded[:end:end], append(larger, crowded[end:]...)...)
	for name, c := range map[string]struct {
		raw  []byte
		want string
	}{
		"nothing": {nil, "no WACZ file, or not whole"},
		"no ZIP":  {[]byte("<html>not found</html>"), "no WACZ file, or not whole"},
		"cut off": {whole[:len(whole)-10], "no WACZ file, or not whole"},
		"up": {zipped(t, good, entry{"archive/../../evil.warc.gz", zip.Store, "x"}),
			"leads out of it"},
		"root": {zipped(t, good, entry{"/etc/evil", zip.Store, "x"}), "leads out of it"},
		"backslashes": {zipped(t, good, entry{`archive\..\evil.warc.gz`, zip.Store, "x"}),
			"leads out of it"},
		"encrypted":     {encrypted, "encrypted"},
		"nothing in it": {zipped(t), "no WARC file"},
		"no WARC file": {
			zipped(t, entry{"archive/a.txt", zip.Store, "x"}, entry{"a.warc.gz", zip.Store, "x"}),
			"no WARC file",
		},
		"no description": {zipped(t, good, entry{"datapackage.json", zip.Deflate, "{"}),
			"datapackage.json cannot be read"},
		"a bomb": {zipped(t, entry{"archive/a.warc", zip.Deflate, strings.Repeat("\x00", 80<<20)}),
			"more than 16 times its size"},
		"bombs": {zipped(t, entry{"archive/a.warc", zip.Deflate, strings.Repeat("\x00", 40<<20)},
			entry{"archive/b.warc", zip.Deflate,
				strings.Repeat("\x00", 40<<20)}), "more than 16 times its size"},
		"a crowd": {crowded, "1000000 parts"},
	} {
		_, files, err := extracted(t, c.raw)
		if err == nil || !strings.Contains(err.Error(), c.want) ||
			!strings.Contains(err.Error(), "x.wacz: ") {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		for file := range files {
			if file != "a.warc.gz" && file != "a.warc" && file != "b.warc" {
				t.Errorf("%s: %s was written", name, file)
			}
		}
	}
	if _, err := Extract(filepath.Join(t.TempDir(), "none.wacz"), t.TempDir()); err == nil ||
		!strings.Contains(err.Error(), "no such file") {
		t.Error(err)
	}
}

// FuzzExtract: whatever bytes come, what is written stays in the folder and within the bound.
func FuzzExtract(f *testing.F) {
	good := entry{"archive/a.warc.gz", zip.Store, "x"}
	f.Add(zipped(f, good,
		entry{"pages/pages.jsonl", zip.Deflate, "{\"url\":\"http://a.test/\",\"seed\":true}\n"}))
	f.Add(zipped(f, good, entry{"datapackage.json", zip.Store,
		`{"resources":[{"path":"archive/a.warc.gz","hash":"sha256:00"}]}`}))
	f.Add(zipped(f, entry{"archive/../a.warc.gz", zip.Store, "x"}))
	f.Fuzz(func(t *testing.T, raw []byte) {
		c, files, err := extracted(t, raw)
		if (err == nil) != (c != nil) || c != nil && (len(c.Files) == 0 || len(c.Files) != len(files)) {
			t.Fatalf("%+v, %d files, %v", c, len(files), err)
		}
		size := 0
		for _, text := range files {
			size += len(text)
		}
		if size > maxGrowth*len(raw)+freeGrowth+1 {
			t.Fatalf("%d bytes were written for %d", size, len(raw))
		}
	})
}
