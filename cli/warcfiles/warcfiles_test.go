package warcfiles

import (
	"bytes"
	"context"
	"crypto/sha1"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode"

	"crawlnode/cli/command"
	"crawlnode/crawl"
	"crawlnode/output/archive"
	"crawlnode/web/urlnorm"
)

// dataDir is a data directory with two captures.
func dataDir(t testing.TB) (dir string, places []crawl.ArchiveRef) {
	t.Helper()
	dir = t.TempDir()
	a, err := archive.Open(filepath.Join(dir, "warc"), archive.Options{Node: "n"})
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/a", "/b"} {
		u, err := urlnorm.Parse("http://h.test" + path)
		if err != nil {
			t.Fatal(err)
		}
		body := []byte("<p>" + path)
		ref, err := a.Put(context.Background(), crawl.Capture{
			URL:          u,
			FetchedAt:    time.Unix(1e9, 0),
			Addr:         netip.MustParseAddr("127.0.0.1"),
			Status:       200,
			RequestHead:  []byte("GET / HTTP/1.1\r\n\r\n"),
			ResponseHead: []byte("HTTP/1.1 200 OK\r\nX: " + path + "\r\n\r\n"),
			Body:         body,
			ContentType:  "text/html",
			Digest:       sha1.Sum(body),
		})
		if err != nil {
			t.Fatal(err)
		}
		places = append(places, ref)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	return dir, places
}

// runVerb runs a verb and returns what it wrote.
func runVerb(t testing.TB, v command.Verb) (code int, out, errs string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code = v.Run(context.Background(), &command.Env{Stdout: &stdout, Stderr: &stderr})
	return code, stdout.String(), stderr.String()
}

func TestVerbs(t *testing.T) {
	t.Parallel()
	dir, places := dataDir(t)
	file := filepath.Join(dir, "warc", places[0].File)
	target := filepath.Join(t.TempDir(), "out")
	torn := filepath.Join(t.TempDir(), "torn.warc.gz")
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(torn, raw[:len(raw)-5], 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name     string
		verb     command.Verb
		code     int
		out, err string
	}{
		{"list", &ListVerb{files: files{DataDir: dir}}, 0, "response  200  text/html                 http://h.test/a\n", ""},
		{"list as json", &ListVerb{files: files{Files: []string{file}}, Output: "json"}, 0,
			`"type":"response","date":"2001-09-09T01:46:40.000Z","status":200,"mime":"text/html","url":"http://h.test/b","digest":"sha1:`,
			""},
		{"list of nothing", &ListVerb{}, 2, "", "no WARC file is given"},
		{"list of a folder", &ListVerb{files: files{Files: []string{dir}}}, 2, "", "is a folder"},
		{"list of a file that is not there", &ListVerb{files: files{Files: []string{file + "x"}}}, 2, "", "no such file"},
		{"list of no data directory", &ListVerb{files: files{DataDir: filepath.Dir(torn)}}, 2, "", "--data-dir"},
		{"list of a torn file and a whole one", &ListVerb{files: files{Files: []string{torn, file}}}, 1,
			"http://h.test/b", "no whole record at offset"},
		{"extract by URL", &ExtractVerb{files: files{DataDir: dir}, URL: "http://h.test/b", Offset: -1},
			0, "HTTP/1.1 200 OK\r\nX: /b\r\n\r\n<p>/b", ""},
		{"extract by offset", &ExtractVerb{files: files{Files: []string{file}}, Offset: places[1].Offset}, 0, "<p>/b", ""},
		{"extract fields", &ExtractVerb{
			files:   files{Files: []string{file}},
			Offset:  places[0].Offset,
			Headers: true,
		}, 0, "Warc-Type: response\r\n\r\nHTTP/1.1 200 OK\r\nX: /a\r\n\r\n", ""},
		{"extract into a file", &ExtractVerb{files: files{Files: []string{file}}, Offset: places[0].Offset, Output: target}, 0, "", ""},
		{"extract into a folder", &ExtractVerb{files: files{Files: []string{file}}, Offset: places[0].Offset, Output: dir}, 1, "", "--output: "},
		{"extract what is not there",
			&ExtractVerb{files: files{DataDir: dir}, URL: "http://h.test/c", Offset: -1}, 1, "",
			"no file has such a record"},
		{"extract without a place", &ExtractVerb{files: files{DataDir: dir}, Offset: -1}, 2, "", "either --url or --offset"},
		{"extract with two", &ExtractVerb{files: files{DataDir: dir}, URL: "http://h.test/a"}, 2, "", "either --url or --offset"},
		{"verify", &VerifyVerb{files: files{DataDir: dir}}, 0, "5 records, ", ""},
		{"verify a torn file", &VerifyVerb{files: files{Files: []string{torn}}}, 1, "4 records, ", "no whole record"},
	} {
		code, out, errs := runVerb(t, c.verb)
		if code != c.code || !strings.Contains(out, c.out) || !strings.Contains(errs, c.err) ||
			c.err == "" && errs != "" {
			t.Errorf("%s: exit code %d, want %d\n%q, want %q\n%q, want %q", c.name, code, c.code, out, c.out,
				errs, c.err)
		}
	}
	if b, err := os.ReadFile(target); err != nil || !strings.HasSuffix(string(b), "<p>/a") {
		t.Errorf("the file has %q, %v", b, err)
	}
}

// A file whose payload does not match its digest.
func TestVerifyFindsAnotherDigest(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "x.warc.gz")
	a, err := archive.Open(filepath.Dir(file), archive.Options{Node: "n"})
	if err != nil {
		t.Fatal(err)
	}
	u, _ := urlnorm.Parse("http://h.test/")
	ref, err := a.Put(context.Background(), crawl.Capture{
		URL:          u,
		FetchedAt:    time.Now(),
		Status:       200,
		ResponseHead: []byte("HTTP/1.1 200 OK\r\n\r\n"),
		Body:         []byte("x"),
		Digest:       sha1.Sum([]byte("y")),
	})
	if err == nil {
		err = a.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	code, out, errs := runVerb(t,
		&VerifyVerb{files: files{Files: []string{filepath.Join(filepath.Dir(file), ref.File)}}})
	if code != command.ExitError || !strings.Contains(out, "1 with another digest") ||
		!strings.Contains(errs, "the payload does not match") {
		t.Errorf("exit code %d, %q, %q", code, out, errs)
	}
}

// Whatever a file is, listing and verifying it end, and nothing that moves a terminal's cursor is
// shown.
func FuzzList(f *testing.F) {
	dir, places := dataDir(f)
	raw, err := os.ReadFile(filepath.Join(dir, "warc", places[0].File))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(raw)
	f.Add(raw[:len(raw)/2])
	f.Add([]byte("WARC/1.1\r\nWARC-Type: \x1b[31m\r\nContent-Length: 0\r\n\r\n\r\n\r\n"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		file := filepath.Join(t.TempDir(), "x.warc.gz")
		if err := os.WriteFile(file, raw, 0o600); err != nil {
			t.Fatal(err)
		}
		for _, v := range []command.Verb{&ListVerb{files: files{Files: []string{file}}},
			&VerifyVerb{files: files{Files: []string{file}}}} {
			_, out, errs := runVerb(t, v)
			if strings.ContainsFunc(out+errs,
				func(r rune) bool { return r != '\n' && unicode.IsControl(r) }) {
				t.Fatalf("%q", out+errs)
			}
		}
	})
}
