package cli

import (
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"crawlnode/cli/command"
)

// filesIn lists the files in a folder.
func filesIn(t *testing.T, dir string) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			rel, _ := filepath.Rel(dir, p)
			files = append(files, filepath.ToSlash(rel))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(files)
	return files
}

// TestPagesAsFiles crawls a site into files, goes on with another limit, and writes the same files
// from the data directory and through a running node.
func TestPagesAsFiles(t *testing.T) {
	t.Parallel()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		switch r.URL.Path {
		case "/":
			fmt.Fprint(w,
				`<a href="/old#x">1</a><a href="docs/">2</a><a href="/none">3</a><a href="http://elsewhere.test/">4</a>`)
		case "/old":
			http.Redirect(w, r, "/docs/new?a=1&b=2", http.StatusMovedPermanently)
		case "/docs/", "/docs/new":
			fmt.Fprintf(w, `<a href="/">back from %s</a>`, r.URL.Path)
		case "/docs":
			fmt.Fprint(w, `<a href="/index.html">home</a>`)
		default:
			http.NotFound(w, r)
		}
	}))
	defer web.Close()
	host := strings.Replace(strings.TrimPrefix(web.URL, "http://"), ":", "+", 1)
	base := t.TempDir()
	data, out := filepath.Join(base, "data"), filepath.Join(base, "site")
	crawl := func(more ...string) result {
		return run(t, "", append([]string{"crawl", web.URL + "/", "--data-dir", data, "--output", out,
			"--http", "127.0.0.1:0", "--gossip", "127.0.0.1:0", "--rpc", "127.0.0.1:0",
			"--allow-net", "127.0.0.0/8", "--delay", "5ms"}, more...)...)
	}
	crawl("--max-pages", "1").want(t, command.ExitOK, "files: 1 file in "+out+", 1 written", "")
	crawl("--max-pages", "0").want(t, command.ExitOK, "files: 3 files in "+out+", 3 written",
		"changed since the last run")
	want := []string{host + "/docs/index.html", host + "/docs/new@a=1&b=2.html", host + "/index.html",
		"manifest.jsonl"}
	if got := filesIn(t, out); !slices.Equal(got, want) &&
		!slices.Equal(got, append(want, host+"/robots.txt")) {
		t.Errorf("%q", got)
	}
	page, err := os.ReadFile(filepath.Join(out, host, "index.html"))
	if want := `<a href="docs/new@a=1%26b=2.html#x">1</a><a href="docs/index.html">2</a><a href="` +
		web.URL +
		`/none">3</a><a href="http://elsewhere.test/">4</a>`; err != nil || string(page) != want {
		t.Errorf("%s, %v", page, err)
	}
	crawl("--max-pages", "0").want(t, command.ExitOK, "files: 3 files in "+out+", 0 written",
		"this crawl ended")
	again := filepath.Join(base, "again")
	run(t, "", "export", "files", "--data-dir", data, "-o", again).want(t, command.ExitOK,
		"files: 3 files in "+again+", 3 written", "")
	addr, _ := startBeside(t, "--data-dir", data)
	online := filepath.Join(base, "online")
	run(t, "", "export", "files", "--addr", addr, "--output", online).want(t, command.ExitOK,
		"files: 3 files in "+online+", 3 written", "")
	if got := filesIn(t, online); !slices.Equal(got, filesIn(t, out)) {
		t.Errorf("through the node: %q", got)
	}

	same := filepath.Join(base, "same")
	run(t, "", "crawl", web.URL+"/docs", "--data-dir", filepath.Join(base, "normalized"), "--output",
		same, "--http", "127.0.0.1:0", "--gossip", "127.0.0.1:0", "--rpc", "127.0.0.1:0",
		"--allow-net", "127.0.0.0/8", "--delay", "5ms", "--normalize", "index-files").want(t,
		command.ExitOK, "files: ", "")
	page, err = os.ReadFile(filepath.Join(same, host, "docs.html"))
	if err != nil || string(page) != `<a href="index.html">home</a>` {
		t.Errorf("with --normalize: %s, %v in %q", page, err, filesIn(t, same))
	}

	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"export", "files", "--data-dir", data, "--output", base}, "has the data directory"},
		{[]string{"export", "files", "--data-dir", data, "--output", filepath.Join(data, "out")}, "is inside the data directory"},
		{[]string{"export", "files", "--data-dir", base, "--output", again}, "has no folder warc"},
		{[]string{"export", "files", "--data-dir", data}, "missing flags: --output"},
		{[]string{"crawl", web.URL, "--contact", "me@example.org", "--output",
			filepath.Join(data, "warc"), "--data-dir", data}, "is inside the data directory"},
		{[]string{"crawl", web.URL, "--contact", "me@example.org", "--output", filepath.Join(data, ".."),
			"--data-dir", data}, "has the data directory"},
		{[]string{"crawl", web.URL, "--contact", "me@example.org", "--output", out, "--store", "none",
			"--data-dir", data}, "needs what --store warc keeps"},
	} {
		run(t, "", c.args...).want(t, command.ExitUsage, "", c.says)
	}
}

// An interrupted crawl writes the files of what was fetched, and the same command the rest.
func TestPagesAsFilesAfterSIGINT(t *testing.T) {
	t.Parallel()
	web, fifth := chainWeb(t, 100)
	out := filepath.Join(t.TempDir(), "site")
	args := []string{"crawl", web.URL + "/1", "--output", out, "--data-dir",
		filepath.Join(t.TempDir(), "data"), "--http", "127.0.0.1:0", "--gossip", "127.0.0.1:0", "--rpc",
		"127.0.0.1:0",
		"--allow-net", "127.0.0.0/8"}
	slow := append(slices.Clone(args), "--delay", "300ms")
	r, _ := interruptedWhen(t, fifth, &watchedBuffer{want: "nothing", seen: make(chan struct{})},
		slow...)
	r.want(t, command.ExitInterrupted, " in "+out+", ", "")
	some := len(filesIn(t, out))
	if !strings.Contains(r.out, "files: ") || some < 2 {
		t.Errorf("%d files\n%s", some, r.out)
	}
	run(t, "", append(args, "--delay", "5ms")...).want(t, command.ExitOK, "files: ", "")
	if all := len(filesIn(t, out)); all <= some {
		t.Errorf("%d files in the end, %d before", all, some)
	}
}
