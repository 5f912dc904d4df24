//race:none

package mirror

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"crawlnode/crawl"
	"crawlnode/output/archive"
	"crawlnode/output/readback"
	"crawlnode/web/urlnorm"
)

// crawled is an archive that a test fills.
type crawled struct {
	t   testing.TB
	dir string
	a   *archive.Archive
	at  time.Time
}

func newCrawl(t testing.TB) *crawled {
	t.Helper()
	c := &crawled{t: t, dir: t.TempDir(), at: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	var err error
	if c.a, err = archive.Open(c.dir, archive.Options{Node: "n"}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.a.Close() })
	return c
}

// put stores an answer. header are lines such as "Location: /x".
func (c *crawled) put(
	url string,
	status int,
	media, body string,
	header ...string,
) crawl.ArchiveRef {
	c.t.Helper()
	return c.capture(url, status, media, body, nil, header...)
}

func (c *crawled) capture(
	url string,
	status int,
	media, body string,
	original *crawl.Original,
	header ...string,
) crawl.ArchiveRef {
	c.t.Helper()
	u := mustURL(c.t, url)
	c.at = c.at.Add(time.Second)
	head := fmt.Sprintf("HTTP/1.1 %d X\r\n", status)
	if media != "" {
		head += "Content-Type: " + media + "\r\n"
	}
	for _, h := range header {
		head += h + "\r\n"
	}
	ref, err := c.a.Put(context.Background(), crawl.Capture{
		URL:          u,
		FetchedAt:    c.at,
		Status:       status,
		ContentType:  strings.Split(media, ";")[0],
		Original:     original,
		RequestHead:  []byte("GET / HTTP/1.1\r\n\r\n"),
		ResponseHead: []byte(head + "\r\n"),
		Body:         []byte(body),
		Digest:       sha1.Sum([]byte(body)),
	})
	if err != nil {
		c.t.Fatal(err)
	}
	return ref
}

// writeTo writes the files and checks what is always true of them.
func (c *crawled) writeTo(dir string) (Summary, map[string]Line) {
	c.t.Helper()
	if err := c.a.Sync(); err != nil {
		c.t.Fatal(err)
	}
	sum, err := write(context.Background(), dir, readback.Folders{c.dir})
	if err != nil {
		c.t.Fatal(err)
	}
	return sum, checked(c.t, dir)
}

func write(ctx context.Context, dir string, src Source) (Summary, error) {
	f, err := Open(dir)
	if err != nil {
		return Summary{}, err
	}
	sum, err := f.Write(ctx, src, nil)
	return sum, errors.Join(err, f.Close())
}

// checked reads the manifest: each file is there, whole, and of one URL; and there are no others.
func checked(t testing.TB, dir string) map[string]Line {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(dir, manifestName))
	if err != nil {
		t.Fatal(err)
	}
	lines, files := map[string]Line{}, map[string]string{}
	for text := range strings.Lines(string(raw)) {
		var l Line
		if err := json.Unmarshal([]byte(text), &l); err != nil {
			t.Fatalf("line %q: %v", text, err)
		}
		if _, ok := lines[l.URL]; ok {
			t.Errorf("%s has two lines", l.URL)
		}
		if lines[l.URL] = l; l.File == "" {
			continue
		}
		if other, ok := files[fold(l.File)]; ok {
			t.Errorf("%s is the file of %s and of %s", l.File, other, l.URL)
		}
		files[fold(l.File)] = l.URL
		content, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(l.File)))
		if sum := sha256.Sum256(content); err != nil || hex.EncodeToString(sum[:]) != l.SHA256 ||
			int64(len(content)) != l.Bytes {
			t.Errorf("%s is not the file of its line: %v", l.File, err)
		}
	}
	err = filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, _ := filepath.Rel(dir, p)
		if rel != manifestName && files[fold(filepath.ToSlash(rel))] == "" {
			t.Errorf("%s is in no line", rel)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	return lines
}

func (c *crawled) file(dir string, lines map[string]Line, url string) string {
	c.t.Helper()
	l, ok := lines[url]
	if !ok || l.File == "" {
		c.t.Fatalf("%s has no file: %+v", url, l)
	}
	b, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(l.File)))
	if err != nil {
		c.t.Fatal(err)
	}
	return string(b)
}

func zipped(s string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write([]byte(s))
	_ = z.Close()
	return b.String()
}

func TestWrite(t *testing.T) {
	t.Parallel()
	c, dir := newCrawl(t), filepath.Join(t.TempDir(), "out")
	c.put("http://h.test/", 200, "text/html",
		`<a href="/old#x">o</a><a href=gone>g</a><a href="http://w.test/p">w</a><a href=/loop>l</a><a href="/a">a</a><link rel=stylesheet href="/s.css">`)
	c.put("http://h.test/old", 301, "", "", "Location: /mid")
	c.put("http://h.test/mid", 302, "", "", "Location: http://w.test/new")
	c.put("http://h.test/loop", 302, "", "", "Location: /loop2")
	c.put("http://h.test/loop2", 302, "", "", "Location: /loop")
	c.put("http://h.test/gone", 404, "text/html", "not here")
	c.put("http://h.test/empty", 204, "", "")
	c.put("http://w.test/new", 200, "text/html; charset=utf-8",
		zipped(`<a href="http://h.test/">back</a>`), "Content-Encoding: gzip")
	c.put("http://h.test/s.css", 200, "text/css", `a{b:url(/i.png)}`)
	c.put("http://h.test/i.png", 200, "image/png", "\x89PNG\r\n\x1a\n")
	c.put("http://h.test/a", 200, "application/octet-stream", "a file where a folder is")
	c.put("http://h.test/a/b", 200, "text/html", "below")
	c.put("http://h.test/A/B.html", 200, "text/html", "upper case")
	c.put("http://h.test/unknown", 200, "", "<!doctype html><title>x</title>")
	c.put("http://h.test/broken", 200, "text/html", zipped(strings.Repeat("cut off", 1000))[:30],
		"Content-Encoding: gzip")
	sum, lines := c.writeTo(dir)
	if want :=
		`<a href="../w.test/new.html#x">o</a><a href="http://h.test/gone">g</a><a href="http://w.test/p">w</a><a href="http://h.test/loop">l</a>` +
			`<a href="` + link("h.test/x", lines["http://h.test/a"].File) +
			`">a</a><link rel=stylesheet href="s.css">`; c.file(dir, lines, "http://h.test/") != want {
		t.Errorf("the page is %s\nwant %s", c.file(dir, lines, "http://h.test/"), want)
	}
	if got := c.file(dir, lines, "http://w.test/new"); got !=
		`<a href="../h.test/index.html">back</a>` {
		t.Errorf("the zipped page is %q", got)
	}
	if got := c.file(dir, lines, "http://h.test/s.css"); got != `a{b:url("i.png")}` {
		t.Errorf("the sheet is %q", got)
	}
	for url, file := range map[string]string{
		"http://h.test/":        "h.test/index.html",
		"http://h.test/a/b":     "h.test/a/b.html",
		"http://h.test/unknown": "h.test/unknown.html",
		"http://h.test/gone":    "",
		"http://h.test/empty":   "",
		"http://h.test/old":     "",
	} {
		if lines[url].File != file {
			t.Errorf("%s has the file %q, want %q", url, lines[url].File, file)
		}
	}
	if l := lines["http://h.test/broken"]; l.Error == "" || l.File == "" {
		t.Errorf("a page that cannot be decoded: %+v", l)
	}
	if l := lines["http://h.test/old"]; l.RedirectTo != "http://h.test/mid" || l.Status != 301 {
		t.Errorf("a redirect: %+v", l)
	}
	if want := (Summary{
		Files:     9,
		Written:   9,
		Bytes:     sum.Bytes,
		Redirects: 4,
		Without:   2,
	}); sum != want {
		t.Errorf("%+v, want %+v", sum, want)
	}
	if sum, _ := c.writeTo(dir); sum.Written != 0 || sum.Files != 9 || sum.Redirects != 4 {
		t.Errorf("once more: %+v", sum)
	}
}

// A link leads to the file of the URL that stands for its target in the crawl; a target that was
// saved itself comes first.
func TestNormalizedLinks(t *testing.T) {
	t.Parallel()
	c, dir := newCrawl(t), t.TempDir()
	c.put("http://h.test/", 200, "text/html",
		`<a href="/x/">x</a><a href="/y/">y</a><a href="/z/">z</a>`)
	for _, url := range []string{"http://h.test/x", "http://h.test/y", "http://h.test/y/"} {
		c.put(url, 200, "text/html", "page")
	}
	if err := c.a.Sync(); err != nil {
		t.Fatal(err)
	}
	f, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	f.Same = func(u urlnorm.URL) urlnorm.URL { return mustURL(t, strings.TrimSuffix(u.String(), "/")) }
	_, err = f.Write(t.Context(), readback.Folders{c.dir}, nil)
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	if got := c.file(dir, checked(t, dir), "http://h.test/"); got !=
		`<a href="x.html">x</a><a href="y/index.html">y</a><a href="http://h.test/z/">z</a>` {
		t.Errorf("the page is %s", got)
	}
}

// What a later crawl finds changes the files, and the links to what is new.
func TestWriteAgain(t *testing.T) {
	t.Parallel()
	c, dir := newCrawl(t), t.TempDir()
	c.put("http://h.test/", 200, "text/html", `<a href=b>b</a>`)
	c.put("http://h.test/x", 200, "text/html", `one`)
	c.put("http://h.test/y", 200, "text/html", `stays`)
	c.put("http://h.test/z", 200, "text/html", `goes`)
	c.writeTo(dir)
	c.put("http://h.test/b", 200, "text/html", `new`)
	c.put("http://h.test/x", 200, "application/pdf", `two`)
	c.put("http://h.test/y", 503, "text/html", `busy`)
	c.put("http://h.test/z", 404, "text/html", `gone`)
	sum, lines := c.writeTo(dir)
	if got := c.file(dir, lines, "http://h.test/"); got != `<a href="b.html">b</a>` {
		t.Errorf("the page is %s", got)
	}
	if got := lines["http://h.test/x"].File; got != "h.test/x.pdf" {
		t.Errorf("the page of another type is %q", got)
	}
	if got := c.file(dir, lines, "http://h.test/y"); got != "stays" {
		t.Errorf("the busy page is %q", got)
	}
	if lines["http://h.test/z"].File != "" || sum.Written != 3 || sum.Files != 4 {
		t.Errorf("%+v, %+v", lines["http://h.test/z"], sum)
	}
	// The captures of another node come to them, and what was there stays and is linked to.
	other := newCrawl(t)
	other.put("http://i.test/", 200, "text/html", `<a href="http://h.test/x">x</a>`)
	if sum, lines = other.writeTo(dir); sum.Written != 1 || sum.Files != 5 {
		t.Errorf("another node: %+v", sum)
	}
	if got := other.file(dir, lines, "http://i.test/"); got != `<a href="../h.test/x.pdf">x</a>` {
		t.Errorf("its page is %s", got)
	}
	if sum, _ := c.writeTo(dir); sum.Files != 5 || sum.Written != 0 {
		t.Errorf("the first one again: %+v", sum)
	}
}

// A payload that is stored once is the content of each URL that has it.
func TestWriteRevisits(t *testing.T) {
	t.Parallel()
	c, dir := newCrawl(t), t.TempDir()
	first := c.put("http://h.test/1", 200, "text/html", "<a href=2>2</a>")
	original := &crawl.Original{URL: "http://h.test/1", FetchedAt: c.at, Record: first.Record}
	c.capture("http://h.test/d/2", 200, "text/html", "<a href=2>2</a>", original)
	c.capture("http://h.test/3", 200, "text/html", "elsewhere",
		&crawl.Original{URL: "http://other.test/"})
	c.put("http://h.test/4", 200, "text/html", "kept")
	c.put("http://h.test/4", 304, "", "")
	sum, lines := c.writeTo(dir)
	if a, b := c.file(dir, lines, "http://h.test/1"), c.file(dir, lines, "http://h.test/d/2"); a !=
		`<a href="http://h.test/2">2</a>` || b != `<a href="2.html">2</a>` {
		t.Errorf("%q, %q", a, b)
	}
	if l := lines["http://h.test/3"]; l.File != "" ||
		!strings.Contains(l.Error, "in an archive that was not read") || sum.Failed != 1 {
		t.Errorf("a payload that is not here: %+v, %+v", l, sum)
	}
	if c.file(dir, lines, "http://h.test/4") != "kept" {
		t.Error("a page that has not changed is gone")
	}
}

// said is a source whose captures come in an order of their own, with what their owner said.
type said struct {
	readback.Folders
	order []int
	words []string
}

func (s said) Entries(_ context.Context, fn func(archive.Entry) error) error {
	var all []archive.Entry
	if err := s.Folders.Entries(context.Background(), func(e archive.Entry) error {
		all = append(all, e)
		return nil
	}); err != nil {
		return err
	}
	slices.SortFunc(all, func(a, b archive.Entry) int { return int(a.Ref.Offset - b.Ref.Offset) })
	for _, i := range s.order {
		all[i].Preferences = s.words[i]
		if err := fn(all[i]); err != nil {
			return err
		}
	}
	return nil
}

// TestNewestWordCounts: what an owner said last decides, a 304 included, in whatever order captures
// are read.
func TestNewestWordCounts(t *testing.T) {
	t.Parallel()
	for _, order := range [][]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}} {
		for _, words := range [][]string{{"", "", "no"}, {"no", "", "-"}, {"", "no", "-"},
			{"-", "-", "no"}, {"", "-", ""}} {
			c, dir := newCrawl(t), t.TempDir()
			c.put("http://h.test/1", 200, "text/html", "text")
			c.put("http://h.test/1", 304, "", "")
			c.put("http://h.test/1", 304, "", "")
			if err := c.a.Sync(); err != nil {
				t.Fatal(err)
			}
			f, err := Open(dir)
			if err != nil {
				t.Fatal(err)
			}
			f.Skip = func(_, word string) bool { return word == "no" }
			sum, err := f.Write(t.Context(), said{readback.Folders{c.dir}, order, words}, nil)
			if err := errors.Join(err, f.Close()); err != nil {
				t.Fatal(err)
			}
			if written, want := len(checked(t, dir)) > 0, words[2] != "no"; written != want {
				t.Errorf("read in the order %v, said %q: written %v, want %v (%+v)", order, words, written,
					want, sum)
			}
		}
	}
}

// errStop ends a run, as a kill does.
var errStop = errors.New("stop")

// stopping is a source that ends in the middle of the pages.
type stopping struct {
	readback.Folders
	left int
}

func (s *stopping) Record(ctx context.Context, ref crawl.ArchiveRef) (*archive.Record, error) {
	if s.left--; s.left < 0 {
		panic(errStop)
	}
	return s.Folders.Record(ctx, ref)
}

// A run that is cut off anywhere, its last manifest line too, leaves lines that are right, and the
// next one goes on.
func TestWriteAfterKill(t *testing.T) {
	t.Parallel()
	c, dir := newCrawl(t), t.TempDir()
	for i := range 40 {
		c.put(fmt.Sprintf("http://h.test/%d", i), 200, "text/html",
			fmt.Sprintf(`<a href=%d>next</a>%d`, (i+1)%40, i))
	}
	if err := c.a.Sync(); err != nil {
		t.Fatal(err)
	}
	f, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	func() {
		defer func() {
			if cause := recover(); cause != errStop { //nolint:errorlint // it is a panic's value
				t.Errorf("it ended by %v", cause)
			}
		}()
		_, _ = f.Write(context.Background(), &stopping{readback.Folders{c.dir}, 51}, nil)
	}()
	_ = f.Close()
	if len(checked(t, dir)) != 17 {
		t.Errorf("%d lines", len(checked(t, dir)))
	}
	path := filepath.Join(dir, manifestName)
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, raw[:len(raw)-10], 0o600); err != nil { // torn
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(dir, partFolder), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, partFolder, "3"), []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(filepath.Join(dir, "h.test", "3.html"), 0); err != nil { // lost by the disk
		t.Fatal(err)
	}
	if sum, lines := c.writeTo(dir); len(lines) != 40 || sum.Files != 40 || sum.Written != 25 {
		t.Errorf("%d lines, %+v", len(lines), sum)
	}
}

// A run ends with its context, and a failing disk is told.
func TestWriteEnds(t *testing.T) {
	t.Parallel()
	c, dir := newCrawl(t), t.TempDir()
	for i := range 10 {
		c.put(fmt.Sprintf("http://h.test/%d", i), 200, "text/plain", "x")
	}
	if err := c.a.Sync(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	f, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.Write(ctx, readback.Folders{c.dir}, func(done, total int64) {
		if total != 10 {
			t.Errorf("%d in all", total)
		}
		if done == 4 {
			cancel(errStop)
		}
	})
	if !errors.Is(err, errStop) || len(checked(t, dir)) > 5 {
		t.Errorf("%v, %d lines", err, len(checked(t, dir)))
	}
	if _, err := Open(dir); !errors.Is(err, ErrRefused) ||
		!strings.Contains(err.Error(), "another process") {
		t.Errorf("opened twice: %v", err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if _, err := write(context.Background(), t.TempDir(), readback.Folders{
		filepath.Join(c.dir, "none")}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an archive that is not there: %v", err)
	}
	if _, err := (readback.Folders{c.dir}).Record(t.Context(), crawl.ArchiveRef{
		File:   "x.warc.gz",
		Length: 1,
	}); err == nil {
		t.Error("a file that is not there is read")
	}
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	at := func(name string) string { return filepath.Join(base, name) }
	for path, content := range map[string]string{
		"full/x":               "mine",
		"other/manifest.jsonl": "{\"a\":1}\n",
		"file":                 "",
		"data/warc/x":          "",
	} {
		if err := os.MkdirAll(filepath.Dir(at(path)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at(path), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Symlink(at("data"), at("alias")), os.Mkdir(at("linked"), 0o700),
		os.Symlink("/dev/null", at("linked/manifest.jsonl"))); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ dir, want string }{
		{"full", "is not empty"}, {"other", "was not made by this command"}, {"linked", "was not made by this command"}, {"file", "is no folder"},
		{"file/x", "is no folder"}, {"data", "inside the data directory"},
		{"data/warc/out", "inside the data directory"}, {"alias/out", "inside the data directory"},
		{".", "has the data directory"},
	} {
		f, err := Open(at(c.dir), at("data"))
		if !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.dir, err)
		}
		if err == nil {
			_ = f.Close()
		}
	}
	for _, dir := range []string{"new/deep", "new/deep", "datax"} {
		f, err := Open(at(dir), at("data"))
		if err != nil {
			t.Fatalf("%s: %v", dir, err)
		}
		if f.Dir() != at(dir) {
			t.Errorf("it is %s", f.Dir())
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
}

// Nothing outside of the folder is written to or removed, whatever links and lines are in it.
func TestStaysInside(t *testing.T) {
	t.Parallel()
	c, base := newCrawl(t), t.TempDir()
	dir, out := filepath.Join(base, "out"), filepath.Join(base, "outside")
	c.put("http://h.test/a/x", 200, "text/html", "hostile")
	c.put("http://i.test/y", 200, "text/html", "hostile")
	c.put("http://j.test/z", 200, "text/html", "hostile")
	victim := filepath.Join(out, "x.html")
	if err := errors.Join(os.MkdirAll(filepath.Join(dir, "h.test"), 0o700),
		os.MkdirAll(filepath.Join(dir, "i.test"), 0o700), os.Mkdir(out, 0o700),
		os.WriteFile(victim, []byte("mine"), 0o600),
		os.Symlink(out, filepath.Join(dir, "h.test", "a")),
		os.Symlink(victim, filepath.Join(dir, "i.test", "y.html")),
		os.Symlink("../outside", filepath.Join(dir, "j.test"))); err != nil {
		t.Fatal(err)
	}
	lines :=
		`{"url":"http://h.test/q","file":"../outside/x.html","status":200,"fetched_at":"2026-01-02T03:04:05Z"}
{"url":"http://h.test/q","file":"h.test/a/x.html","status":200,"fetched_at":"2026-01-02T03:04:05Z"}
{"url":"http://h.test/q","status":404,"fetched_at":"2026-01-02T03:04:05Z"}
{"url":"http://i.test/y","file":".crawlnode-part/../x","status":200,"fetched_at":"x"}
`
	if err := os.WriteFile(filepath.Join(dir, manifestName), []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := c.a.Sync(); err != nil {
		t.Fatal(err)
	}
	sum, err := write(t.Context(), dir, readback.Folders{c.dir})
	if entries, _ := os.ReadDir(out); len(entries) != 1 {
		t.Errorf("outside there is %v", entries)
	}
	if b, _ := os.ReadFile(victim); string(b) != "mine" {
		t.Errorf("the file outside is %q", b)
	}
	t.Logf("%+v, %v", sum, err)
	if b, err := os.ReadFile(filepath.Join(dir, "i.test", "y.html")); err != nil ||
		string(b) != "hostile" {
		t.Errorf("the page is %q, %v", b, err)
	}
}

// Two URLs never share a file, and a page leads back to its URL by the manifest.
func FuzzTwoURLs(f *testing.F) {
	f.Add("http://h/a", "http://h/A", "http://h/a/b", true)
	f.Add("http://h/a/", "http://h/a/index.html", "https://h/a", false)
	f.Add("http://h/%C3%A9", "http://h/e%CC%81", "http://h/%C3%89", true)
	f.Add("http://h/x?", "http://h/x@", "http://h/x%40", false)
	f.Add("http://manifest.jsonl/", "http://h/", "http://h/", false)
	f.Fuzz(func(t *testing.T, a, b, d string, binary bool) {
		c, media := newCrawl(t), "text/html"
		if binary {
			media = "application/octet-stream"
		}
		urls := map[string]bool{}
		for _, raw := range []string{a, b, d} {
			u, err := urlnorm.Parse(raw)
			if err != nil {
				return
			}
			urls[u.String()] = true
			c.put(u.String(), 200, media, u.String())
		}
		dir := t.TempDir()
		_, lines := c.writeTo(dir)
		for u := range urls {
			if got := c.file(dir, lines, u); got != u {
				t.Fatalf("%s has the file of %s", u, got)
			}
		}
	})
}
