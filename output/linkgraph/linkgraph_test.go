package linkgraph

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// builder makes a Builder that is closed at the end of the test.
func builder(t *testing.T, o Options) *Builder {
	t.Helper()
	o.Dir = t.TempDir()
	b, err := NewBuilder(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
		if left, err := os.ReadDir(o.Dir); err != nil || len(left) > 0 {
			t.Errorf("left behind: %v, %v", left, err)
		}
	})
	return b
}

// edges lists the links of a finished graph, as "source>target" in the order of the file.
func edges(t *testing.T, b *Builder) (all []string) {
	t.Helper()
	g, err := b.Finish()
	if err != nil {
		t.Fatal(err)
	}
	name := func(id uint32) string {
		n, err := g.Name(id)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	for range 2 { // a graph is read again and again
		all = all[:0]
		err = g.InLinks(func(node uint32, sources []uint32) error {
			for _, s := range sources {
				all = append(all, name(s)+">"+name(node))
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if int64(len(all)) != g.Links() {
		t.Errorf("%d links, the graph says %d", len(all), g.Links())
	}
	return all
}

// compressed writes text into a file, by the end of its name.
func compressed(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	var b bytes.Buffer
	var w io.WriteCloser
	switch {
	case strings.Contains(name, ".gz"):
		w = gzip.NewWriter(&b)
	case strings.HasSuffix(name, ".zst"):
		z, err := zstd.NewWriter(&b)
		if err != nil {
			t.Fatal(err)
		}
		w = z
	}
	if w == nil {
		b.WriteString(text)
	} else if _, err := io.WriteString(w, text); err != nil || w.Close() != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

const lines = `{"source":"http://a.test/","target":"http://b.test/x","text":"an \"nofollow\":true tag","tag":"a"}
{"source":"http://a.test/","target":"http://b.test/x","tag":"area"}
{"source":"http://a.test/","target":"http://a.test/","tag":"a"}
{"source":"http://a.test/","target":"http://c.test:81/","rel":"nofollow","nofollow":true,"tag":"a"}
{"source":"http://a.test/","target":"http://c.test/i.png","tag":"img"}

{ "tag":"a", "target":"http://a.test/é", "source":"http://b.test/\u0078" }
{"url":"http://d.test/","status":200,"depth":0,"bytes":1}
`

func TestRead(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		opts  Options
		text  string
		want  []string
		nodes int
		self  int64
	}{
		{"links.jsonl", Options{}, lines, []string{"http://a.test/>http://b.test/x",
			"http://a.test/>http://c.test:81/", "http://b.test/x>http://a.test/é"}, 5, 1},
		{"links.jsonl.gz", Options{SkipNoFollow: true}, lines,
			[]string{"http://a.test/>http://b.test/x", "http://b.test/x>http://a.test/é"}, 4, 1},
		{"links.jsonl.zst", Options{Assets: true}, lines, []string{"http://a.test/>http://b.test/x",
			"http://a.test/>http://c.test:81/", "http://a.test/>http://c.test/i.png",
			"http://b.test/x>http://a.test/é"}, 6, 1},
		{"links.jsonl", Options{Hosts: true}, lines, []string{"b.test>a.test", "a.test>b.test", "a.test>c.test"}, 4, 1},
		{"hosts.jsonl", Options{Hosts: true}, `{"source":"a.test","target":"b.test","links":3}`, []string{"a.test>b.test"}, 2, 0},
		{"empty", Options{}, "", nil, 0, 0},
	} {
		b := builder(t, c.opts)
		if err := b.Read(compressed(t, c.name, c.text)); err != nil {
			t.Fatal(err)
		}
		got := edges(t, b)
		if !slices.Equal(got, c.want) || b.Counts().SelfRef != c.self {
			t.Errorf("%s %+v: %q, want %q; %+v", c.name, c.opts, got, c.want, b.Counts())
		}
	}
}

func TestReadRefuses(t *testing.T) {
	t.Parallel()
	whole := compressed(t, "links.jsonl.gz", strings.Repeat(lines, 100))
	raw, err := os.ReadFile(whole)
	if err != nil {
		t.Fatal(err)
	}
	torn := filepath.Join(t.TempDir(), "links.jsonl.gz.open")
	if err := os.WriteFile(torn, raw[:len(raw)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ path, says string }{
		{filepath.Join(t.TempDir(), "missing"), "no such file"},
		{t.TempDir(), "is a folder: give its files"},
		{torn, "still being written"},
		{compressed(t, "a", lines+"not json\n"), "a:9: no line of a list of links"},
		{compressed(t, "a", `{"error":1}`), `neither "source" and "target" nor "url"`},
		{compressed(t, "a", `{"source":"a","target":"b","links":3}`), "use --by host"},
		{compressed(t, "a", `{"source":"a\nb","target":"b"}`), "a line end"},
		{compressed(t, "a", strings.Repeat("x", maxLine+1)), "longer than"},
		{compressed(t, "a", "PK\x03\x04"), "zip"},
		{compressed(t, "a.warc.gz", "no record"), "no whole record at offset 0"},
		{compressed(t, "a.warc", "WARC/1.1"), "no whole record"},
	} {
		if err := builder(t, Options{}).Read(c.path); err == nil ||
			!strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %q", c.path, err, c.says)
		}
	}
}

// record is a WARC record of an answer.
func record(uri, head, body string) string {
	block := strings.ReplaceAll(head, "\n", "\r\n") + "\r\n\r\n" + body
	return fmt.Sprintf("WARC/1.1\r\nWARC-Type: response\r\n"+
		"WARC-Record-ID: <urn:uuid:1b2c5d6e-0000-4000-8000-000000000001>\r\n"+
		"WARC-Date: 2026-01-02T03:04:05Z\r\n"+
		"WARC-Target-URI: %s\r\nContent-Type: application/http;msgtype=response\r\n"+
		"Content-Length: %d\r\n\r\n%s\r\n\r\n", uri, len(block), block)
}

func TestReadWARC(t *testing.T) {
	t.Parallel()
	var file bytes.Buffer
	for _, r := range []string{
		record("http://a.test/", "HTTP/1.1 200 OK\nContent-Type: text/html; charset=utf-8",
			`<a href="/b">b</a> <a rel=nofollow href="/c">c</a><img src="/i.png">`),
		record("http://a.test/old", "HTTP/1.1 301 Moved\nLocation: /b", ""),
		record("http://a.test/gone", "HTTP/1.1 404 Not Found\nContent-Type: text/html",
			`<a href="/nowhere">x</a>`),
		record("http://a.test/i.png", "HTTP/1.1 200 OK\nContent-Type: image/png", "\x89PNG"),
		record("dns:a.test", "HTTP/1.1 200 OK\nContent-Type: text/html", ""),
	} {
		z := gzip.NewWriter(&file)
		if _, err := io.WriteString(z, r); err != nil || z.Close() != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(t.TempDir(), "x.warc.gz")
	if err := os.WriteFile(path, file.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	var read int64
	b := builder(t, Options{Progress: func(n int64) error { read += n; return nil }})
	if err := b.Read(path); err != nil {
		t.Fatal(err)
	}
	want := []string{"http://a.test/>http://a.test/b", "http://a.test/old>http://a.test/b",
		"http://a.test/>http://a.test/c"}
	if got := edges(t, b); !slices.Equal(got, want) || read != int64(file.Len()) ||
		b.Counts().Lines != 5 {
		t.Errorf("%q, want %q; %d of %d bytes, %+v", got, want, read, file.Len(), b.Counts())
	}
}

// TestRunsAreMerged holds what is on disk against a set in memory, over several runs.
func TestRunsAreMerged(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 4))
	b := builder(t, Options{})
	want := map[string]bool{}
	for i := range 20_000 {
		source, target := fmt.Sprint("n", r.IntN(300)), fmt.Sprint("n", r.IntN(300))
		if err := b.Add(source, target); err != nil {
			t.Fatal(err)
		}
		if source != target {
			want[source+">"+target] = true
		}
		if i%7_000 == 6_999 {
			if err := b.spill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if len(b.runs) != 2 {
		t.Errorf("%d runs", len(b.runs))
	}
	got := edges(t, b)
	for _, e := range got {
		if !want[e] {
			t.Errorf("%s was never added", e)
		}
		delete(want, e)
	}
	if len(want) > 0 {
		t.Errorf("%d links are lost", len(want))
	}
}

func TestReadStops(t *testing.T) {
	t.Parallel()
	stop := errors.New("stop")
	b := builder(t, Options{Progress: func(int64) error { return stop }})
	if err := b.Read(compressed(t, "a", lines)); !errors.Is(err, stop) {
		t.Error(err)
	}
}

func TestHostOf(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"http://a.test/x": "a.test", "https://a.test:81/?q": "a.test", "http://[::1]:80/": "[::1]",
		"http://[::1]/": "[::1]", "http://a.test": "a.test", "a.test": "a.test",
		"http://a.test?x=:/": "a.test",
	} {
		if got := hostOf(url); got != want {
			t.Errorf("%s: %s, want %s", url, got, want)
		}
	}
}

// FuzzOwnLink: the fast reader reads what a JSON parser reads, or leaves it to that.
func FuzzOwnLink(f *testing.F) {
	for text := range strings.Lines(lines) {
		f.Add(strings.TrimSpace(text))
	}
	f.Add("{\"source\":\"\",\"target\":\"0\xd2\",\"tag\":\"\"}")
	f.Add(`{"source":"","target":"0","tag":"}`)
	f.Add(`{"source":"a","target":"b","tag":"a","nofollow":true,"links":1,"tag":"img"}`)
	f.Fuzz(func(t *testing.T, text string) {
		fast, ok := ownLink([]byte(text))
		if !ok {
			return
		}
		var slow line
		if err := json.Unmarshal([]byte(text), &slow); err != nil {
			return // a damaged line that looks like one of ours
		}
		if fast.Source != slow.Source || fast.Target != slow.Target {
			t.Errorf("%s: %+v, want %+v", text, fast, slow)
		}
	})
}

func BenchmarkRead(b *testing.B) {
	var text strings.Builder
	const links = 100_000
	for i := range links {
		fmt.Fprintf(&text,
			`{"source":"http://host%d.test/page/%d","target":"http://host%d.test/page/%d","text":"a link","tag":"a"}`+
				"\n",
			i/400, i/40, i%997, i%7919)
	}
	for b.Loop() {
		g, err := NewBuilder(Options{Dir: b.TempDir()})
		if err != nil {
			b.Fatal(err)
		}
		if err := g.ReadStream(strings.NewReader(text.String()), "x"); err != nil {
			b.Fatal(err)
		}
		if _, err := g.Finish(); err != nil {
			b.Fatal(err)
		}
		if err := g.Close(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/links, "ns/link")
}
