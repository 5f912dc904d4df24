package archive

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha1"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nlnwa/gowarc"

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

// readAll reads a folder that must hold finished, sound files only.
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

// checkIndex holds the index beside path against the file itself.
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

func TestRecords(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a := open(t, dir, Options{Info: func() Info { return Info{Operator: "me@example.org"} }})
	c := capture(t, "http://example.org/a?b=c", "<p>hello")
	c.Truncated = "length"
	ref := put(t, a, c)
	if got, err := ReadRef(dir, ref); err != nil || got.TargetURI != c.URL.String() {
		t.Errorf("read while the file is open: %+v, %v", got, err)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	records := readAll(t, dir)
	if len(records) != 3 || records[0].Type != "warcinfo" || records[2].Type != "request" {
		t.Fatalf("records = %+v, want warcinfo, response, request", records)
	}
	info := string(records[0].Payload)
	for _, want := range []string{"software: crawlnode/test\r\n", "operator: me@example.org\r\n", "hostname: n1\r\n"} {
		if !strings.Contains(info, want) {
			t.Errorf("warcinfo lacks %q:\n%s", want, info)
		}
	}
	r, q := records[1], records[2]
	if r.Type != "response" || r.Status != 200 || !r.Date.Equal(day) || r.Addr != c.Addr || r.Truncated != "length" ||
		string(r.Payload) != "<p>hello" || !bytes.Equal(r.Head, c.ResponseHead) || r.ContentType != "text/html" ||
		r.PayloadDigest != digest(c.Digest) || r.Offset != ref.Offset || r.Length != ref.Length {
		t.Errorf("response = %+v", r)
	}
	if !bytes.Equal(q.Head, c.RequestHead) || q.Fields.Get("WARC-Concurrent-To") != "<"+r.ID+">" || q.TargetURI != r.TargetURI {
		t.Errorf("request = %+v", q)
	}
	if got, err := ReadRef(dir, ref); err != nil || got.ID != r.ID {
		t.Errorf("ReadRef = %+v, %v", got, err)
	}
	for _, bad := range []crawl.ArchiveRef{{}, {File: "../x"}, {File: "none"}, {File: ref.File, Offset: ref.Offset + 1, Length: 9}, {File: ref.File, Offset: 1 << 40, Length: 9}} {
		if _, err := ReadRef(dir, bad); err == nil {
			t.Errorf("ReadRef(%+v) gives a record", bad)
		}
	}
	index, err := os.Stat(filepath.Join(dir, indexName(ref.File)))
	if s := a.Stats(); err != nil || s.Files != 1 || s.Records != 1 || s.Bytes != q.Offset+q.Length || s.Written != s.Bytes || s.IndexBytes != index.Size() {
		t.Errorf("stats = %+v, %v", s, err)
	}
	if s := open(t, dir, Options{}).Stats(); s.Files != 1 || s.Bytes != q.Offset+q.Length || s.Written != 0 || s.Records != 0 || s.IndexBytes != index.Size() {
		t.Errorf("stats of another start = %+v", s)
	}
}

// TestAnotherReader has a second implementation judge the files, at its
// strictest.
func TestAnotherReader(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a := open(t, dir, Options{})
	refs := make(map[int64]string)
	var first crawl.Original
	for i, body := range []string{"one", strings.Repeat("two ", 20000), "one", ""} {
		c := capture(t, fmt.Sprintf("http://example.org/%d", i), body)
		if i == 2 {
			c.Original, c.Simhash, c.NearOf = &first, 1, "http://example.org/near"
		}
		ref := put(t, a, c)
		if refs[ref.Offset] = c.URL.String(); i == 0 {
			first = crawl.Original{Record: ref.Record, URL: c.URL.String(), FetchedAt: c.FetchedAt}
		}
	}
	if err := a.PutFailure(t.Context(), failed(t, "http://example.org/down")); err != nil {
		t.Fatal(err)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	paths, _ := Files(dir)
	reader, err := gowarc.NewWarcFileReader(paths[0], 0, gowarc.WithStrictValidation(), gowarc.WithBufferTmpDir(t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = reader.Close() }()
	kinds := map[gowarc.RecordType]int{}
	for {
		record, offset, validation, err := reader.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatalf("at %d: %v", offset, err)
		}
		if err := record.ValidateDigest(validation); err != nil || !validation.Valid() {
			t.Errorf("at %d: %v, %v", offset, err, validation)
		}
		kinds[record.Type()]++
		if want, ok := refs[offset]; ok && record.WarcHeader().Get(gowarc.WarcTargetURI) != want {
			t.Errorf("at %d stands %s, want %s", offset, record.WarcHeader().Get(gowarc.WarcTargetURI), want)
		}
	}
	want := map[gowarc.RecordType]int{gowarc.Warcinfo: 1, gowarc.Response: 3, gowarc.Revisit: 1, gowarc.Request: 4, gowarc.Metadata: 1}
	if fmt.Sprint(kinds) != fmt.Sprint(want) {
		t.Errorf("records = %v, want %v", kinds, want)
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

// TestIndexNamesOnlyWhatIsSynced is the invariant that repair rests on.
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
	want := fmt.Sprintf(`test,a)/ 20261121101112 {"url":"http://a.test/","mime":"text/html","status":"200","digest":"%s","length":"%d","offset":"%d","filename":"%s"}`+"\n",
		digest(sha1.Sum([]byte("x"))), ref.Length, ref.Offset, ref.File)
	if b, _ := os.ReadFile(index); string(b) != want {
		t.Errorf("after Sync:\n%swant\n%s", b, want)
	}
	b := open(t, t.TempDir(), Options{SyncEach: true})
	ref = put(t, b, capture(t, "http://a.test/", "x"))
	if line, _ := os.ReadFile(filepath.Join(b.dir, indexName(ref.File)+openSuffix)); len(line) == 0 {
		t.Error("with SyncEach a put is not synced")
	}
}

// TestPendingLinesAreBounded: who never calls Sync is synced.
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
	if info, err := a.file.index.Stat(); err != nil || info.Size() == 0 {
		t.Errorf("nothing was synced: %v, %v", info, err)
	}
}

func TestDuplicates(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a := open(t, dir, Options{})
	first := put(t, a, capture(t, "http://a.test/0", "same"))
	again := capture(t, "http://a.test/1", "same")
	again.Original = &crawl.Original{Record: first.Record, URL: "http://a.test/0", FetchedAt: day}
	put(t, a, again)
	put(t, a, capture(t, "http://a.test/2", "same")) // nobody knew of the first
	if s := a.Stats(); s.ContentDuplicates != 1 || s.Records != 3 {
		t.Errorf("stats = %+v, want 3 records and 1 duplicate", s)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for _, r := range readAll(t, dir) {
		if r.Type == "response" || r.Type == "revisit" {
			kinds = append(kinds, r.Type)
		}
		if r.Type != "revisit" {
			continue
		}
		if r.TargetURI != "http://a.test/1" || r.RefersToURI != "http://a.test/0" || len(r.Payload) != 0 || r.Status != 200 ||
			r.PayloadDigest != digest(sha1.Sum([]byte("same"))) {
			t.Errorf("revisit record = %+v", r)
		}
	}
	if want := []string{"response", "revisit", "response"}; !slices.Equal(kinds, want) {
		t.Errorf("records = %v, want %v", kinds, want)
	}
}

// TestNotModified: an answer without content says so, and stands in for nothing.
func TestNotModified(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a := open(t, dir, Options{})
	c := capture(t, "http://a.test/", "")
	c.Status, c.ResponseHead = 304, []byte("HTTP/1.1 304 Not Modified\r\nETag: \"v\"\r\n\r\n")
	c.Certificate, c.NoIndex = "it expired\r\nEvil: 1", true
	put(t, a, c)
	if s := a.Stats(); s.ContentDuplicates != 0 || s.Records != 1 {
		t.Errorf("stats %+v", s)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	r := readAll(t, dir)[1]
	if r.Type != "revisit" || r.Status != 304 || r.Fields.Get("WARC-Profile") != notModifiedProfile || r.Fields.Get("WARC-Refers-To") != "" ||
		r.Fields.Get("Crawlnode-Robots") != "noindex" || r.Fields.Get("Crawlnode-Certificate-Error") != "it expired%0D%0AEvil: 1" {
		t.Errorf("record %+v", r)
	}
}

// TestHeaderInjection: no value makes a second field or record.
func TestHeaderInjection(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a := open(t, dir, Options{Info: func() Info { return Info{Operator: "me\r\nevil: yes", Settings: "{}\nevil: 2"} }})
	c := capture(t, "http://a.test/", "x")
	c.ContentType = "text/html\r\nWARC-Type: evil\r\n\r\nWARC/1.1\x00"
	c.Truncated = "length\nEvil: 1"
	put(t, a, c)
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	records := readAll(t, dir)
	if len(records) != 3 || records[1].Type != "response" || records[1].Fields.Get("Evil") != "" || strings.Contains(string(records[0].Payload), "\nevil") {
		t.Errorf("records = %+v", records)
	}
	if want := "text/html%0D%0AWARC-Type: evil%0D%0A%0D%0AWARC/1.1%00"; records[1].ContentType != want {
		t.Errorf("content type = %q, want %q", records[1].ContentType, want)
	}
}

func TestFileNames(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a, err := Open(dir, Options{Node: "id", Name: "../../evil/" + strings.Repeat("x", 300), Prefix: "..a/b"})
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
		"crawlnode-20261121101112-00041-n1.warc.gz": 41, "a-b-20261121101112-00007-x-00009.warc.gz.open": 7, "foreign.warc.gz": -1, "x-20261121101112-abcde.warc.gz": -1,
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

// TestFullDisk: the first error stays, and what was acknowledged before is
// there after a new start.
func TestFullDisk(t *testing.T) {
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

func TestNone(t *testing.T) {
	t.Parallel()
	var n None
	if ref, err := n.Put(t.Context(), capture(t, "http://a.test/", "x")); err != nil || ref != (crawl.ArchiveRef{}) {
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
			wg.Go(func() { put(t, a, capture(t, fmt.Sprintf("http://a.test/%d", i), strings.Repeat("y", 99+i))) })
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

func TestSURT(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"http://example.org/":                      "org,example)/",
		"https://www.Example.org/A/?z=1&a=2":       "org,example)/a?a=2&z=1",
		"http://www2.a.b.test:8080/x/y/":           "test,b,a:8080)/x/y",
		"http://192.0.2.1:81/":                     "192.0.2.1:81)/",
		"http://[2001:db8::1]:81/p":                "[2001:db8::1]:81)/p",
		"http://wwwhat.test/?":                     "test,wwwhat)/",
		"http://localhost?x":                       "localhost)/?x",
		"http://www.test/":                         "test)/",
		"http://example.org/a%20b/http://c.test/#": "org,example)/a%20b/http://c.test/#",
	} {
		if got := surt(url); got != want {
			t.Errorf("surt(%s) = %s, want %s", url, got, want)
		}
	}
}

// TestMembersAreIndependent unpacks with the standard library: each member is a
// file of its own.
func TestMembersAreIndependent(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a := open(t, dir, Options{})
	ref := put(t, a, capture(t, "http://a.test/", "payload"))
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	all, err := os.ReadFile(filepath.Join(dir, ref.File))
	if err != nil {
		t.Fatal(err)
	}
	r, err := gzip.NewReader(bytes.NewReader(all[ref.Offset : ref.Offset+ref.Length]))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(r)
	if err != nil || !bytes.HasPrefix(text, []byte("WARC/1.1\r\n")) || !bytes.HasSuffix(text, []byte("\r\n\r\npayload\r\n\r\n")) {
		t.Errorf("member = %q, %v", text, err)
	}
	if !slices.Contains(strings.Split(string(text), "\r\n"), "Content-Length: "+fmt.Sprint(len(capture(t, "http://a.test/", "").ResponseHead)+7)) {
		t.Errorf("wrong length in %q", text)
	}
}

func BenchmarkPut(b *testing.B) {
	var page strings.Builder
	for i := 0; page.Len() < 20<<10; i++ {
		fmt.Fprintf(&page, "<p>%d <a href=\"/page/%d\">some words that repeat</a> %x\n", i, i*7919, sha1.Sum([]byte{byte(i), byte(i >> 8)}))
	}
	a := open(b, b.TempDir(), Options{})
	c := capture(b, "http://example.org/a/b?c=d", page.String())
	b.SetBytes(int64(len(c.Body)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := a.Put(b.Context(), c); err != nil {
			b.Fatal(err)
		}
	}
}
