package dedupe

import (
	"bytes"
	"compress/gzip"
	"crypto/sha1" //nolint:gosec // payload digests of WARC are SHA-1
	"encoding/base32"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"crawlnode/crawl"
)

// sumOf is the digest of a payload.
func sumOf(payload string) crawl.Digest { return sha1.Sum([]byte(payload)) }

// cdxj is a line as pywb and crawlnode write it.
func cdxj(d crawl.Digest, date, url, mime, status string) string {
	return fmt.Sprintf("key %s {\"url\":%q,\"mime\":%q,\"status\":%q,\"digest\":\"sha1:%s\"}\n",
		date, url, mime, status, base32.StdEncoding.EncodeToString(d[:]))
}

func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func packed(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, err := z.Write([]byte(text))
	if err := errors.Join(err, z.Close()); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func open(t *testing.T, dir string, files ...string) *Index {
	t.Helper()
	x, err := Open(Options{Files: files, Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = x.Close() })
	return x
}

// TestWhatCounts: which captures are known, and by which of several.
func TestWhatCounts(t *testing.T) {
	t.Parallel()
	d := sumOf
	text := cdxj(d("a"), "20260101000000", "http://later.test/", "text/html", "200") +
		cdxj(d("a"), "20250101000000", "http://first.test/ x", "text/html", "200") +
		cdxj(d("a"), "20240101000000", "http://revisit.test/", "warc/revisit", "200") +
		cdxj(d("only a revisit"), "20240101000000", "http://b.test/", "warc/revisit", "200") +
		cdxj(d("unchanged"), "20240101000000", "http://b.test/", "text/html", "304") +
		cdxj(d(""), "20240101000000", "http://b.test/", "text/html", "200") +
		cdxj(d("undated"), "2024", "http://b.test/", "text/html", "200") +
		cdxj(d("long"), "20240101000000", "http://b.test/"+strings.Repeat("x", maxURL), "text/html",
			"200") +
		cdxj(d("two lines"), "20240101000000", "http://b.test/\nx", "text/html", "200") +
		cdxj(d("gone"), "20240101000000", "http://b.test/gone", "text/html", "404") +
		`key 20240101000000 {"url":"http://b.test/","status":"200","digest":"md5:AAAA"}` + "\n"
	bare := strings.ReplaceAll(
		cdxj(d("of another"), "20230101000000", "http://cc.test/", "text/html", "200"), "sha1:", "")
	x := open(t, t.TempDir(), write(t, "a.cdxj", text), write(t, "b.cdxj.gz", packed(t, bare)))
	for payload, want := range map[string]string{
		"a": "2025-01-01 http://first.test/ x", "gone": "2024-01-01 http://b.test/gone",
		"of another":     "2023-01-01 http://cc.test/",
		"only a revisit": "", "unchanged": "", "": "", "undated": "", "long": "", "two lines": "",
		"nobody's": "",
	} {
		o, err := x.Find(d(payload))
		got := ""
		if o != nil {
			got = o.FetchedAt.Format(time.DateOnly) + " " + o.URL
			if o.Record != [16]byte{} || o.Node != "" {
				t.Errorf("%q: %+v names what no index has", payload, o)
			}
		}
		if err != nil || got != want {
			t.Errorf("%q: %q, %v; want %q", payload, got, err, want)
		}
	}
	if x.Len() != 3 {
		t.Errorf("%d payloads, want 3", x.Len())
	}
}

// TestCrowded compares an Index with a map when very many digests stand in one part of the table,
// so that lines of all lengths are searched.
func TestCrowded(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	known := map[crawl.Digest]string{}
	var text strings.Builder
	for i := range 3000 {
		var d crawl.Digest
		d[0], d[1] = 0xff, 0xff
		if i%3 == 0 {
			d[0], d[1] = byte(r.Uint32()), byte(r.Uint32())
		}
		binary.BigEndian.PutUint32(d[2:], r.Uint32())
		known[d] = "http://a.test/" + strings.Repeat("x", r.IntN(1+r.IntN(maxURL-20)))
		text.WriteString(cdxj(d, "20250101000000", known[d], "text/html", "200"))
	}
	x := open(t, t.TempDir(), write(t, "a.cdxj", text.String()))
	if x.Len() != int64(len(known)) {
		t.Errorf("%d payloads, want %d", x.Len(), len(known))
	}
	for d, url := range known {
		if o, err := x.Find(d); err != nil || o == nil || o.URL != url {
			t.Fatalf("%x: %+v, %v; want %.40s", d, o, err, url)
		}
		d[19]++
		if o, err := x.Find(d); err != nil || o != nil {
			t.Fatalf("%x: %+v, %v; want none", d, o, err)
		}
	}
}

// TestStarts: a file is made once for the same indexes, anew when one has changed or the file is
// damaged, and there is only one.
func TestStarts(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "made")
	index := write(t, "a.cdxj",
		cdxj(sumOf("a"), "20250101000000", "http://a.test/", "text/html", "200"))
	made := 0
	start := func(want int, known string) {
		t.Helper()
		x, err := Open(Options{Files: []string{index}, Dir: dir, Making: func(bytes int64) {
			made++
			if info, err := os.Stat(index); err != nil || info.Size() != bytes {
				t.Errorf("%d bytes are told", bytes)
			}
		}})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = x.Close() }()
		if o, err := x.Find(sumOf(known)); err != nil || o == nil || made != want {
			t.Errorf("%+v, %v; made %d times, want %d", o, err, made, want)
		}
		if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
			t.Errorf("%v, %v in the folder", entries, err)
		}
	}
	start(1, "a")
	start(1, "a")
	more := cdxj(sumOf("b"), "20250101000000", "http://b.test/", "text/html", "200")
	if err := os.WriteFile(index, []byte(more+more), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, namePrefix+
		"0.index.tmp"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	start(2, "b")
	paths, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(paths[0])
	if err != nil {
		t.Fatal(err)
	}
	for i, damaged := range [][]byte{nil, whole[:len(whole)-1], whole[1:],
		bytes.Replace(whole, []byte{0, 0, 0, 0, 0, 0, 0, 0}, []byte{0, 0, 0, 0, 0, 0, 0, 1}, 1)} {
		if err := os.WriteFile(paths[0], damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		start(3+i, "b")
	}
}

// TestDamagedLines: damage of the lines shows when they are read, and is an error.
func TestDamagedLines(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	x := open(t, dir, write(t, "a.cdxj",
		cdxj(sumOf("a"), "20250101000000", "http://a.test/", "text/html", "200")))
	f, err := os.OpenFile(x.path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte("x"), digestLen+1); err != nil { // its date
		t.Fatal(err)
	}
	if o, err := x.Find(sumOf("a")); !errors.Is(err, errDamaged) || o != nil ||
		!strings.Contains(err.Error(), x.path) {
		t.Errorf("a damaged date: %+v, %v", o, err)
	}
	if err := errors.Join(f.Truncate(10), f.Close()); err != nil {
		t.Fatal(err)
	}
	if o, err := x.Find(sumOf("a")); !errors.Is(err, errDamaged) || o != nil {
		t.Errorf("a cut file: %+v, %v", o, err)
	}
}

// TestWrongIndexes: what cannot be used is the user's to mend, and leaves nothing behind.
func TestWrongIndexes(t *testing.T) {
	t.Parallel()
	good := cdxj(sumOf("a"), "20250101000000", "http://a.test/", "text/html", "200")
	for name, tc := range map[string]struct{ path, says string }{
		"missing":    {filepath.Join(t.TempDir(), "none.cdxj"), "none.cdxj: no such file"},
		"a folder":   {t.TempDir(), "is a folder: name an index file; crawlnode export cdxj"},
		"a device":   {"/dev/null", "/dev/null is no regular file"},
		"a bad line": {write(t, "a.cdxj", good+"nonsense\n"), "a.cdxj:2: it has 1 of the 6 fields"},
		"cut gzip": {write(t, "b.cdxj.gz", packed(t, good)[:60]),
			"b.cdxj.gz: the packed file is cut off or damaged"},
		"no gzip": {write(t, "c.cdxj.gz", "\x1f\x8bx"),
			"c.cdxj.gz: it begins as gzip does, and is damaged"},
		"no SHA-1": {write(t, "d.cdxj", strings.ReplaceAll(good, "sha1:", "md5:")),
			"none of the 1 captures in "},
	} {
		dir := t.TempDir()
		_, err := Open(Options{Files: []string{tc.path}, Dir: dir})
		if !errors.Is(err, ErrInput) || !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s: %v, want %s", name, err, tc.says)
		}
		if entries, err := os.ReadDir(dir); err != nil || len(entries) != 0 {
			t.Errorf("%s leaves %v, %v", name, entries, err)
		}
	}
}

// TestChanging: an index that grows while it is read is an error.
func TestChanging(t *testing.T) {
	t.Parallel()
	index, dir := write(t, "a.cdxj",
		cdxj(sumOf("a"), "20250101000000", "http://a.test/", "text/html", "200")), t.TempDir()
	_, err := Open(Options{Files: []string{index}, Dir: dir, Making: func(int64) {
		if err := os.WriteFile(index, nil, 0o600); err != nil {
			t.Error(err)
		}
	}})
	if !errors.Is(err, ErrInput) ||
		!strings.Contains(err.Error(), index+" changed while it was read") {
		t.Errorf("changed: %v", err)
	}
	_, err = Open(Options{Files: []string{index}, Dir: dir, Making: func(int64) {
		if err := os.Remove(index); err != nil {
			t.Error(err)
		}
	}})
	if !errors.Is(err, ErrInput) || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("removed: %v", err)
	}
}

// FuzzOpen: whatever a file has, it is an error or an Index that answers.
func FuzzOpen(f *testing.F) {
	f.Add([]byte(cdxj(sumOf("a"), "20250101000000", "http://a.test/", "text/html", "200")))
	f.Add([]byte("k 20250101000000 http://a.test/ - 200 3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		dir := t.TempDir()
		path := filepath.Join(dir, "a.cdxj")
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		x, err := Open(Options{Files: []string{path}, Dir: filepath.Join(dir, "made")})
		if err != nil {
			if !errors.Is(err, ErrInput) {
				t.Fatal(err)
			}
			return
		}
		defer func() { _ = x.Close() }()
		if _, err := x.Find(sumOf("a")); err != nil {
			t.Error(err)
		}
	})
}

// benchIndex makes an index of n captures.
func benchIndex(b *testing.B, n int) (path string) {
	b.Helper()
	path = filepath.Join(b.TempDir(), "a.cdxj")
	var text bytes.Buffer
	for i := range n {
		text.WriteString(cdxj(sumOf(fmt.Sprint(i)), "20250101000000",
			fmt.Sprintf("https://www.example.org/a/folder/and/the/page-%d.html", i), "text/html", "200"))
	}
	if err := os.WriteFile(path, text.Bytes(), 0o600); err != nil {
		b.Fatal(err)
	}
	return path
}

func BenchmarkFind(b *testing.B) {
	const n = 100_000
	x, err := Open(Options{Files: []string{benchIndex(b, n)}, Dir: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = x.Close() }()
	for _, c := range []struct {
		name string
		from int
	}{{"known", 0}, {"unknown", n}} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if o, err := x.Find(sumOf(fmt.Sprint(c.from + i%n))); err != nil || o != nil != (c.from == 0) {
					b.Fatal(o, err)
				}
			}
		})
	}
}

// BenchmarkOpen makes the file of so many captures; an operation is a capture.
func BenchmarkOpen(b *testing.B) {
	path := benchIndex(b, b.N)
	b.ReportAllocs()
	b.ResetTimer()
	x, err := Open(Options{Files: []string{path}, Dir: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	b.StopTimer()
	if info, err := x.file.Stat(); err == nil {
		b.ReportMetric(float64(info.Size()-tableBytes-footerBytes)/float64(b.N), "diskbytes/op")
	}
	_ = x.Close()
}
