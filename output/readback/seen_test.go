package readback

import (
	"bytes"
	"context"
	"crypto/sha1" //nolint:gosec // payload digests of WARC are SHA-1
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"

	"crawlnode/crawl"
	"crawlnode/output/archive"
	"crawlnode/web/htmlparse"
)

// stored is an archive that a test fills.
type stored struct {
	t   *testing.T
	dir string
	a   *archive.Archive
	at  time.Time

	first string // the URL of the first capture
}

func newStored(t *testing.T, o archive.Options) *stored {
	t.Helper()
	s := &stored{
		t:   t,
		dir: filepath.Join(t.TempDir(), "warc"),
		at:  time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC),
	}
	o.Node = "n"
	var err error
	if s.a, err = archive.Open(s.dir, o); err != nil {
		t.Fatal(err)
	}
	return s
}

// put stores an answer; shown is what a browser made of it, and original the capture that has its
// payload.
func (s *stored) put(
	url, head, body, shown string,
	original crawl.ArchiveRef,
	status int,
) crawl.ArchiveRef {
	s.t.Helper()
	s.at = s.at.Add(time.Hour)
	c := crawl.Capture{
		FetchedAt:    s.at,
		Status:       status,
		RequestHead:  []byte("GET / HTTP/1.1\r\n\r\n"),
		Body:         []byte(body),
		Digest:       sha1.Sum([]byte(body)),
		ResponseHead: fmt.Appendf(nil, "HTTP/1.1 %d X\r\n%s\r\n", status, head),
	}
	if err := c.URL.UnmarshalText([]byte(url)); err != nil {
		s.t.Fatal(err)
	}
	if original.File != "" {
		c.Original = &crawl.Original{Record: original.Record, URL: s.first, FetchedAt: s.at}
	} else if s.first == "" {
		s.first = url
	}
	if status == 304 {
		c.Body = nil // the digest is that of what it stands for
	}
	if shown != "" {
		c.Resources = []crawl.Resource{{At: s.at, ContentType: "image/png", Body: []byte("png")},
			{At: s.at, ContentType: "text/html; charset=utf-8", Body: []byte(shown)}}
	}
	ref, err := s.a.Put(s.t.Context(), c)
	if err != nil {
		s.t.Fatal(err)
	}
	return ref
}

func (s *stored) close() {
	s.t.Helper()
	if err := s.a.Close(); err != nil {
		s.t.Fatal(err)
	}
}

// files are the WARC files of the archive.
func (s *stored) files() []string {
	s.t.Helper()
	paths, err := archive.Files(s.dir)
	if err != nil || len(paths) == 0 {
		s.t.Fatal(paths, err)
	}
	return paths
}

// Each capture is read as the crawl saw it, by its URL and by a scan of the file: what a browser
// made of it, with the head of its own visit, and only if it stands beside it.
func TestSeen(t *testing.T) {
	t.Parallel()
	const html = "Content-Type: text/html\r\n"
	const shell, dom = "<title>Loading</title>shell", "<title>Done</title><p>made<a href=/x>x</a>"
	s := newStored(t, archive.Options{})
	first := s.put("http://a.test/shown", html, shell, dom, crawl.ArchiveRef{}, 200)
	s.put("http://a.test/plain", html, shell, "", crawl.ArchiveRef{}, 200)
	s.put("http://a.test/gone", html, shell, dom, crawl.ArchiveRef{}, 404)
	s.put("http://a.test/text", "Content-Type: text/plain\r\n", shell, "", crawl.ArchiveRef{}, 200)
	s.put("http://a.test/shown2", html+"X-Robots-Tag: noarchive\r\nX-Robots-Tag: noindex\r\n", shell,
		"<title>Twin</title>other", first, 200)
	s.put("http://a.test/plain2", html, shell, "", first, 200)
	s.put("http://a.test/meta", html, `<meta name=robots content=noindex>`+shell, dom,
		crawl.ArchiveRef{}, 200)
	s.put("http://a.test/metashown", html, shell, `<meta name=robots content=noindex>`+dom,
		crawl.ArchiveRef{}, 200)
	s.put("http://a.test/shown", "", shell, "", first, 304)
	s.close()
	type seen struct {
		title, text string
		links       int
		hidden      bool
	}
	want := map[string]seen{
		"shown": {"Done", "madex", 1, false}, "plain": {"Loading", "shell", 0, false},
		"gone": {"Loading", "shell", 0, false}, "shown2": {"Twin", "other", 0, true},
		"plain2": {"Loading", "shell", 0, false}, "meta": {"Done", "madex", 1, false},
		"metashown": {"Done", "madex", 1, true},
	}
	check := func(how string, p *Page) {
		t.Helper()
		name := strings.TrimPrefix(p.Record.TargetURI, "http://a.test/")
		if name == "text" {
			if text, err := p.Text(); text != shell || err != nil || p.Kind() != Text || p.Shown != nil {
				t.Errorf("%s: the text is %q, %v", how, text, err)
			}
			return
		}
		d, err := p.Document(htmlparse.Options{})
		if err != nil {
			t.Errorf("%s: %s: %v", how, name, err)
			return
		}
		if got := (seen{d.Title, string(d.Text), len(d.Links), p.NoIndex(d)}); got != want[name] {
			t.Errorf("%s: %s is %+v, want %+v", how, name, got, want[name])
		}
		if main, err := p.Main(); err != nil || main.Title != want[name].title {
			t.Errorf("%s: %s: the main title is %q, %v", how, name, main.Title, err)
		}
	}
	for name := range want {
		p, err := Load(t.Context(), Folders{s.dir}, "http://a.test/"+name, MaxContent)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		check("folder", p)
	}
	count := 0
	sc := NewScanner(t.Context(), MaxContent)
	defer func() { _ = sc.Close() }()
	take := func(p *Page) error { count++; check("scan", p); return nil }
	if err := errors.Join(sc.Scan(s.files()[0], nil, take), sc.Finish(take)); err != nil ||
		count != 8 || sc.Missing != 0 {
		t.Errorf("%d captures, %d missing, %v", count, sc.Missing, err)
	}
}

// A body that is not whole is read as far as it can be, and says so; one of which nothing can be
// read is an error.
func TestDamagedBodies(t *testing.T) {
	t.Parallel()
	packed := string(gzipped(t, "<title>T</title>"+strings.Repeat("words ", 2000)))
	for name, c := range map[string]struct {
		coding, body string
		text, whole  bool
	}{
		"three bytes behind": {"gzip", packed + "abc", true, false}, "zeros behind": {"gzip",
			packed + "\x00\x00", true, false}, "no checksum": {"gzip", packed[:len(packed)-8], true, false},
		"half": {"gzip", packed[:len(packed)-20], true, false}, "wrong checksum": {"gzip",
			packed[:len(packed)-8] + "12345678", true, false}, "whole": {"gzip", packed, true, true},
		"not packed": {"gzip", "<title>T</title>words", true, true}, "nothing": {"gzip", "\x1f\x8b\x08",
			false, false}, "no brotli": {"br", "\xff\xff\xff\xff", false, false},
		"too many": {"gzip, gzip, gzip, gzip, gzip, gzip, gzip", packed, false, false},
	} {
		p := New(&archive.Record{
			Type:      "response",
			TargetURI: "http://a.test/",
			Status:    200,
			Payload:   []byte(c.body),
			Head: []byte("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: " + c.coding +
				"\r\n\r\n"),
		}, nil, nil, MaxContent)
		text, err := p.Text()
		if strings.Contains(text, "words") != c.text || (err == nil) != c.text {
			t.Errorf("%s: %d bytes of text, %v", name, len(text), err)
		}
		if c.text && !c.whole && name != "three bytes behind" && name != "zeros behind" &&
			p.Damage() == nil {
			t.Errorf("%s: nothing is said to be wrong", name)
		}
		if c.whole && p.Damage() != nil {
			t.Errorf("%s: %v", name, p.Damage())
		}
		var out, warnings bytes.Buffer
		err = Print(t.Context(), one{p.Record}, "http://a.test/", Form{}, MaxContent, &out, &warnings)
		if (err == nil) != c.text || c.text && (warnings.Len() == 0) != (p.Damage() == nil) ||
			strings.Contains(out.String(), "words") != c.text {
			t.Errorf("%s: printed %d bytes, %q, %v", name, out.Len(), warnings.String(), err)
		}
	}
}

// one is a source of one record.
type one struct{ record *archive.Record }

func (o one) Capture(_ context.Context, _ string) (*archive.Record, error) { return o.record, nil }
func (o one) Payload(context.Context, *archive.Record) (*archive.Record, error) {
	return nil, archive.ErrNoCapture
}
func (o one) Answer(context.Context, *archive.Record) (*archive.Record, error) {
	return nil, archive.ErrNoCapture
}
func (o one) Record(context.Context, crawl.ArchiveRef) (*archive.Record, error) {
	return nil, archive.ErrNoCapture
}

// What the header names decides, as the Fetch and MIME Sniffing Standards have it; what it does not
// say, the content does.
func TestKind(t *testing.T) {
	t.Parallel()
	const page = "<!doctype html><title>T</title>"
	for _, c := range []struct {
		head, body string
		kind       Kind
		media      string
	}{
		{"Content-Type: text/html", "x", HTML, "text/html"}, {"content-type:TEXT/HTML;charset=x", "x",
			HTML, "text/html"}, {"Content-Type: application/xhtml+xml", "", HTML, "application/xhtml+xml"},
		{"Content-Type: text/html, text/html", page, HTML, "text/html"},
		{"Content-Type: text/plain\r\nContent-Type: text/html", page, HTML, "text/html"},
		{"Content-Type: text/html, */*", page, HTML, "text/html"}, {"Content-Type: text/html;x=\",text/plain\"", page, HTML, "text/html"},
		{"", page, HTML, "text/html"}, {"Content-Type: html", page, HTML, "text/html"},
		{"Content-Type: */*", page, HTML, "text/html"},
		{"Content-Type: unknown/unknown", page, HTML, "text/html"},
		{"Content-Type:", page, HTML, "text/html"}, {"Content-Type: /", page, HTML, "text/html"},
		{"no field\r\nContent-Type: text/html", "x", HTML, "text/html"},
		{"Content-Type: text/plain", page, Text, "text/plain"}, {"Content-Type: text/css", "", Sheet,
			"text/css"}, {"Content-Type: application/ld+json", "", Text, "application/ld+json"},
		{"Content-Type: image/png", page, Other, "image/png"}, {"", "\x89PNG\r\n\x1a\n", Other,
			"image/png"}, {"Content-Type: image/svg+xml", "", Text, "image/svg+xml"},
	} {
		p := New(&archive.Record{
			Head:    []byte("HTTP/1.1 200 OK\r\n" + c.head + "\r\n\r\n"),
			Payload: []byte(c.body),
		}, nil, nil, MaxContent)
		if p.Kind() != c.kind || p.MediaType() != c.media {
			t.Errorf("%q, %q: %v, %q", c.head, c.body, p.Kind(), p.MediaType())
		}
	}
}

// Every line of X-Robots-Tag counts, for all robots and for this one, and what the crawl has noted.
func TestNoIndex(t *testing.T) {
	t.Parallel()
	for head, want := range map[string]bool{
		"X-Robots-Tag: noindex": true, "X-Robots-Tag: noarchive\r\nX-Robots-Tag: noindex": true,
		"x-robots-tag: crawlnode: noindex": true, "X-Robots-Tag: CRAWLNODE: none": true,
		"X-Robots-Tag: otherbot: noindex\r\nX-Robots-Tag: noindex": true, "X-Robots-Tag: a\r\n X: y\r\n" +
			"X-Robots-Tag: none": true, "bad line\r\nX-Robots-Tag: noindex": true,
		"X-Robots-Tag: otherbot: noindex": false, "X-Robots-Tag: nofollow": false,
		"X-Other: noindex": false, "": false,
	} {
		p := New(&archive.Record{
			Head: []byte("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n" + head + "\r\n\r\n"),
		}, nil, nil, MaxContent)
		if got := p.NoIndex(nil); got != want {
			t.Errorf("%q: %v", head, got)
		}
	}
	noted := New(&archive.Record{Fields: map[string][]string{"Crawlnode-Robots": {"noindex"}}}, nil,
		nil, MaxContent)
	if !noted.NoIndex(nil) {
		t.Error("what the crawl has noted does not count")
	}
	named := New(&archive.Record{
		Head:   []byte("HTTP/1.1 200 OK\r\nX-Robots-Tag: fieldbot: nofollow, crawlnode: noindex\r\n\r\n"),
		Fields: map[string][]string{"Crawlnode-Robots-Agent": {"FieldBot"}},
	}, nil, nil, MaxContent)
	if named.NoIndex(nil) || !named.NoFollow(nil) {
		t.Error("preferences for another robot count, or those for this one do not")
	}
}

// fill stores ten pages and a duplicate, and returns the URLs.
func (s *stored) fill() (urls []string) {
	s.t.Helper()
	var first crawl.ArchiveRef
	for i := range 10 {
		url := fmt.Sprintf("http://a.test/%d", i)
		ref := s.put(url, "Content-Type: text/html\r\n", fmt.Sprintf("<title>%d</title>page %[1]d", i),
			"", crawl.ArchiveRef{}, 200)
		if urls = append(urls, url); i == 0 {
			first = ref
		}
	}
	s.put("http://a.test/0", "Content-Type: text/html\r\n", "<title>0</title>page 0", "", first, 200)
	return urls
}

// rewritten writes the records of a gzip file anew.
func rewritten(t *testing.T, from, to string, members bool) {
	t.Helper()
	b, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if _, err := out.ReadFrom(z); err != nil {
		t.Fatal(err)
	}
	plain := out.Bytes()
	if members {
		plain = gzipped(t, out.String())
	}
	if err := os.WriteFile(to, plain, 0o600); err != nil {
		t.Fatal(err)
	}
}

// Whatever is wrong with the indexes of a folder, all that its files have is read, or the error
// says what is wrong.
func TestOpen(t *testing.T) {
	t.Parallel()
	index := func(dir string) string {
		found, err := filepath.Glob(filepath.Join(dir, "*.cdxj"))
		if err != nil || len(found) != 1 {
			t.Fatal(found, err)
		}
		return found[0]
	}
	change := func(path string, f func(b []byte) []byte) {
		t.Helper()
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, f(b), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		change   func(s *stored) // once it is closed
		pages    int             // 0: an error
		warnings int
	}{
		"as it is": {func(*stored) {}, 10, 0},
		"no index": {func(s *stored) { _ = os.Remove(index(s.dir)) }, 10, 0},
		"an empty index": {func(s *stored) { change(index(s.dir), func([]byte) []byte { return nil }) },
			10, 0},
		"a cut line": {
			func(s *stored) { change(index(s.dir), func(b []byte) []byte { return b[:len(b)-20] }) },
			10,
			0,
		},
		"half of the lines": {func(s *stored) {
			change(index(s.dir), func(b []byte) []byte { return b[:bytes.IndexByte(b, '\n')+1] })
		}, 10, 0},
		"no lines but noise": {
			func(s *stored) { change(index(s.dir), func([]byte) []byte { return []byte("noise\n") }) },
			10,
			0,
		},
		"an older index": {
			func(s *stored) { _ = os.Chtimes(index(s.dir), time.Unix(0, 0), time.Unix(1000, 0)) },
			10,
			0,
		},
		"not compressed": {func(s *stored) {
			path := s.files()[0]
			rewritten(t, path, strings.TrimSuffix(path, ".gz"), false)
			_, _ = os.Remove(path), os.Remove(index(s.dir))
		}, 10, 0},
		"one member": {func(s *stored) {
			path := s.files()[0]
			rewritten(t, path, path, true)
			_ = os.Remove(index(s.dir))
		}, 10, 0},
		"open, without an index": {func(s *stored) {
			_, _ = os.Rename(s.files()[0], s.files()[0]+".open"), os.Remove(index(s.dir))
		}, 10, 0},
		"a broken file beside it": {func(s *stored) {
			_ = os.WriteFile(filepath.Join(s.dir, "broken.warc.gz"), []byte("this is none"), 0o600)
		}, 10, 1},
		"damaged in the middle": {func(s *stored) {
			_ = os.Remove(index(s.dir))
			change(s.files()[0], func(b []byte) []byte { b[len(b)/2+40] ^= 0xff; return b })
		}, 3, 1},
		"nothing but a broken file": {func(s *stored) {
			_ = os.Remove(index(s.dir))
			change(s.files()[0], func([]byte) []byte { return []byte("this is none") })
		}, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStored(t, archive.Options{})
			urls := s.fill()
			s.close()
			c.change(s)
			a, err := Open(filepath.Dir(s.dir))
			if c.pages == 0 {
				if err == nil {
					t.Error("it is opened")
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			found := 0
			for _, u := range urls {
				if p, err := Load(t.Context(), a, u, MaxContent); err == nil {
					text, _ := p.Text()
					if !strings.HasPrefix(text, "page ") {
						t.Errorf("%s: %q", u, text)
					}
					found++
				}
			}
			if found < c.pages || found == 10 && c.pages < 10 || len(a.Warnings) != c.warnings {
				t.Errorf("%d of %d pages, warnings %v", found, c.pages, a.Warnings)
			}
			var lines bytes.Buffer
			if err := a.WriteIndex(t.Context(), &lines); err != nil ||
				c.pages == 10 && bytes.Count(lines.Bytes(), []byte("\n")) != 11 {
				t.Errorf("%d lines, %v", bytes.Count(lines.Bytes(), []byte("\n")), err)
			}
			temp := a.temp
			if err := a.Close(); err != nil {
				t.Error(err)
			}
			if _, err := os.Stat(temp); temp != "" && err == nil {
				t.Error("it leaves files")
			}
		})
	}
}

// A node whose files are in an object store has its index here, and its records are errors.
func TestOpenIndexAlone(t *testing.T) {
	t.Parallel()
	s := newStored(t, archive.Options{})
	urls := s.fill()
	s.close()
	if err := os.Remove(s.files()[0]); err != nil {
		t.Fatal(err)
	}
	a, err := Open(filepath.Dir(s.dir))
	if err != nil || a.Empty() {
		t.Fatal(err)
	}
	var lines bytes.Buffer
	if err := a.WriteIndex(t.Context(), &lines); err != nil ||
		bytes.Count(lines.Bytes(), []byte("\n")) != 11 {
		t.Errorf("%s, %v", lines.String(), err)
	}
	if _, err := Load(t.Context(), a, urls[0], MaxContent); err == nil {
		t.Error("a record is read from a file that is not there")
	}
}

// What a node has written and not synced yet is read, and goes on to be read when it finishes the
// file.
func TestOpenWhileWritten(t *testing.T) {
	t.Parallel()
	s := newStored(t, archive.Options{})
	urls := s.fill()
	if err := s.a.Sync(); err != nil {
		t.Fatal(err)
	}
	urls = append(urls, "http://a.test/late")
	// the index lacks it
	s.put("http://a.test/late", "Content-Type: text/html\r\n", "page late", "", crawl.ArchiveRef{},
		200)
	a, err := Open(filepath.Dir(s.dir))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = a.Close() }()
	for _, state := range []string{"written", "finished"} {
		for _, u := range urls {
			p, err := Load(t.Context(), a, u, MaxContent)
			if err != nil {
				t.Errorf("%s: %s: %v", state, u, err)
				continue
			}
			if text, _ := p.Text(); !strings.HasPrefix(text, "page ") {
				t.Errorf("%s: %s: %q", state, u, text)
			}
		}
		if state == "written" {
			s.close()
		}
	}
	if len(a.Warnings) > 0 {
		t.Error(a.Warnings)
	}
}

// A node that has stored nothing is no error, a folder in which there is nothing is one. Files of
// one name from two folders are both read.
func TestOpenPaths(t *testing.T) {
	t.Parallel()
	empty := t.TempDir()
	if _, err := Open(empty); !errors.Is(err, ErrNoFiles) {
		t.Errorf("an empty folder: %v", err)
	}
	if err := os.Mkdir(filepath.Join(empty, "warc"), 0o700); err != nil {
		t.Fatal(err)
	}
	if a, err := Open(empty); err != nil || !a.Empty() {
		t.Errorf("a node that has stored nothing: %v", err)
	}
	if _, err := Open(filepath.Join(empty, "x.txt")); err == nil {
		t.Error("a file that is not there is opened")
	}
	var paths []string
	for i := range 2 {
		s := newStored(t, archive.Options{})
		s.put(fmt.Sprintf("http://a.test/%d", i), "Content-Type: text/html\r\n", fmt.Sprint("page ", i),
			"", crawl.ArchiveRef{}, 200)
		s.close()
		path := filepath.Join(t.TempDir(), "same.warc.gz")
		if err := os.Rename(s.files()[0], path); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	a, err := Open(paths...)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = a.Close() }()
	for i := range 2 {
		p, err := Load(t.Context(), a, fmt.Sprintf("http://a.test/%d", i), MaxContent)
		if err != nil {
			t.Fatal(err)
		}
		if text, _ := p.Text(); text != fmt.Sprint("page ", i) {
			t.Errorf("%d: %q", i, text)
		}
	}
}

// A scan finds the content of duplicates in earlier files and in later ones, whatever the files
// look like, and counts those whose content is nowhere.
func TestScanner(t *testing.T) {
	t.Parallel()
	s := newStored(t, archive.Options{MaxFileBytes: 1}) // a file for each capture
	urls := s.fill()
	s.close()
	files := s.files()
	if len(files) != 11 {
		t.Fatal(files)
	}
	scanned := func(paths ...string) (got []string, missing int64) {
		t.Helper()
		sc := NewScanner(t.Context(), MaxContent)
		take := func(p *Page) error {
			text, err := p.Text()
			got = append(got, p.Record.TargetURI+" "+text)
			return err
		}
		for _, path := range paths {
			if err := sc.Scan(path, nil, take); err != nil {
				t.Error(err)
			}
		}
		if err := errors.Join(sc.Finish(take), sc.Close()); err != nil {
			t.Error(err)
		}
		return got, sc.Missing
	}
	want := []string{}
	for i, u := range urls {
		want = append(want, fmt.Sprintf("%s page %d", u, i))
	}
	want = append(want, "http://a.test/0 page 0")
	if got, missing := scanned(files...); !slices.Equal(got, want) || missing != 0 {
		t.Errorf("%q, %d missing", got, missing)
	}
	slices.Reverse(files)
	got, missing := scanned(files...)
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) || missing != 0 {
		t.Errorf("backward: %q, %d missing", got, missing)
	}
	if got, missing := scanned(files[0]); len(got) != 0 || missing != 1 {
		t.Errorf("the duplicate alone: %q, %d missing", got, missing)
	}
	for _, members := range []bool{false, true} {
		var others []string
		for i, f := range files {
			to := filepath.Join(t.TempDir(), fmt.Sprint(i, ".warc"))
			if members {
				to += ".gz"
			}
			rewritten(t, f, to, members)
			others = append(others, to)
		}
		got, missing := scanned(others...)
		slices.Sort(got)
		if !slices.Equal(got, want) || missing != 0 {
			t.Errorf("members %v: %q, %d missing", members, got, missing)
		}
	}
}

// FuzzFields: no head, whatever it has, hides a field that stands in a line of its own before it,
// or makes one out of nothing.
func FuzzFields(f *testing.F) {
	for _, s := range []string{"", "a: b\r\n", "no colon\r\nx: y\r\n", ": v\r\n", " folded\r\n",
		"a:b\n\nc:d\n", "\r\r\n", "A : b\r\n\tc\r\n", "\x00:\xff\r\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, rest string) {
		h := fieldsOf([]byte("HTTP/1.1 200 OK\r\nX-Robots-Tag: noindex\r\n" + rest))
		if v := h["X-Robots-Tag"]; len(v) == 0 || !strings.HasPrefix(v[0], "noindex") {
			t.Fatalf("%q: %q", rest, v)
		}
		for name := range h {
			if name != "X-Robots-Tag" && !strings.Contains(strings.ToLower(rest), strings.ToLower(name)) {
				t.Fatalf("%q has a field %q", rest, name)
			}
		}
		_ = typeOf(h, nil)
	})
}
