package replay

import (
	"bytes"
	"context"
	"crypto/sha1" //nolint:gosec // payload digests of WARC are SHA-1
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"

	"crawlnode/cli/command"
	"crawlnode/crawl"
	"crawlnode/output/archive"
	"crawlnode/web/urlnorm"
)

// lineWriter passes on the first line.
type lineWriter struct {
	mu    sync.Mutex
	text  bytes.Buffer
	first chan string
}

func (w *lineWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	before := bytes.IndexByte(w.text.Bytes(), '\n')
	w.text.Write(p)
	if end := bytes.IndexByte(w.text.Bytes(), '\n'); before < 0 && end >= 0 {
		w.first <- string(w.text.Bytes()[:end])
	}
	return len(p), nil
}

// TestReplayOfFiles: a folder with a file that cannot be read is shown without it, and the file is
// named. Files of every form are shown. A page that a browser has shown to the crawl is replayed as
// it was shown.
func TestReplayOfFiles(t *testing.T) {
	t.Parallel()
	archived := t.TempDir()
	a, err := archive.Open(archived, archive.Options{Node: "n"})
	if err != nil {
		t.Fatal(err)
	}
	u, err := urlnorm.Parse("http://h.test/p")
	if err != nil {
		t.Fatal(err)
	}
	body := []byte("<title>Loading</title>shell")
	if _, err := a.Put(t.Context(), crawl.Capture{
		URL:         u,
		FetchedAt:   time.Unix(1e9, 0),
		Status:      200,
		RequestHead: []byte("GET / HTTP/1.1\r\n\r\n"),
		Body:        body,
		Digest:      sha1.Sum(body),
		ContentType: "text/html",
		ResponseHead: []byte(
			"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"),
		Resources: []crawl.Resource{{
			At:          time.Unix(1e9, 0),
			ContentType: "text/html; charset=utf-8",
			Body:        []byte("<title>Done</title>made"),
		}},
	}); err != nil {
		t.Fatal(err)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	files, err := archive.Files(archived)
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	good, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	var answer int64
	if _, err := archive.Scan(files[0], func(r archive.Record) error {
		if r.Type == "response" {
			answer = r.Offset
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(good))
	if err != nil {
		t.Fatal(err)
	}
	plain, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	var whole bytes.Buffer
	packer := gzip.NewWriter(&whole)
	_, _ = packer.Write(plain)
	_ = packer.Close()
	for name, c := range map[string]struct {
		files map[string][]byte
		named string // in what is told
		code  int
	}{
		"good": {map[string][]byte{"a.warc.gz": good}, "", 0},
		"good and noise": {map[string][]byte{"a.warc.gz": good, "b.warc.gz": []byte("noise")},
			"b.warc.gz", 0},
		"good and empty": {map[string][]byte{"a.warc.gz": good, "b.warc.gz": nil}, "", 0},
		"good and cut": {map[string][]byte{"a.warc.gz": good, "b.warc.gz": good[:answer+10]},
			"b.warc.gz", 0},
		"good and nothing": {map[string][]byte{"a.warc": plain, "b.warc": []byte("WARC/9 what")},
			"b.warc", 0},
		"not compressed":   {map[string][]byte{"a.warc": plain}, "", 0},
		"compressed whole": {map[string][]byte{"a.warc.gz": whole.Bytes()}, "", 0},
		"nothing but noise": {map[string][]byte{"b.warc.gz": []byte("noise")}, "b.warc.gz",
			command.ExitUsage},
		"no files": {nil, "no WARC files", command.ExitUsage},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for file, b := range c.files {
				if err := os.WriteFile(filepath.Join(dir, file), b, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			out, errs := &lineWriter{first: make(chan string, 1)}, &lineWriter{first: make(chan string, 1)}
			ended := make(chan int, 1)
			go func() { // ends with ctx
				v := Verb{
					Paths:     []string{dir},
					Listen:    "127.0.0.1:0",
					Unpacking: command.Unpacking{MaxBody: 10 << 20},
				}
				ended <- v.Run(ctx, &command.Env{Stdout: out, Stderr: errs})
			}()
			select {
			case line := <-out.first:
				resp, err := http.Get(strings.TrimPrefix(line, "replay: ") + "web/2026/http%3A%2F%2Fh.test%2Fp")
				if err != nil {
					t.Fatal(err)
				}
				shown, err := io.ReadAll(resp.Body)
				if err := resp.Body.Close(); err != nil {
					t.Error(err)
				}
				if err != nil || !strings.Contains(string(shown), "made") ||
					strings.Contains(string(shown), "shell") {
					t.Errorf("%d, %q, %v", resp.StatusCode, shown, err)
				}
				cancel()
				if code := <-ended; code != c.code {
					t.Errorf("exit code %d", code)
				}
			case code := <-ended:
				if code != c.code || code == 0 {
					t.Errorf("exit code %d", code)
				}
			}
			if told := errs.text.String(); (told == "") != (c.named == "") ||
				!strings.Contains(told, c.named) {
				t.Errorf("told: %q", told)
			}
		})
	}
}
