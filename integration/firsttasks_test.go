package integration

import (
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// rivals has TestFirstTasks do the same with other programs, on a larger site.
var rivals = flag.Bool("rivals", false, "TestFirstTasks: a site of 1,169 pages, also with wget2, "+
	"wget and Scrapy; appends to docs/results/firsthour.md")

// firstTask is what a user wants first: a script in examples and, where there is one, the same
// with another program in testdata/rivals.
type firstTask struct {
	script string
	rival  string // the program; "" if none that installs here does it
	hosts  int    // of the site
	// result counts the pages in the folder that the script has filled.
	result string
}

var firstTasks = []firstTask{
	{"site-to-files.sh", "wget2", 1, `find "$1" -name '*.html' | wc -l`},
	{"archive-to-warc.sh", "wget", 1, `cd "$1" && find . -name '*.warc.gz' | xargs zcat | grep -aEc '^WARC-Type: re(sponse|visit)'`},
	{"text-corpus.sh", "Scrapy", 1,
		`cd "$1" && { find . -name '*.wet.gz' | xargs -r zcat | grep -a '^WARC-Type: conversion'; find . -name '*.jsonl' ! -path '*/derived/*' | xargs -r cat; } | wc -l`},
	{"markdown-folder.sh", "", 1, `find "$1/markdown" -name '*.md' | wc -l`},
	{"three-nodes.sh", "", 3, `cd "$1" && find . -name '*.warc.gz' | xargs zcat | grep -aEc '^WARC-Type: re(sponse|visit)'`},
}

// staticSite serves a folder on some loopback addresses of a network namespace, and counts the
// pages.
type staticSite struct {
	files http.Handler
	urls  []string

	mu    sync.Mutex
	asked map[string]int // answers with status 200, by host and path
}

func serveStatic(t *testing.T, space, folder string, hosts int) *staticSite {
	t.Helper()
	s := &staticSite{files: http.FileServer(http.Dir(folder)), asked: map[string]int{}}
	for i := range hosts {
		addr := fmt.Sprintf("127.0.0.%d:8000", 1+i)
		var l net.Listener
		if err := inSpace(space, func() (err error) {
			l, err = net.Listen("tcp", addr)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		server := &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second}
		done := make(chan struct{})
		go func() {
			defer close(done)
			_ = server.Serve(l) // ends with Close
		}()
		t.Cleanup(func() {
			_ = server.Close()
			<-done
		})
		s.urls = append(s.urls, "http://"+addr+"/")
	}
	return s
}

func (s *staticSite) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	rec := &statusRecorder{ResponseWriter: w, status: http.StatusOK}
	s.files.ServeHTTP(rec, r)
	if rec.status == http.StatusOK &&
		(strings.HasSuffix(r.URL.Path, ".html") || strings.HasSuffix(r.URL.Path, "/")) {
		s.mu.Lock()
		s.asked[r.Host+r.URL.Path]++
		s.mu.Unlock()
	}
}

// statusRecorder remembers the status of an answer.
type statusRecorder struct {
	http.ResponseWriter
	status int
}

// WriteHeader notes the status.
func (r *statusRecorder) WriteHeader(status int) {
	r.status = status
	r.ResponseWriter.WriteHeader(status)
}

// pages are the distinct pages that were fetched since the last call.
func (s *staticSite) pages() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer clear(s.asked)
	return len(s.asked)
}

// commandLines counts what a user types: the lines of a script but comments and settings of the
// shell.
func commandLines(t *testing.T, script string) (lines int) {
	t.Helper()
	text, err := os.ReadFile(script)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' &&
			!strings.HasPrefix(line, "set ") && !strings.HasPrefix(line, "contact=") {
			lines++
		}
	}
	return lines
}

// TestFirstTasks runs the scripts of examples, each in an empty folder: every page of the site is
// fetched, and is in the result. With -rivals it does the same with other programs and notes the
// times.
func TestFirstTasks(t *testing.T) {
	needsProcesses(t)
	t.Parallel()
	folder, pages := "/usr/share/doc/debian-policy/policy.html", 25
	if *rivals {
		folder, pages = "/usr/share/doc/postgresql-doc-15/html", 1169
	}
	needsDocumentation(t, folder)
	l := newLab(t)
	for _, task := range firstTasks {
		space := l.space(l.add())
		t.Run(task.script, func(t *testing.T) {
			site := serveStatic(t, space, folder, task.hosts)
			row := task.run(t, space, site, "../examples/"+task.script, pages)
			if !*rivals {
				return
			}
			other := "no rival installs here"
			if task.rival != "" {
				other = task.rival + ": " + task.run(t, space, site, "testdata/rivals/"+task.script, 0)
			}
			appendResult(t, "firsthour.md", "", fmt.Sprintf("%s, %d pages | crawlnode: %s; %s |",
				strings.TrimSuffix(task.script, ".sh"), pages*task.hosts, row, other))
		})
	}
}

// run runs one script and returns its figures. want is the number of pages of each host that the
// result must have; 0: they are only counted.
func (task *firstTask) run(
	t *testing.T,
	space string,
	site *staticSite,
	script string,
	want int,
) string {
	t.Helper()
	script, err := filepath.Abs(script)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	into := filepath.Join(dir, "result")
	argv := append([]string{"netns", "exec", space, script, into}, site.urls...)
	cmd := exec.CommandContext(t.Context(), "ip", argv...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PATH="+filepath.Dir(binary(t))+":"+os.Getenv("PATH"),
		"CRAWLNODE_ALLOW_NET=127.0.0.0/8", "CRAWLNODE_DELAY=0", "CRAWLNODE_PARTITIONS=512")
	began := time.Now()
	out, err := cmd.CombinedOutput()
	took := time.Since(began)
	if err != nil {
		t.Fatalf("%s: %v\n%s", script, err, out)
	}
	served := site.pages()
	count, err := exec.Command("bash", "-c", task.result, "result", into).Output()
	if err != nil {
		t.Fatalf("%s: the result cannot be counted: %v", script, err)
	}
	var kept int
	if _, err := fmt.Sscan(string(count), &kept); err != nil {
		t.Fatal(err)
	}
	if want *= task.hosts; want > 0 && (served < want || kept < want) {
		t.Errorf("%s: %d pages were fetched and %d kept, want %d\n%s", script, served, kept, want, out)
	}
	return fmt.Sprintf("%d commands, %.1f s, %d pages fetched, %d kept", commandLines(t, script),
		took.Seconds(), served, kept)
}
