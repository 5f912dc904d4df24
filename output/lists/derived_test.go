package lists

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"crawlnode/crawl"
	"crawlnode/web/htmlparse"
	"crawlnode/web/urlnorm"
)

func url(t testing.TB, s string) urlnorm.URL {
	t.Helper()
	u, err := urlnorm.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// everything enables all outputs.
func everything() Options {
	return Options{Node: "x1", Pages: true, Links: true, Hosts: true, Text: true, SkipRate: 1}
}

func open(t testing.TB, dir string, o Options) *Outputs {
	t.Helper()
	s, err := Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// put writes a page of HTML.
func put(
	t testing.TB,
	s *Outputs,
	at, html string,
	change ...func(*crawl.Capture, *crawl.Outcome),
) {
	t.Helper()
	if err := page(t, s, at, html, change...); err != nil {
		t.Fatal(err)
	}
}

func page(
	t testing.TB,
	s *Outputs,
	at, html string,
	change ...func(*crawl.Capture, *crawl.Outcome),
) error {
	t.Helper()
	c := crawl.Capture{URL: url(t, at), Body: []byte(html)}
	o := crawl.Outcome{
		Status:      200,
		ContentType: "text/html",
		FetchedAt:   time.Date(2026, 1, 2, 3, 4, 5, 6e6, time.UTC),
		Bytes:       int64(len(html)),
	}
	for _, f := range change {
		f(&c, &o)
	}
	doc := htmlparse.ParseWith(htmlparse.Options{Anchors: s.Anchors()}, c.Body,
		"text/html; charset=utf-8", c.URL)
	return s.Page(t.Context(), &c, &o, 3, &doc, nil)
}

func shut(t testing.TB, s *Outputs) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// unpacked reads the finished files of a kind, with another reader than that of repair, in the
// order in which they were started.
func unpacked(t testing.TB, dir, kind string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, kind+"-*.gz"))
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(files)
	var all strings.Builder
	for _, path := range files {
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		z, err := gzip.NewReader(f)
		if err == nil {
			_, err = io.Copy(&all, z)
		}
		_ = f.Close()
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
	}
	return all.String()
}

// only checks that dir contains only finished files, and counts them.
func only(t testing.TB, dir string) int {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !isOurs(e.Name()) {
			t.Errorf("left behind: %s", e.Name())
		}
	}
	return len(entries)
}

// decoded reads lines as JSON.
func decoded(t testing.TB, lines string) []map[string]any {
	t.Helper()
	var all []map[string]any
	for line := range strings.Lines(lines) {
		var m map[string]any
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatalf("line %q: %v", line, err)
		}
		all = append(all, m)
	}
	return all
}

func TestLines(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir, everything())
	put(t, s, "http://a.test/1",
		`<html lang="de-CH"><title>A "title"</title><meta name=description content="What it is"><link rel=canonical href=/c>
		<a href="/2" rel="nofollow">to &amp; <b>fro</b></a><a href="http://b.test/">b</a><a href="http://b.test/x">b</a><img src="http://c.test/i">`,
		func(c *crawl.Capture, o *crawl.Outcome) {
			c.Original = &crawl.Original{URL: "http://o.test/"}
			o.Digest[0] = 0xff
			o.NoIndex, o.Simhash, o.NearOf, o.Truncated = true, 0xabc, "http://near.test/", "length"
			o.Archive = crawl.ArchiveRef{
				File:   "f.warc.gz",
				Offset: 7,
				Length: 9,
				Record: [16]byte{0: 0xab, 15: 1},
			}
		})
	if err := s.Skipped(t.Context(), []crawl.Skip{{
		URL:    url(t, "http://s.test/"),
		Source: url(t, "http://a.test/1"),
		Reason: crawl.SkipTrap,
		Via:    crawl.ViaLink,
		At:     time.Unix(0, 0),
	},
		{URL: url(t, "http://r.test/"), Reason: crawl.SkipRobots, Via: crawl.ViaSeed}}); err != nil {
		t.Fatal(err)
	}
	shut(t, s)
	if n := only(t, dir); n != 5 {
		t.Errorf("%d files of 5 outputs", n)
	}
	want := map[string]string{
		Pages: `{"url":"http://a.test/1","fetched_at":"2026-01-02T03:04:05.006Z","status":200,"mime":"text/html","title":"A \"title\"","description":"What it is",` +
			`"language":"de-CH","charset":"utf-8","canonical":"http://a.test/c","noindex":true,"preferences":{"search":null,"archive":null,"ai-input":null,"ai-train":null,"from":[]},"digest":"sha1:74AAAAAAAAAAAAAAAAAAAAAAAAAAAAAA","simhash":"0000000000000abc",` +
			`"near_duplicate_of":"http://near.test/","duplicate_of":"http://o.test/","depth":3,"bytes":257,"truncated":true,"warc":{"file":"f.warc.gz","offset":7,"length":9}}` +
			"\n",
		Links: `{"source":"http://a.test/1","target":"http://a.test/c","rel":"canonical","tag":"link"}` +
			"\n" +
			`{"source":"http://a.test/1","target":"http://a.test/2","text":"to & fro","rel":"nofollow","nofollow":true,"tag":"a"}` +
			"\n" +
			`{"source":"http://a.test/1","target":"http://b.test/","text":"b","tag":"a"}` + "\n" +
			`{"source":"http://a.test/1","target":"http://b.test/x","text":"b","tag":"a"}` + "\n" +
			`{"source":"http://a.test/1","target":"http://c.test/i","tag":"img"}` + "\n",
		Hosts: `{"source":"a.test","target":"b.test","links":2}` + "\n",
		Skipped: `{"url":"http://s.test/","source":"http://a.test/1","reason":"trap","via":"link","at":"1970-01-01T00:00:00.000Z"}` +
			"\n" +
			`{"url":"http://r.test/","reason":"robots","via":"seed"}` + "\n",
	}
	for kind, want := range want {
		if got := unpacked(t, dir, kind); got != want {
			t.Errorf("%s\n got %s\nwant %s", kind, got, want)
		}
	}
	text := unpacked(t, dir, Text)
	for _, part := range []string{"WARC-Type: conversion\r\n", "WARC-Target-URI: http://a.test/1\r\n",
		"WARC-Refers-To: <urn:uuid:ab000000-0000-0000-0000-000000000001>\r\n",
		"WARC-Date: 2026-01-02T03:04:05.006Z\r\n", "WARC-Identified-Content-Language: de-CH\r\n",
		"Content-Type: text/plain\r\n", "\r\n\r\nto & frobb\r\n\r\n"} {
		if !strings.Contains(text, part) {
			t.Errorf("the text lacks %q:\n%s", part, text)
		}
	}
}

// An answer that is not a page has a line among the pages and nowhere else; sitemap files have
// none.
func TestNoPage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir, everything())
	c := crawl.Capture{URL: url(t, "http://a.test/")}
	for _, o := range []crawl.Outcome{{Status: 404}, {Status: 200, IsSitemap: true}} {
		if err := s.Page(t.Context(), &c, &o, 0, nil, nil); err != nil {
			t.Fatal(err)
		}
	}
	shut(t, s)
	got := decoded(t, unpacked(t, dir, Pages))
	if len(got) != 1 || got[0]["status"] != 404.0 || only(t, dir) != 1 {
		t.Fatalf("pages %v, %d files", got, only(t, dir))
	}
	if digest, has := got[0]["digest"]; has { // nobody has told it
		t.Errorf("the digest of an unknown payload: %v", digest)
	}
}

// An output that is not enabled writes nothing and makes no file.
func TestNotAsked(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir, Options{Node: "x1"})
	put(t, s, "http://a.test/", "<a href=/x>text</a>")
	if s.Anchors() || s.Sampled(url(t, "http://a.test/")) {
		t.Error("it wants what nobody asked for")
	}
	if err := errors.Join(s.Skipped(t.Context(), []crawl.Skip{{URL: url(t, "http://a.test/")}}),
		s.Sync()); err != nil {
		t.Error(err)
	}
	shut(t, s)
	if n := only(t, dir); n != 0 {
		t.Errorf("%d files", n)
	}
	if _, err := Open(dir, Options{}); err == nil {
		t.Error("opened without a node's id")
	}
}

func TestSampled(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, rate := range []float64{0, 0.01, 0.5, 0.999, 1} {
		s, again := open(t, dir, Options{Node: "x1", SkipRate: rate}), open(t, t.TempDir(),
			Options{Node: "y", SkipRate: rate})
		n := 0
		for i := range 10000 {
			u := url(t, fmt.Sprintf("http://a.test/%d", i))
			if s.Sampled(u) {
				n++
			}
			if s.Sampled(u) != again.Sampled(u) {
				t.Fatalf("two nodes do not agree on %s", u)
			}
		}
		if off := float64(n) - rate*10000; off > 200 || off < -200 || rate == 1 && n != 10000 ||
			rate == 0 && n != 0 {
			t.Errorf("rate %v: %d of 10000", rate, n)
		}
	}
}

// Many lines make several members and several files, in order, and none is lost.
func TestTurn(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	o := everything()
	o.MaxFileBytes = 8 << 10
	s := open(t, dir, o)
	const pages = 200
	for i := range pages {
		put(t, s, fmt.Sprintf("http://a.test/%d", i), fmt.Sprintf("<title>%d</title>", i)+
			strings.Repeat(fmt.Sprintf("<a href=/x>%d</a> words", i*i), 300))
		if i%20 == 19 {
			if err := s.checkpointAll(); err != nil {
				t.Fatal(err)
			}
		}
	}
	shut(t, s)
	if n := only(t, dir); n < 10 {
		t.Errorf("%d files", n)
	}
	for i, line := range decoded(t, unpacked(t, dir, Pages)) {
		if line["title"] != fmt.Sprint(i) {
			t.Fatalf("line %d is of page %v", i, line["title"])
		}
	}
	if n := strings.Count(unpacked(t, dir, Links), "\n"); n != pages*300 {
		t.Errorf("%d links", n)
	}
	if n := strings.Count(unpacked(t, dir, Text), "WARC-Type: conversion"); n != pages {
		t.Errorf("%d texts", n)
	}
	before := s.Stats()
	s = open(t, dir, o)
	if got := s.Stats(); got != before || got.Files != int64(only(t, dir)) ||
		got.Bytes < 10*o.MaxFileBytes/2 {
		t.Errorf("counted %+v while writing, %+v after another Open", before, got)
	}
	put(t, s, "http://a.test/more", "")
	shut(t, s)
	if n := strings.Count(unpacked(t, dir, Pages), "\n"); n != pages+1 {
		t.Errorf("%d pages after a second Open", n)
	}
}

// checkpointAll makes checkpoints, as Sync does when enough is waiting.
func (s *Outputs) checkpointAll() error {
	var errs []error
	for _, o := range s.streams() {
		if o.file != nil {
			errs = append(errs, o.checkpoint())
		}
	}
	return errors.Join(errs...)
}

// Pairs of hosts are summed within a member, and over all lines.
func TestHostsAreAddedUp(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir, Options{Node: "x1", Hosts: true})
	for i := range 100 {
		put(t, s, fmt.Sprintf("http://a.test/%d", i),
			"<a href=http://b.test/>b</a><a href=http://b.test/>b</a><a href=http://c.test/>c</a>")
		if i == 49 {
			if err := s.checkpointAll(); err != nil {
				t.Fatal(err)
			}
		}
	}
	shut(t, s)
	lines := decoded(t, unpacked(t, dir, Hosts))
	sums := map[string]float64{}
	for _, l := range lines {
		sums[fmt.Sprint(l["source"], " ", l["target"])] += l["links"].(float64)
	}
	if len(lines) != 4 || len(sums) != 2 || sums["a.test b.test"] != 200 ||
		sums["a.test c.test"] != 100 {
		t.Errorf("%d lines, sums %v", len(lines), sums)
	}
}

// A hostile page: its lines are bounded pieces, and JSON all the same.
func TestHostilePage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir, everything())
	long := "http://a.test/" + strings.Repeat("x", 1900)
	var html strings.Builder
	html.WriteString("<html lang=\"de\r\nX: y\"><title>\x00\x1b[2J\xff\xfe\"}\n{\u2028\\</title>")
	for i := range 3000 {
		fmt.Fprintf(&html, "<a rel='\x01\xff' href=/%d>\xc3\x28 \x07 \"} {\"%d</a>", i, i)
	}
	put(t, s, long, html.String())
	for _, o := range s.streams() {
		if o.file != nil && cap(o.file.pending) > 2*(memberBytes+2*pieceBytes) {
			t.Errorf("%s keeps %d bytes", o.kind, cap(o.file.pending))
		}
	}
	shut(t, s)
	links := decoded(t, unpacked(t, dir, Links))
	if len(links) != 3000 || links[17]["text"] != "\uFFFD( \a \"} {\"17" ||
		links[17]["source"] != long {
		t.Errorf("%d links, one %.300v", len(links), links[min(17, len(links)-1)])
	}
	if got := decoded(t, unpacked(t, dir, Pages)); len(got) != 1 ||
		!strings.HasSuffix(got[0]["title"].(string), "\"} { \\") {
		t.Errorf("pages %.300v", got)
	}
	if text := unpacked(t, dir, Text); strings.Contains(text, "\nX: y") ||
		strings.Contains(text, "Content-Language") {
		t.Errorf("a field was smuggled in: %.600s", text)
	}
}

// Many workers write while another goroutine syncs: each page is there once.
func TestManyWorkers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	o := everything()
	o.MaxFileBytes = 64 << 10
	s := open(t, dir, o)
	const workers, each = 8, 50
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for i := range each {
				if err := page(t, s, fmt.Sprintf("http://a.test/%d/%d", w, i),
					strings.Repeat("<a href=http://b.test/>some words</a> ", 200)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	done := make(chan struct{})
	go func() {
		wg.Wait()
		close(done)
	}()
	for over := false; !over; {
		select {
		case <-done:
			over = true
		case <-time.After(time.Millisecond):
		}
		if err := s.Sync(); err != nil {
			t.Fatal(err)
		}
	}
	shut(t, s)
	seen := map[any]bool{}
	for _, l := range decoded(t, unpacked(t, dir, Pages)) {
		seen[l["url"]] = true
	}
	links := strings.Count(unpacked(t, dir, Links), "\n")
	texts := strings.Count(unpacked(t, dir, Text), "WARC-Type: conversion")
	if len(seen) != workers*each || links != workers*each*200 || texts != workers*each ||
		only(t, dir) < 5 {
		t.Errorf("%d pages, %d links, %d texts", len(seen), links, texts)
	}
}

// The first error of the disk stops everything; the lines written before it stay.
func TestDiskFails(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir, everything())
	put(t, s, "http://a.test/1", "one")
	_ = s.links.create() // a file that is there before the failure
	_ = s.pages.file.tail.Close()
	first := page(t, s, "http://a.test/2", "two")
	if first == nil || !strings.Contains(first.Error(), "tail of pages-") {
		t.Fatalf("error %v", first)
	}
	for _, err := range []error{page(t, s, "http://a.test/3", "three"), s.Sync(), s.Close()} {
		if err == nil || !strings.Contains(err.Error(), first.Error()) {
			t.Errorf("then %v, want %v", err, first)
		}
	}
	shut(t, open(t, dir, everything()))
	if got := decoded(t, unpacked(t, dir, Pages)); len(got) != 1 ||
		got[0]["url"] != "http://a.test/1" {
		t.Errorf("pages %v", got)
	}
	only(t, dir)
}

func TestClosed(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir(), everything())
	shut(t, s)
	if err := page(t, s, "http://a.test/", ""); !errors.Is(err, ErrClosed) {
		t.Errorf("Page after Close: %v", err)
	}
	s = open(t, t.TempDir(), everything())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s.pages.token <- struct{}{} // another caller holds it
	c, o := crawl.Capture{URL: url(t, "http://a.test/")}, crawl.Outcome{}
	if err := s.Page(ctx, &c, &o, 0, nil, nil); !errors.Is(err, context.Canceled) ||
		s.failure() != nil {
		t.Errorf("Page that gives up: %v, %v", err, s.failure())
	}
}

// BenchmarkPage writes everything that is derived from a page of 20 KB with 40 links.
func BenchmarkPage(b *testing.B) {
	s := open(b, b.TempDir(), everything())
	html := "<title>A page</title>" + strings.Repeat(
		`<a href="/guide/chapter.html">more</a> `+strings.Repeat("some words of text ", 25), 40)
	c := crawl.Capture{URL: url(b, "http://a.test/"), Body: []byte(html)}
	o := crawl.Outcome{Status: 200, ContentType: "text/html", FetchedAt: time.Now()}
	doc := htmlparse.ParseWith(htmlparse.Options{Anchors: true}, c.Body, "text/html", c.URL)
	b.ReportAllocs()
	for b.Loop() {
		if err := s.Page(b.Context(), &c, &o, 3, &doc, nil); err != nil {
			b.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
}

// TestUnchangedLines: a page that was not read again has a line that says so, and nothing else.
func TestUnchangedLines(t *testing.T) {
	t.Parallel()
	for _, status := range []int{200, 203, 226} {
		dir := t.TempDir()
		s := open(t, dir, everything())
		c := crawl.Capture{URL: url(t, "http://a.test/1"), Status: status}
		o := crawl.Outcome{
			Status:      status,
			ContentType: "text/html",
			Unchanged:   true,
			NoIndex:     true,
			Digest:      crawl.Digest{1},
		}
		if err := s.Page(t.Context(), &c, &o, 3, nil, nil); err != nil {
			t.Fatal(err)
		}
		shut(t, s)
		lines := decoded(t, unpacked(t, dir, Pages))
		if len(lines) != 1 || lines[0]["unchanged"] != true || lines[0]["noindex"] != true ||
			lines[0]["digest"] == nil || lines[0]["title"] != nil {
			t.Errorf("%d: %v", status, lines)
		}
		for _, kind := range []string{Links, Hosts, Text, Skipped} {
			if got := unpacked(t, dir, kind); got != "" {
				t.Errorf("%d: %s of an unchanged page: %q", status, kind, got)
			}
		}
	}
}
