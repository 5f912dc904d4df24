package cli

import (
	"archive/zip"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"crawlnode/cli/command"
)

// fiveDays has five days of a calendar, and a page whose content is that of a day. The day is
// fetched first, so the page is stored as a reference to it.
func fiveDays(t *testing.T) string {
	t.Helper()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		switch day, _ := strings.CutPrefix(r.URL.Path, "/calendar/"); {
		case r.URL.Path == "/":
			_, _ = fmt.Fprint(w, "<title>Start</title><a href=/calendar/1>1</a>")
		case day == "1":
			_, _ = fmt.Fprint(w,
				"<title>Day</title><p>the same words <a href=/calendar/2>2</a> <a href=/page>p</a>")
		case r.URL.Path == "/page":
			_, _ = fmt.Fprint(w,
				"<title>Day</title><p>the same words <a href=/calendar/2>2</a> <a href=/page>p</a>")
		case day >= "2" && day <= "5":
			_, _ = fmt.Fprintf(w, "<title>Day %s</title><a href=/calendar/%c>next</a>", day, day[0]+1)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(web.Close)
	return web.URL
}

// TestExcludeFromFiles leaves a calendar out of what was written before: in new WARC files, in a
// WACZ file, in lists and in files. A page that shares its content with a day keeps it.
func TestExcludeFromFiles(t *testing.T) {
	t.Parallel()
	site, dir := fiveDays(t), t.TempDir()
	data, clean := filepath.Join(dir, "data"), filepath.Join(dir, "clean")
	crawlInto(t, data, site+"/")
	before := contentsOf(t, data)
	if r := run(t, "", "warc", "list", "--data-dir", data); !strings.Contains(r.out, "revisit") {
		t.Fatalf("no record refers to another one: %s", r.out)
	}
	without := []string{"--data-dir", data, "--exclude", "*/calendar/*"}
	patterns := filepath.Join(dir, "patterns")
	if err := os.WriteFile(patterns, []byte("# traps\nregex:/calendar/[2-9]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	do := func(args ...string) result { return run(t, "", append(args, without...)...) }

	do("export", "warc", "-o", clean).want(t, command.ExitOK,
		"3 captures, 1 file in "+clean+"; 6 left out; 1 given", "")
	files, err := filepath.Glob(filepath.Join(clean, "*.warc.gz"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%v, %v", files, err)
	}
	listed := run(t, "", "warc", "list", files[0])
	if strings.Contains(listed.out, "/calendar/") || strings.Contains(listed.out, "revisit") ||
		!strings.Contains(listed.out, site+"/page") {
		t.Errorf("the new file: %s", listed.out)
	}
	run(t, "", "warc", "verify", files[0]).want(t, command.ExitOK, "", "")
	run(t, "", "warc", "extract", files[0], "--url", site+"/page").want(t, command.ExitOK,
		"the same words", "")
	if err := os.Mkdir(filepath.Join(dir, "n2"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(clean, filepath.Join(dir, "n2", "warc")); err != nil {
		t.Fatal(err)
	}
	run(t, "", "cat", site+"/page", "--data-dir", filepath.Join(dir, "n2")).want(t, command.ExitOK,
		"the same words", "")
	run(t, "", "cat", site+"/calendar/1", "--data-dir", filepath.Join(dir, "n2")).want(t,
		command.ExitError, "", site+"/calendar/1")

	collection := filepath.Join(dir, "c.wacz")
	do("export", "wacz", "-o", collection).want(t, command.ExitOK, "captures", "")
	run(t, "", "cat", site+"/page", "--data-dir", unpacked(t, collection)).want(t, command.ExitOK,
		"the same words", "")

	for _, args := range [][]string{
		{"export", "cdxj"}, {"export", "jsonl"}, {"export", "bulk"}, {"warc", "list"},
		{"export", "cdxj", "--exclude-file", patterns},
	} {
		r := do(args...)
		if r.code != command.ExitOK || strings.Contains(r.out, "/calendar/") ||
			!strings.Contains(r.out, site+"/page") {
			t.Errorf("%v: %d %s%s", args, r.code, r.out, r.errout)
		}
	}
	if r := run(t, "", "export", "cdxj", "--data-dir", data, "--exclude-file",
		patterns); !strings.Contains(r.out, "/calendar/1") || strings.Contains(r.out, "/calendar/2") {
		t.Errorf("a file of patterns: %s", r.out)
	}
	pages := filepath.Join(dir, "site")
	do("export", "files", "-o", pages).want(t, command.ExitOK, "files: ", "")
	manifest, err := os.ReadFile(filepath.Join(pages, "manifest.jsonl"))
	if err != nil || strings.Contains(string(manifest), `/calendar/1","`) ||
		!strings.Contains(string(manifest), site+"/page") {
		t.Errorf("%s, %v", manifest, err)
	}
	for _, args := range [][]string{
		{"export", "warc", "--data-dir", data, "-o", pages}, {"export", "warc", "--data-dir", dir, "-o", clean},
		{"export", "cdxj", "--data-dir", data, "--exclude", "regex:("}, {"export", "files", "-o", clean, "--exclude-file", clean + "/none"},
		{"replay", data, "--exclude", "rexeg:a"}, {"warc", "list", "--data-dir", data, "--exclude", "regex:("},
	} {
		if r := run(t, "", args...); r.code != command.ExitUsage || r.errout == "" {
			t.Errorf("%v: %d %s", args, r.code, r.errout)
		}
	}
	for name, text := range before {
		if contentsOf(t, data)[name] != text {
			t.Errorf("%s was changed", name)
		}
	}
}

// unpacked is a data directory with the WARC files of a WACZ file.
func unpacked(t *testing.T, file string) string {
	t.Helper()
	z, err := zip.OpenReader(file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = z.Close() }()
	dir := t.TempDir()
	if err := os.CopyFS(dir, z); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(dir, "archive"), filepath.Join(dir, "warc")); err != nil {
		t.Fatal(err)
	}
	return dir
}
