package follow

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"crawlnode/crawl"
	"crawlnode/output/lists"
	"crawlnode/web/urlnorm"
)

// writer writes pages with rising numbers into a folder of derived files.
type writer struct {
	t   *testing.T
	dir string
	out *lists.Outputs
	n   int
}

func (w *writer) open() {
	w.t.Helper()
	out, err := lists.Open(w.dir,
		lists.Options{Node: "0123456789abcdef", Pages: true, Links: true, MaxFileBytes: 2 << 10})
	if err != nil {
		w.t.Fatal(err)
	}
	w.out = out
}

func (w *writer) page() {
	w.t.Helper()
	w.n++
	u, err := urlnorm.Parse(fmt.Sprintf("http://h%d.test/%d?%s", w.n%3, w.n,
		strings.Repeat("x", w.n%700)))
	if err != nil {
		w.t.Fatal(err)
	}
	if err := w.out.Page(w.t.Context(),
		&crawl.Capture{URL: u, Status: 200, FetchedAt: time.Unix(int64(w.n), 0)}, &crawl.Outcome{
			Status: 200,
		}, 1, nil, nil); err != nil {
		w.t.Fatal(err)
	}
}

func (w *writer) sync() {
	w.t.Helper()
	if err := w.out.Sync(); err != nil {
		w.t.Fatal(err)
	}
}

// crash leaves the files as a killed process does, and opens them again.
func (w *writer) crash() {
	w.t.Helper()
	copied := filepath.Join(w.t.TempDir(), "derived")
	if err := os.CopyFS(copied, os.DirFS(w.dir)); err != nil {
		w.t.Fatal(err)
	}
	if err := w.out.Close(); err != nil {
		w.t.Fatal(err)
	}
	w.dir = copied
	w.open()
}

func (w *writer) close() {
	w.t.Helper()
	if err := w.out.Close(); err != nil {
		w.t.Fatal(err)
	}
}

// TestFollows has a reader follow a writer that syncs, starts files, crashes and ends at random
// moments, while the reader begins anew at its cursor at others: it reads each line once, in order.
func TestFollows(t *testing.T) {
	t.Parallel()
	for seed := range uint64(40) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(seed, 1))
			w := &writer{t: t, dir: filepath.Join(t.TempDir(), "derived")}
			w.open()
			r := New(w.dir, lists.Pages, Cursor{})
			read := 0
			for range 300 {
				switch n := random.IntN(20); {
				case n < 9:
					w.page()
				case n < 12:
					w.sync()
				case n == 12 && random.IntN(4) == 0:
					w.crash()
					r = New(w.dir, lists.Pages, r.At())
				case n == 13 && random.IntN(4) == 0:
					w.close()
					w.open()
				case n == 14:
					r = New(w.dir, lists.Pages, r.At())
				default:
					read = follow(t, r, read, 1+random.IntN(5))
				}
			}
			w.close()
			for before := -1; before < read; {
				before, read = read, follow(t, r, read, 7)
			}
			if read != w.n {
				t.Errorf("%d lines of %d were read; the cursor is %+v", read, w.n, r.At())
			}
		})
	}
}

// follow reads once, and wants the lines that come next.
func follow(t *testing.T, r *Reader, read, limit int) int {
	t.Helper()
	lines, err := r.Next(limit)
	if err != nil {
		t.Fatal(err)
	}
	if len(lines) > limit {
		t.Fatalf("%d lines, not %d", len(lines), limit)
	}
	for _, line := range lines {
		read++
		if want := fmt.Sprintf(`{"url":"http://h%d.test/%d?`, read%3, read); !strings.HasPrefix(
			string(line), want) {
			t.Fatalf("read %.60s, want %s; the cursor is %+v", line, want, r.At())
		}
	}
	return read
}

// TestPlaces tries cursors that lead nowhere: files that were removed, folders that are missing,
// damage.
func TestPlaces(t *testing.T) {
	t.Parallel()
	w := &writer{t: t, dir: filepath.Join(t.TempDir(), "derived")}
	for range 4 {
		w.open()
		w.page()
		w.page()
		w.close()
	}
	names, err := filepath.Glob(filepath.Join(w.dir, "pages-*.jsonl.gz"))
	if err != nil || len(names) < 3 {
		t.Fatal(names, err)
	}
	r := New(w.dir, lists.Pages, Cursor{})
	if lines, err := r.Next(1); err != nil || len(lines) != 1 {
		t.Fatal(lines, err)
	}
	first := r.At()
	if err := os.Remove(names[0]); err != nil {
		t.Fatal(err)
	}
	r = New(w.dir, lists.Pages, first)
	if lines, err := r.Next(1); err != nil || len(lines) != 1 ||
		r.At().File != filepath.Base(names[1]) {
		t.Errorf("behind a removed file: %q, %v at %+v", lines, err, r.At())
	}
	if lines, err := New(filepath.Join(w.dir, "none"), lists.Pages, Cursor{}).Next(1); err != nil ||
		len(lines) > 0 {
		t.Errorf("without a folder: %q, %v", lines, err)
	}
	if lines, err := New(w.dir, lists.Links, Cursor{}).Next(1); err != nil || len(lines) > 0 {
		t.Errorf("of an output that has no lines: %q, %v", lines, err)
	}
	far := Cursor{File: filepath.Base(names[len(names)-1]), Lines: 1 << 20}
	if lines, err := New(w.dir, lists.Pages, far).Next(1); err != nil || len(lines) > 0 {
		t.Errorf("behind the last line: %q, %v", lines, err)
	}
	if err := os.WriteFile(names[2], []byte("no gzip member"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := New(w.dir, lists.Pages, Cursor{File: filepath.Base(names[2])}).Next(1); err == nil ||
		!strings.Contains(err.Error(), filepath.Base(names[2])) {
		t.Errorf("a damaged file: %v", err)
	}
}

// FuzzReadHead reads heads of tails.
func FuzzReadHead(f *testing.F) {
	f.Add([]byte("{\"file\":\"a\",\"after\":7}\n{}\n"))
	f.Add([]byte("{\"after\":-1}\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if after, rest, ok := readHead(text); ok && (after < 0 || len(rest) >= len(text)) {
			t.Errorf("%d, %q", after, rest)
		}
	})
}
