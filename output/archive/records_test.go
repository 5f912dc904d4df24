package archive

import (
	"bytes"
	"compress/gzip"
	"crypto/sha1"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nlnwa/gowarc"

	"crawlnode/crawl"
)

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
	for _, want := range []string{"software: crawlnode/test\r\n", "operator: me@example.org\r\n",
		"hostname: n1\r\n"} {
		if !strings.Contains(info, want) {
			t.Errorf("warcinfo lacks %q:\n%s", want, info)
		}
	}
	r, q := records[1], records[2]
	if r.Type != "response" || r.Status != 200 || !r.Date.Equal(day) || r.Addr != c.Addr ||
		r.Truncated != "length" ||
		string(r.Payload) != "<p>hello" || !bytes.Equal(r.Head, c.ResponseHead) ||
		r.ContentType != "text/html" ||
		r.PayloadDigest != digest(c.Digest) || r.Offset != ref.Offset || r.Length != ref.Length {
		t.Errorf("response = %+v", r)
	}
	if !bytes.Equal(q.Head, c.RequestHead) || q.Fields.Get("WARC-Concurrent-To") != "<"+r.ID+">" ||
		q.TargetURI != r.TargetURI {
		t.Errorf("request = %+v", q)
	}
	if got, err := ReadRef(dir, ref); err != nil || got.ID != r.ID {
		t.Errorf("ReadRef = %+v, %v", got, err)
	}
	for _, bad := range []crawl.ArchiveRef{{}, {File: "../x"}, {File: "none"},
		{File: ref.File, Offset: ref.Offset + 1, Length: 9},
		{File: ref.File, Offset: 1 << 40, Length: 9}} {
		if _, err := ReadRef(dir, bad); err == nil {
			t.Errorf("ReadRef(%+v) gives a record", bad)
		}
	}
	index, err := os.Stat(filepath.Join(dir, indexName(ref.File)))
	if s := a.Stats(); err != nil || s.Files != 1 || s.Records != 1 || s.Bytes != q.Offset+q.Length ||
		s.Written != s.Bytes || s.IndexBytes != index.Size() {
		t.Errorf("stats = %+v, %v", s, err)
	}
	if s := open(t, dir, Options{}).Stats(); s.Files != 1 || s.Bytes != q.Offset+q.Length ||
		s.Written != 0 || s.Records != 0 || s.IndexBytes != index.Size() {
		t.Errorf("stats of another start = %+v", s)
	}
}

// TestAnotherReader checks the files with a second implementation, at its strictest.
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
	unchanged := capture(t, "http://example.org/0", "")
	unchanged.Status, unchanged.ResponseHead = 304,
		[]byte("HTTP/1.1 304 Not Modified\r\nETag: \"v\"\r\n\r\n")
	unchanged.Digest, unchanged.Original = sha1.Sum([]byte("one")), &first
	put(t, a, unchanged)
	lost := capture(t, "http://example.org/lost", "")
	lost.Status, lost.ResponseHead, lost.Digest = 304, unchanged.ResponseHead, [20]byte{}
	put(t, a, lost)
	if err := a.PutFailure(t.Context(), failed(t, "http://example.org/down")); err != nil {
		t.Fatal(err)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	paths, _ := Files(dir)
	reader, err := gowarc.NewWarcFileReader(paths[0], 0, gowarc.WithStrictValidation(),
		gowarc.WithBufferTmpDir(t.TempDir()))
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
	want := map[gowarc.RecordType]int{
		gowarc.Warcinfo: 1,
		gowarc.Response: 3,
		gowarc.Revisit:  3,
		gowarc.Request:  6,
		gowarc.Metadata: 1,
	}
	if fmt.Sprint(kinds) != fmt.Sprint(want) {
		t.Errorf("records = %v, want %v", kinds, want)
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
	put(t, a, capture(t, "http://a.test/2", "same")) // the first was unknown
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
		if r.TargetURI != "http://a.test/1" || r.RefersToURI != "http://a.test/0" ||
			len(r.Payload) != 0 || r.Status != 200 ||
			r.PayloadDigest != digest(sha1.Sum([]byte("same"))) {
			t.Errorf("revisit record = %+v", r)
		}
	}
	if want := []string{"response", "revisit", "response"}; !slices.Equal(kinds, want) {
		t.Errorf("records = %v, want %v", kinds, want)
	}
}

// TestNotModified: a 304 answer is recorded as such, and replaces no payload.
func TestNotModified(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a := open(t, dir, Options{})
	c := capture(t, "http://a.test/", "")
	c.Status, c.ResponseHead = 304, []byte("HTTP/1.1 304 Not Modified\r\nETag: \"v\"\r\n\r\n")
	c.Digest, c.Certificate, c.NoIndex = [20]byte{}, "it expired\r\nEvil: 1", true
	put(t, a, c)
	if s := a.Stats(); s.ContentDuplicates != 0 || s.Records != 1 {
		t.Errorf("stats %+v", s)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	r := readAll(t, dir)[1]
	if r.Type != "revisit" || r.Status != 304 || r.Fields.Get("WARC-Profile") != notModifiedProfile ||
		r.Fields.Get("WARC-Refers-To") != "" ||
		r.RefersToURI != "http://a.test/" || r.Fields.Get("WARC-Refers-To-Date") != "" ||
		r.PayloadDigest != "" ||
		r.Fields.Get("Crawlnode-Robots") != "noindex" ||
		r.Fields.Get("Crawlnode-Certificate-Error") != "it expired%0D%0AEvil: 1" {
		t.Errorf("record %+v", r)
	}
}

// TestHeaderInjection: no value can start a second field or record.
func TestHeaderInjection(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a := open(t, dir,
		Options{Info: func() Info { return Info{Operator: "me\r\nevil: yes", Settings: "{}\nevil: 2"} }})
	c := capture(t, "http://a.test/", "x")
	c.ContentType = "text/html\r\nWARC-Type: evil\r\n\r\nWARC/1.1\x00"
	c.Truncated = "length\nEvil: 1"
	put(t, a, c)
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	records := readAll(t, dir)
	if len(records) != 3 || records[1].Type != "response" || records[1].Fields.Get("Evil") != "" ||
		strings.Contains(string(records[0].Payload), "\nevil") {
		t.Errorf("records = %+v", records)
	}
	if want := "text/html%0D%0AWARC-Type: evil%0D%0A%0D%0AWARC/1.1%00"; records[1].ContentType !=
		want {
		t.Errorf("content type = %q, want %q", records[1].ContentType, want)
	}
}

// TestMembersAreIndependent unpacks with the standard library: each member is a gzip file of its
// own.
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
	if err != nil || !bytes.HasPrefix(text, []byte("WARC/1.1\r\n")) ||
		!bytes.HasSuffix(text, []byte("\r\n\r\npayload\r\n\r\n")) {
		t.Errorf("member = %q, %v", text, err)
	}
	if !slices.Contains(strings.Split(string(text), "\r\n"),
		"Content-Length: "+fmt.Sprint(len(capture(t, "http://a.test/", "").ResponseHead)+7)) {
		t.Errorf("wrong length in %q", text)
	}
}

// A 304 refers to the capture whose payload has not changed, and its digest is that one's: WARC 1.1
// section 6.7.3 defines the payload so, and pywb finds the capture by URL, time and digest. The
// index has the digest too, or "-".
func TestNotModifiedRefers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a := open(t, dir, Options{})
	first := capture(t, "http://a.test/", "payload")
	stored := put(t, a, first)
	for i, original := range []*crawl.Original{
		{Record: stored.Record, URL: "http://a.test/", FetchedAt: first.FetchedAt},
		{URL: "http://a.test/", FetchedAt: first.FetchedAt}, nil,
	} {
		c := capture(t, "http://a.test/", "")
		c.Status, c.ResponseHead, c.FetchedAt = 304,
			[]byte("HTTP/1.1 304 Not Modified\r\nETag: \"v\"\r\nX: y\r\n\r\n"),
			first.FetchedAt.Add(time.Duration(i+1)*time.Hour)
		if c.Digest, c.Original = first.Digest, original; original == nil {
			c.Digest = [20]byte{}
		}
		put(t, a, c)
	}
	if s := a.Stats(); s.ContentDuplicates != 0 || s.Records != 4 {
		t.Errorf("stats %+v", s)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	var got []Record
	for _, r := range readAll(t, dir) {
		if r.Type == "revisit" {
			got = append(got, r)
		}
	}
	wants := []struct{ id, date, digest string }{
		{recordID(stored.Record).String(), first.FetchedAt.UTC().Format(warcDate), digest(first.Digest)},
		{"", first.FetchedAt.UTC().Format(warcDate), digest(first.Digest)}, {},
	}
	if len(got) != len(wants) {
		t.Fatalf("%d revisits", len(got))
	}
	for i, want := range wants {
		r := got[i]
		if r.Fields.Get("WARC-Profile") != notModifiedProfile ||
			r.Fields.Get("WARC-Refers-To") != want.id || r.Fields.Get("WARC-Refers-To-Date") != want.date ||
			r.RefersToURI != "http://a.test/" || r.PayloadDigest != want.digest || r.Status != 304 ||
			!strings.Contains(string(r.Head), "X: y\r\n") || len(r.Payload) > 0 || r.Verify() != nil {
			t.Errorf("record %d: %+v", i, r)
		}
	}
	var entries []Entry
	if err := Entries(dir, func(e Entry) error { entries = append(entries, e); return nil }); err !=
		nil {
		t.Fatal(err)
	}
	for i, want := range []string{digest(first.Digest), digest(first.Digest), digest(first.Digest),
		"-"} {
		if e := entries[i]; e.Digest != want || e.Revisit != (i > 0) ||
			e.Status != 200 && e.Status != 304 {
			t.Errorf("entry %d: %+v", i, e)
		}
	}
	// A repair makes the same lines from the records.
	before, err := os.ReadFile(filepath.Join(dir, indexName(stored.File)))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, indexName(stored.File))); err != nil {
		t.Fatal(err)
	}
	if err := open(t, dir, Options{}).Close(); err != nil {
		t.Fatal(err)
	}
	if after, err := os.ReadFile(filepath.Join(dir, indexName(stored.File))); err != nil ||
		string(after) != string(before) {
		t.Errorf("rebuilt index, %v:\n%s\nwas\n%s", err, after, before)
	}
	for until, want := range map[time.Duration]bool{
		-time.Hour:      false,
		0:               true,
		100 * time.Hour: true,
	} {
		ref, err := FindBefore(dir, "http://a.test/", first.FetchedAt.Add(until))
		if (err == nil) != want || want && ref.Offset != stored.Offset {
			t.Errorf("until %v: %+v, %v", until, ref, err)
		}
	}
}
