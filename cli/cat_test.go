package cli

import (
	"compress/gzip"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"crawlnode/cli/command"
)

// TestCat reads pages back from the data directory of a crawl that has ended: one with a content
// coding, one whose body another URL had first, and a picture.
func TestCat(t *testing.T) {
	t.Parallel()
	const page = "<html><title>Caf\u00e9</title><body><h1>Hello</h1><p>a\x1b[31mred <a " +
		"href=/same>x</a> <a href=/dot.png>y</a></body></html>"
	same := "<html><body>" + strings.Repeat("The same words. ", 50) + "</body></html>"
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/":
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			_, _ = z.Write([]byte(page + "<a href=/again>z</a>"))
			_ = z.Close()
		case "/same", "/again":
			w.Header().Set("Content-Type", "text/html")
			_, _ = w.Write([]byte(same))
		case "/dot.png":
			w.Header().Set("Content-Type", "image/png")
			_, _ = w.Write([]byte("\x89PNG\r\n\x1a\n"))
		default:
			http.NotFound(w, r)
		}
	}))
	defer web.Close()
	dir := filepath.Join(t.TempDir(), "data")
	run(t, "", "crawl", web.URL+"/", "--data-dir", dir, "--http", "127.0.0.1:0", "--gossip",
		"127.0.0.1:0", "--rpc", "127.0.0.1:0",
		"--allow-net", "127.0.0.0/8", "--delay", "5ms").want(t, command.ExitOK,
		"ended: frontier_exhausted", "")

	cat := func(args ...string) result {
		return run(t, "", append(append([]string{"cat"}, args...), "--data-dir", dir)...)
	}
	if r := cat(web.URL); r.out != page+"<a href=/again>z</a>" || r.code != command.ExitOK {
		t.Errorf("body: %d %q %s", r.code, r.out, r.errout)
	}
	cat(web.URL+"/", "--headers").want(t, command.ExitOK, "HTTP/1.1 200 OK\r\n", "")
	cat(web.URL+"/", "--raw").want(t, command.ExitOK, "Content-Encoding: gzip\r\n", "")
	if r := cat(web.URL+"/", "--text"); !strings.Contains(r.out, "Hello") ||
		strings.ContainsAny(r.out, "\x1b<") {
		t.Errorf("text: %q", r.out)
	}
	for _, path := range []string{"/same", "/again"} { // one of them is a revisit
		if r := cat(web.URL + path); r.out != same {
			t.Errorf("%s: %d %q %s", path, r.code, r.out, r.errout)
		}
	}
	// each line once
	index := run(t, "", "export", "cdxj", "--data-dir", dir, "--data-dir", dir)
	// the sitemap is one
	if lines := strings.Count(index.out, "\n"); index.code != command.ExitOK || lines != 5 ||
		strings.Count(index.out, web.URL+"/dot.png") != 1 {
		t.Errorf("index: %d %q %s", index.code, index.out, index.errout)
	}
	cat(web.URL+"/dot.png").want(t, command.ExitOK, "\x89PNG\r\n\x1a\n", "")
	cat(web.URL+"/dot.png", "--text").want(t, command.ExitError, "", "it has no text: it is image/png")
	cat(web.URL+"/none").want(t, command.ExitError, "",
		"no such record: no index in "+filepath.Join(dir, "warc")+" has a capture of")
	cat("::").want(t, command.ExitError, "", "::")
	if r := run(t, "", "cat", web.URL, "--data-dir", filepath.Join(dir,
		"no")); r.code != command.ExitUsage || !strings.Contains(r.errout, "--data-dir") {
		t.Errorf("no directory: %d %s", r.code, r.errout)
	}
	if _, err := os.Stat(filepath.Join(dir, "no")); err == nil {
		t.Error("a directory was made by reading")
	}
}
