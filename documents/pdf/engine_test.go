//race:marked

package pdf

import (
	"context"
	"errors"
	"flag"
	"log"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// shared is the engine of all tests that need none of their own: a start takes seconds. cacheDir
// is its cache on disk.
var (
	shared   *Engine
	cacheDir string
)

func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "pdf")
		if err != nil {
			log.Fatal(err)
		}
		defer os.RemoveAll(dir)
		cacheDir = filepath.Join(dir, "cache")
		before := runtime.NumGoroutine()
		shared = New(Options{CacheDir: cacheDir, Workers: 2})
		code := m.Run()
		if err := shared.Close(); err != nil {
			log.Print(err)
			return 1
		}
		fuzzing := flag.Lookup("test.fuzz").Value.String() != "" // it leaves a goroutine itself
		if code == 0 && !fuzzing && !gone(before) {
			return 1
		}
		return code
	}())
}

// gone waits until no more goroutines run than before, and shows them if there are.
func gone(before int) bool {
	for range 12_000 { // two minutes: a busy machine ends them late
		if runtime.NumGoroutine() <= before {
			return true
		}
		time.Sleep(10 * time.Millisecond)
	}
	stacks := make([]byte, 64<<10)
	log.Printf("%d goroutines, %d before:\n%s", runtime.NumGoroutine(), before,
		stacks[:runtime.Stack(stacks, true)])
	return false
}

// read reads a file that has to be read without an error, and returns what the page's body is.
func read(t *testing.T, e *Engine, body []byte, l Limits) string {
	t.Helper()
	html, truncated, err := e.Read(t.Context(), body, l)
	if err != nil || truncated {
		t.Fatalf("truncated %v, %v\n%s", truncated, err, html)
	}
	return string(html)
}

func inBody(html string) string {
	_, body, _ := strings.Cut(html, "<body>\n")
	body, _, _ = strings.Cut(body, "</body>")
	return body
}

func TestRead(t *testing.T) {
	t.Parallel()
	f := text("Introduction\nThis is the first\nparagraph of it.\n\n\n"+
		"See the manual or\nhttps://example.org/a?b=1 \\ (now).", "Second page.")
	f.objects[1] = "<< /Type /Catalog /Pages 2 0 R /Lang (de-CH) /Outlines 40 0 R >>"
	f.objects[10] = strings.Replace(f.objects[10], "/Contents",
		"/Annots [50 0 R 51 0 R 52 0 R 53 0 R] /Contents", 1)
	// The sixth line's base is at 720-5*14 = 650; "the manual" begins at 72+25.
	f.objects[50] = uri("mailto:ada@example.org", 97, 646, 155, 662)
	f.objects[51] = uri("https://example.org/picture", 300, 300, 400, 400)
	f.objects[52] = uri("javascript:alert\\(1\\)", 300, 300, 400, 400)
	f.objects[53] = "<< /Type /Annot /Subtype /Link /Rect [300 200 400 240] " +
		"/A << /S /GoToR /F (other.pdf) /D [0 /Fit] >> >>"
	f.objects[40] = "<< /Type /Outlines /First 41 0 R /Last 41 0 R /Count 1 >>"
	f.objects[41] = "<< /Title (1. Introduction) /Parent 40 0 R /Dest [10 0 R /Fit] >>"
	f.objects[60] = "<< /Title <FEFF00DC0062006500720020003C005000440046003E> " +
		"/Author (Ada; Charles) /Subject (A test) /Keywords (a, b) /Creator (Writer) " +
		"/Producer (Maker 1.0) /CreationDate (D:20240131120000+01'00') /ModDate (D:2024) >>"
	f.trailer = "/Info 60 0 R"
	got := read(t, shared, f.bytes(), Limits{})
	want := `<!DOCTYPE html>
<html lang="de-CH">
<head>
<meta charset="utf-8">
<title>Über &lt;PDF&gt;</title>
<meta name="author" content="Ada">
<meta name="author" content="Charles">
<meta name="description" content="A test">
<meta name="keywords" content="a, b">
<meta name="generator" content="Writer">
<meta name="generator" content="Maker 1.0">
<meta name="dcterms.created" content="2024-01-31T12:00:00+01:00">
<meta name="dcterms.modified" content="2024-01-01T00:00:00Z">
</head>
<body>
<h2>Introduction</h2>
<p>This is the first paragraph of it.</p>
<p>See <a href="mailto:ada@example.org">the manual</a> or <a href="https://example.org/a?b=1">https://example.org/a?b=1</a> \ (now).</p>
<ul><li><a href="https://example.org/picture">https://example.org/picture</a></li>
<li><a href="other.pdf">other.pdf</a></li>
</ul>
<p>Second page.</p>
</body>
</html>
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestHyphens: a word that is divided at the end of a line is joined, and one with a hyphen of its
// own within a line is not.
func TestHyphens(t *testing.T) {
	t.Parallel()
	got := inBody(read(t, shared, text("A well-known exam-\nple of it.").bytes(), Limits{}))
	if want := "<p>A well-known example of it.</p>\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	pages := make([]string, 5)
	for i := range pages {
		pages[i] = strings.Repeat("Many words are here. ", 4)
	}
	body := text(pages...).bytes()
	html, truncated, err := shared.Read(t.Context(), body, Limits{Pages: 2})
	if n := strings.Count(string(html), "<p>"); err != nil || !truncated || n != 2 {
		t.Errorf("two pages: %d, truncated %v, %v", n, truncated, err)
	}
	html, truncated, err = shared.Read(t.Context(), body, Limits{HTML: 200})
	if n := len(inBody(string(html))); err != nil || !truncated || n > 200 || n < 100 {
		t.Errorf("200 bytes: %d, truncated %v, %v", n, truncated, err)
	}
	html, _, err = shared.Read(t.Context(), make([]byte, maxBody+1), Limits{})
	if !errors.Is(err, ErrTooLarge) || html != nil {
		t.Errorf("too large: %v", err)
	}
}

func TestReasons(t *testing.T) {
	t.Parallel()
	blank := newFile()
	blank.page(10, "", "0 0 m 100 100 l S")
	blank.objects[2] = "<< /Type /Pages /Kids [10 0 R] /Count 1 >>"
	blank.objects[60] = "<< /Title (Scanned) >>"
	blank.trailer = "/Info 60 0 R"
	html, truncated, err := shared.Read(t.Context(), blank.bytes(), Limits{})
	if !errors.Is(err, ErrNoText) || truncated ||
		!strings.Contains(string(html), "<title>Scanned</title>") {
		t.Errorf("without text: %v, truncated %v\n%s", err, truncated, html)
	}
	for _, c := range []struct {
		name string
		body []byte
		want error
	}{
		{"empty", nil, ErrDamaged},
		{"a page", []byte("<html><body>Not found"), ErrDamaged},
		{"the header alone", []byte("%PDF-1.4\n"), ErrDamaged},
		{"with a password", locked("secret").bytes(), ErrEncrypted},
		{"unknown encryption", unknownLock().bytes(), ErrEncrypted},
		{"no page", newFile().bytes(), ErrDamaged},
	} {
		html, truncated, err := shared.Read(t.Context(), c.body, Limits{})
		if !errors.Is(err, c.want) || strings.Contains(string(html), "<p>") {
			t.Errorf("%s: %v, truncated %v\n%s", c.name, err, truncated, html)
		}
	}
	if got := inBody(read(t, shared, locked("").bytes(),
		Limits{})); got != "<p>Under the seal</p>\n" {
		t.Errorf("encrypted with an empty password: %q", got)
	}
}

// TestInterrupt: the end of the context interrupts PDFium, and the next file is read. It is not
// under the race detector: a module of wazero that is closed while it runs gives its memory up
// without a lock while it may be growing it. Free does nothing here, so that no memory is lost by
// it.
func TestInterrupt(t *testing.T) {
	t.Parallel()
	if err := shared.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	why := errors.New("enough")
	ctx, cancel := context.WithTimeoutCause(t.Context(), 300*time.Millisecond, why)
	defer cancel()
	html, truncated, err := shared.Read(ctx, endless().bytes(), Limits{})
	if !errors.Is(err, why) {
		t.Fatalf("%v, truncated %v", err, truncated)
	}
	if html != nil && !truncated {
		t.Error("what was read is not marked")
	}
	if got := inBody(read(t, shared, text("Good").bytes(), Limits{})); got != "<p>Good</p>\n" {
		t.Errorf("%q", got)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, _, err = shared.Read(ended, text("Good").bytes(), Limits{})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("with a context that has ended: %v", err)
	}
}

//race:meets
func TestConcurrent(t *testing.T) {
	t.Parallel()
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			body := text("Hello", "World").bytes()
			html, truncated, err := shared.Read(t.Context(), body, Limits{})
			got := inBody(string(html))
			if err != nil || truncated || got != "<p>Hello</p>\n<p>World</p>\n" {
				t.Errorf("%q, truncated %v, %v", got, truncated, err)
			}
		})
	}
	wg.Wait()
}

// TestClose: an engine can be closed before it has started, while it starts, and after it; nothing
// is read then.
//
//race:meets
func TestClose(t *testing.T) {
	t.Parallel()
	if err := shared.Start(t.Context()); err != nil { // the cache is filled
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		use  func(e *Engine) error
	}{
		{"unused", func(*Engine) error { return nil }},
		{"starting", func(e *Engine) error {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			if err := e.Start(ctx); err != nil && !errors.Is(err, context.Canceled) {
				return err
			}
			return nil
		}},
		{"used", func(e *Engine) error {
			_, _, err := e.Read(t.Context(), text("Hello").bytes(), Limits{})
			return err
		}},
	} {
		e := New(Options{CacheDir: cacheDir})
		if err := c.use(e); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		for range 2 {
			if err := e.Close(); err != nil {
				t.Errorf("%s: close: %v", c.name, err)
			}
		}
		_, _, err := e.Read(t.Context(), text("Hello").bytes(), Limits{})
		if !errors.Is(err, ErrClosed) {
			t.Errorf("%s: after it: %v", c.name, err)
		}
	}
}

// TestStartFails: an engine that cannot start says so each time, and can be closed.
func TestStartFails(t *testing.T) {
	t.Parallel()
	e := New(Options{Memory: wasmPage})
	for range 2 {
		if _, _, err := e.Read(t.Context(), text("Hello").bytes(), Limits{}); err == nil ||
			!strings.Contains(err.Error(), "start the engine") {
			t.Errorf("%v", err)
		}
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
}

// BenchmarkRead reads a file of 20 pages with 40 lines each.
func BenchmarkRead(b *testing.B) {
	pages := make([]string, 20)
	for i := range pages {
		pages[i] = strings.Repeat("The quick brown fox jumps over the lazy dog once more.\n", 40)
	}
	body := text(pages...).bytes()
	if err := shared.Start(b.Context()); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		if _, _, err := shared.Read(b.Context(), body, Limits{}); err != nil {
			b.Fatal(err)
		}
	}
}

// lastMemory is the memory in bytes that the last file took.
func (e *Engine) lastMemory() uint64 {
	e.creating.Lock()
	defer e.creating.Unlock()
	return e.made.size.Load()
}
