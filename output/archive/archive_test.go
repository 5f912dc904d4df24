package archive

import (
	"bytes"
	"context"
	"crypto/sha1"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"crawlnode/crawl"
)

var day = time.Date(2026, 11, 21, 10, 11, 12, 345e6, time.UTC)

// capture makes a capture of url with that body.
func capture(t testing.TB, url, body string) crawl.Capture {
	t.Helper()
	c := crawl.Capture{
		FetchedAt: day, Addr: netip.MustParseAddr("192.0.2.1"), Status: 200,
		RequestHead:  []byte("GET / HTTP/1.1\r\nHost: example.org\r\n\r\n"),
		ResponseHead: []byte("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"),
		Body:         []byte(body), ContentType: "text/html", Digest: sha1.Sum([]byte(body)),
	}
	if err := c.URL.UnmarshalText([]byte(url)); err != nil {
		t.Fatal(err)
	}
	return c
}

// open opens an archive that the test closes, or that Cleanup does.
func open(t testing.TB, dir string, o Options) *Archive {
	t.Helper()
	o.Node = "0123456789abcdef"
	o.Name = "n1"
	o.Software = "crawlnode/test"
	a, err := Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Close() })
	return a
}

func put(t testing.TB, a *Archive, c crawl.Capture) crawl.ArchiveRef {
	t.Helper()
	ref, err := a.Put(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return ref
}

// readAll reads a folder in which all files must be finished and undamaged.
func readAll(t testing.TB, dir string) []Record {
	t.Helper()
	paths, err := Files(dir)
	if err != nil {
		t.Fatal(err)
	}
	var records []Record
	for _, path := range paths {
		if strings.HasSuffix(path, openSuffix) {
			t.Errorf("%s is still open", path)
		}
		whole, err := Scan(path, func(r Record) error {
			records = append(records, r)
			return r.Verify()
		})
		if err != nil {
			t.Fatal(err)
		}
		if info, _ := os.Stat(path); info.Size() != whole {
			t.Errorf("%s: %d of %d bytes are records", path, whole, info.Size())
		}
		checkIndex(t, path)
	}
	return records
}

// checkIndex compares the index beside path with the file itself.
func checkIndex(t testing.TB, path string) {
	t.Helper()
	var lines []string
	if _, err := Scan(path, func(r Record) error {
		if r.Type == "response" || r.Type == "revisit" {
			lines = append(lines, string(appendIndexLine(nil, r.line(filepath.Base(path)))))
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	slices.Sort(lines)
	want := strings.Join(lines, "")
	got, err := os.ReadFile(filepath.Join(filepath.Dir(path), indexName(filepath.Base(path))))
	if err != nil || string(got) != want {
		t.Errorf("index of %s (%v):\n%s\nwant\n%s", path, err, got, want)
	}
}

// TestManyWriters turns files under concurrent puts and syncs.
func TestManyWriters(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a := open(t, dir, Options{MaxFileBytes: 20 << 10})
	const writers, each = 16, 25
	var mu sync.Mutex
	refs := make(map[crawl.ArchiveRef]string)
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				c := capture(t, fmt.Sprintf("http://h%d.test/%d", w, i), strings.Repeat(fmt.Sprint(w, i), 500))
				ref, err := a.Put(t.Context(), c)
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				refs[ref] = c.URL.String()
				mu.Unlock()
				if i%5 == 0 {
					if err := a.Sync(); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	wg.Wait()
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	responses := 0
	for _, r := range readAll(t, dir) {
		if r.Type == "response" {
			responses++
		}
	}
	if responses != writers*each || len(refs) != writers*each {
		t.Errorf("%d responses, %d places, want %d", responses, len(refs), writers*each)
	}
	for ref, url := range refs {
		if r, err := ReadRef(dir, ref); err != nil || r.TargetURI != url {
			t.Fatalf("%+v holds %s, want %s (%v)", ref, r.TargetURI, url, err)
		}
	}
	s := a.Stats()
	paths, _ := Files(dir)
	if s.Files != int64(len(paths)) || s.Files < 3 || s.Records != writers*each {
		t.Errorf("stats = %+v, %d files", s, len(paths))
	}
	again := open(t, dir, Options{})
	if b := again.Stats(); b.Files != s.Files || b.Bytes != s.Bytes {
		t.Errorf("stats after reopening = %+v, want files and bytes of %+v", b, s)
	}
	put(t, again, capture(t, "http://late.test/", "x"))
}

// TestIndexNamesOnlyWhatIsSynced checks the invariant on which repair depends.
func TestIndexNamesOnlyWhatIsSynced(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a := open(t, dir, Options{})
	ref := put(t, a, capture(t, "http://a.test/", "x"))
	index := filepath.Join(dir, indexName(ref.File)+openSuffix)
	if b, err := os.ReadFile(index); err != nil || len(b) != 0 {
		t.Errorf("before Sync: %q, %v", b, err)
	}
	if err := a.Sync(); err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf(
		`test,a)/ 20261121101112 {"url":"http://a.test/","mime":"text/html","status":"200","digest":"%s","filename":"%s","offset":"%d","length":"%d"}`+
			"\n",
		digest(sha1.Sum([]byte("x"))), ref.File, ref.Offset, ref.Length)
	if b, _ := os.ReadFile(index); string(b) != want {
		t.Errorf("after Sync:\n%swant\n%s", b, want)
	}
	b := open(t, t.TempDir(), Options{SyncEach: true})
	ref = put(t, b, capture(t, "http://a.test/", "x"))
	if line, _ := os.ReadFile(filepath.Join(b.dir, indexName(ref.File)+openSuffix)); len(line) == 0 {
		t.Error("with SyncEach a put is not synced")
	}
}

// TestPendingLinesAreBounded: an archive whose Sync is never called syncs itself.
func TestPendingLinesAreBounded(t *testing.T) {
	t.Parallel()
	a := open(t, t.TempDir(), Options{})
	url := "http://a.test/" + strings.Repeat("x", 2000)
	for i := range 600 {
		put(t, a, capture(t, fmt.Sprint(url, i), ""))
	}
	if n := len(a.file.pending); n > indexLimit {
		t.Errorf("%d bytes of index lines wait", n)
	}
	if info, err := os.Stat(filepath.Join(a.dir, indexName(a.file.name)+openSuffix)); err != nil ||
		info.Size() == 0 {
		t.Errorf("nothing was synced: %v, %v", info, err)
	}
}

func TestFileNames(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a, err := Open(dir,
		Options{Node: "id", Name: "../../evil/" + strings.Repeat("x", 300), Prefix: "..a/b"})
	if err != nil {
		t.Fatal(err)
	}
	ref := put(t, a, capture(t, "http://a.test/", "x"))
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	if ref.File != filepath.Base(ref.File) || len(ref.File) > 200 || strings.HasPrefix(ref.File, ".") {
		t.Errorf("file name %q", ref.File)
	}
	if paths, _ := Files(dir); len(paths) != 1 || filepath.Base(paths[0]) != ref.File {
		t.Errorf("files = %v", paths)
	}
	if _, err := Open(dir, Options{}); err == nil {
		t.Error("an archive without a node's id opens")
	}
	for name, want := range map[string]int{
		"crawlnode-20261121101112-00041-n1.warc.gz":     41,
		"a-b-20261121101112-00007-x-00009.warc.gz.open": 7,
		"foreign.warc.gz":                -1,
		"x-20261121101112-abcde.warc.gz": -1,
	} {
		if got := serialOf(name); got != want {
			t.Errorf("serialOf(%s) = %d, want %d", name, got, want)
		}
	}
}

// TestNothingWritten: an archive to which nothing was written leaves nothing.
func TestNothingWritten(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a := open(t, dir, Options{})
	if err := errors.Join(a.Sync(), a.Close(), a.Close()); err != nil {
		t.Fatal(err)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 0 {
		t.Errorf("folder holds %v", entries)
	}
	if _, err := a.Put(t.Context(), capture(t, "http://a.test/", "x")); !errors.Is(err, ErrClosed) {
		t.Errorf("Put after Close: %v", err)
	}
	if err := a.Sync(); !errors.Is(err, ErrClosed) {
		t.Errorf("Sync after Close: %v", err)
	}
}

func TestCancelledPut(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a := open(t, dir, Options{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	a.writing <- struct{}{} // somebody writes
	for range 20 {
		if _, err := a.Put(ctx, capture(t, "http://a.test/", "x")); !errors.Is(err, context.Canceled) {
			t.Fatalf("error = %v", err)
		}
	}
	<-a.writing
	if a.Stats() != (Stats{}) {
		t.Errorf("stats = %+v", a.Stats())
	}
	put(t, a, capture(t, "http://a.test/", "x"))
}

// TestWhatCannotBeCutOff: the first error stays, and the captures acknowledged before are there
// after a restart.
func TestWhatCannotBeCutOff(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("needs /dev/full, which only Linux has")
	}
	dir := t.TempDir()
	var told []error
	a := open(t, dir, Options{OnError: func(err error) { told = append(told, err) }})
	put(t, a, capture(t, "http://a.test/1", "x"))
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	good := a.file.warc
	a.file.warc = full
	_, first := a.Put(t.Context(), capture(t, "http://a.test/2", "x"))
	if first == nil || !strings.Contains(first.Error(), "no space left") {
		t.Errorf("error = %v, want no space left", first)
	}
	_, second := a.Put(t.Context(), capture(t, "http://a.test/3", "x"))
	if second == nil || a.Sync() == nil || a.Close() == nil || len(told) != 1 {
		t.Errorf("the error does not stay: %v; told %v", second, told)
	}
	_ = good.Close()
	open(t, dir, Options{})
	if records := readAll(t, dir); len(records) != 3 || records[1].TargetURI != "http://a.test/1" {
		t.Errorf("records after a new start = %+v", records)
	}
}

// TestFullDisk: index lines wait for space, and a file that cannot be finished stays open. Nothing
// is lost, and nothing is written twice.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("needs /dev/full, which only Linux has")
	}
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	dir := t.TempDir()
	a := open(t, dir,
		Options{MaxFileBytes: 2000, OnError: func(err error) { t.Errorf("it has stopped: %v", err) }})
	put(t, a, capture(t, "http://a.test/1", strings.Repeat("x", 100)))
	good := a.file.index
	a.file.index = full
	if err := a.Sync(); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("Sync without space for the index: %v", err)
	}
	var refused int
	for i := range 20 {
		switch _, err := a.Put(t.Context(), capture(t, fmt.Sprint("http://a.test/more", i), "x")); {
		case errors.Is(err, syscall.ENOSPC):
			refused++
		case err != nil:
			t.Fatal(err)
		}
	}
	if refused == 0 {
		t.Error("the file was turned without space for its index")
	}
	a.file.index = good
	if err := a.Sync(); err != nil {
		t.Fatal(err)
	}
	put(t, a, capture(t, "http://a.test/2", "x"))
	var index bytes.Buffer
	if err := a.WriteIndex(&index); err != nil {
		t.Fatal(err)
	}
	if want, got := 2+20-refused, strings.Count(index.String(), "\n"); got != want {
		t.Errorf("the indexes have %d lines, want %d:\n%s", got, want, index.String())
	}
}

func TestNone(t *testing.T) {
	t.Parallel()
	var n None
	if ref, err := n.Put(t.Context(), capture(t, "http://a.test/", "x")); err != nil ||
		ref != (crawl.ArchiveRef{}) {
		t.Errorf("Put = %v, %v", ref, err)
	}
	if err := errors.Join(n.Sync(), n.Close()); err != nil || n.Stats() != (Stats{}) {
		t.Error(err)
	}
}

// TestInABubble: the archive works under fake time.
func TestInABubble(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		a := open(t, dir, Options{MaxFileBytes: 4 << 10})
		var wg sync.WaitGroup
		for i := range 50 {
			wg.Go(func() {
				put(t, a, capture(t, fmt.Sprintf("http://a.test/%d", i), strings.Repeat("y", 99+i)))
			})
		}
		wg.Wait()
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	if paths, _ := Files(dir); len(paths) < 2 || !strings.Contains(paths[0], "-20000101") {
		t.Errorf("files = %v", paths)
	}
}

func BenchmarkPut(b *testing.B) {
	var page strings.Builder
	for i := 0; page.Len() < 20<<10; i++ {
		fmt.Fprintf(&page, "<p>%d <a href=\"/page/%d\">some words that repeat</a> %x\n", i, i*7919,
			sha1.Sum([]byte{byte(i), byte(i >> 8)}))
	}
	b.Run("text",
		func(b *testing.B) { benchPut(b, capture(b, "http://example.org/a/b?c=d", page.String())) })
	b.Run("coded", func(b *testing.B) {
		c := capture(b, "http://example.org/a/b?c=d", rubbish(8<<10))
		c.Coded = true
		benchPut(b, c)
	})
}

func benchPut(b *testing.B, c crawl.Capture) {
	a := open(b, b.TempDir(), Options{})
	b.SetBytes(int64(len(c.Body)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := a.Put(b.Context(), c); err != nil {
			b.Fatal(err)
		}
	}
}
