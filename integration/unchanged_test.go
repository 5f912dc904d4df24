package integration

import (
	"flag"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"crawlnode/crawl"
	"crawlnode/simweb"
)

var (
	unchangedVisits = flag.Int("unchangedvisits", 2000,
		"revisits over which TestUnchangedPages measures the price of one")
	unchangedHosts = flag.Int("unchangedhosts", 10, "hosts of 40 pages that TestUnchangedPages "+
		"visits, each page every second or two: with more hosts the node's cost at rest is spread over "+
		"more visits")
	unchangedPrograms = flag.String("unchangedprograms", "", "commands whose prices "+
		"TestUnchangedPages also measures, in turns, comma-separated: they need not keep its promises")
	unchangedProfile = flag.String("unchangedprofile", "",
		"folder for profiles of the node in TestUnchangedPages")
)

// unchangedCase is a way of a web server to send a page that has not changed.
type unchangedCase struct {
	name    string
	changes simweb.Changes
	gzip    int // in a thousand hosts
	flags   []string
}

// TestUnchangedPages visits pages of 20 KB with 40 links again and again that never change, sent
// again as they were or answered with 304. Nothing is written but the visits: no document and no
// text, in memory or on disk. It logs the processor time of a visit.
func TestUnchangedPages(t *testing.T) {
	needsProcesses(t)
	if *unchangedPrograms == "" {
		t.Parallel()
	}
	tags := simweb.Changes{Mean: 1000 * time.Hour, Spread: 1, ETags: simweb.Claims{Truthful: 1000}}
	for _, c := range []unchangedCase{
		{"sent again, index on", simweb.Changes{}, 0, []string{"--index", "on"}},
		{"sent again, index off", simweb.Changes{}, 0, nil},
		{"sent again with gzip, index on", simweb.Changes{}, 1000, []string{"--index", "on"}},
		{"304, index on", tags, 0, []string{"--index", "on"}},
		{"304, index off", tags, 0, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			price := unchangedPages(t, &c, "")
			t.Logf("%v of a processor a visit", price)
			for _, program := range strings.FieldsFunc(*unchangedPrograms,
				func(r rune) bool { return r == ',' }) {
				other := unchangedPages(t, &c, program)
				t.Logf("%s: %v, %.2f times as much", program, other, float64(other)/float64(price))
			}
		})
	}
}

// unchangedPages returns the price of a visit. program "": the present one, which must write
// nothing.
func unchangedPages(t *testing.T, c *unchangedCase, program string) time.Duration {
	t.Helper()
	web, srv := serveSimweb(t,
		simweb.Config{
			Seed:         91,
			Hosts:        *unchangedHosts,
			PagesPerHost: 40,
			Skew:         -1,
			Delay:        time.Millisecond,
			LinksPerPage: 40,
			Changes:      c.changes,
			Gzip:         c.gzip,
		})
	cl := simCluster(t, srv, time.Millisecond, append([]string{"--partitions", "512", "--recrawl",
		crawl.RecrawlFixed, "--recrawl-interval", "1s", "--recrawl-min", "1s", "--recrawl-max",
		"2s"}, c.flags...)...)
	n := cl.place()
	if n.program = program; program == "" && *unchangedProfile != "" {
		n.flags = []string{"--profile", filepath.Join(*unchangedProfile, filepath.Base(t.Name()))}
	}
	n.start()
	n.ready()
	n.seed(web.Seeds()...)
	pages := len(reachable(web))
	status := func() (s crawl.Status) {
		t.Helper()
		if err := n.decode("/status", &s); err != nil {
			t.Fatal(err)
		}
		return s
	}
	indexed := len(c.flags) > 0
	until(t, 2*time.Minute, func() string {
		s := status()
		// robots.txt and the validators of all hosts are known
		if n := s.Freshness.RevisitsTotal; n < int64(3*pages) {
			return fmt.Sprintf("%d revisits of %d pages", n, pages)
		}
		if program == "" && indexed && (s.Index.Waiting > 0 || s.Index.Documents == 0) {
			return fmt.Sprintf("of %d pages: %+v", pages, s.Index)
		}
		return ""
	})
	var before, after crawl.Status
	var price time.Duration
	written := "" // what the last visits wrote to the index
	// Segments of the first visits may still be merged: that ends, and then nothing is written.
	for range 3 {
		files := indexFiles(t, n)
		before, written = status(), ""
		cpu := cpuTime(n.cmd.Process.Pid)
		until(t, 2*time.Minute, func() string {
			time.Sleep(250 * time.Millisecond) // a question costs the node more than a visit
			after = status()
			if done := after.Freshness.RevisitsTotal -
				before.Freshness.RevisitsTotal; done < int64(*unchangedVisits) {
				return fmt.Sprintf("%d revisits", done)
			}
			return ""
		})
		price = (cpuTime(n.cmd.Process.Pid) - cpu) /
			time.Duration(after.Freshness.RevisitsTotal-before.Freshness.RevisitsTotal)
		if program != "" || !indexed {
			break
		}
		i, j := after.Index, before.Index
		now := indexFiles(t, n)
		if i.Documents == j.Documents && i.Waiting == 0 && i.Bytes == j.Bytes && maps.Equal(now, files) &&
			len(files) > 0 {
			break
		}
		written = fmt.Sprintf("%+v, before %+v; files %v, before %v", i, j, now, files)
	}
	if written != "" {
		t.Errorf("visits write to the index, or it has no file: %s", written)
	}
	if f, g := after.Freshness, before.Freshness; program == "" {
		if f.UnchangedTotal-g.UnchangedTotal != f.RevisitsTotal-g.RevisitsTotal ||
			(f.NotModifiedTotal > g.NotModifiedTotal) != (c.changes.Mean > 0) {
			t.Errorf("%+v, before %+v", f, g)
		}
	}
	cl.stop()
	return price
}

// indexFiles are the files of a node's index, with sizes.
func indexFiles(t *testing.T, n *node) map[string]int64 {
	t.Helper()
	found := map[string]int64{}
	err := filepath.WalkDir(filepath.Join(n.dir, "index"),
		func(path string, e os.DirEntry, err error) error {
			if os.IsNotExist(err) {
				return nil
			}
			if err != nil || e.IsDir() {
				return err
			}
			if info, err := e.Info(); err == nil {
				found[path] = info.Size()
			}
			return nil
		})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// answers is a web server of one page, which a test changes. It counts the requests since.
type answers struct {
	mu     sync.Mutex // guards the rest
	status int
	header map[string]string
	body   string
	count  int
}

func (a *answers) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/" {
		http.NotFound(w, r)
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.count++
	for name, value := range a.header {
		w.Header().Set(name, value)
	}
	if a.header["ETag"] != "" && r.Header.Get("If-None-Match") == a.header["ETag"] {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	w.Header().Set("Content-Type", "text/html")
	w.WriteHeader(a.status)
	_, _ = io.WriteString(w, a.body)
}

// set changes the page. A header is "Name: value", or "".
func (a *answers) set(status int, header, body string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.status, a.header, a.body, a.count = status, map[string]string{}, body, 0
	for _, line := range strings.Split(header, "\n") {
		if name, value, ok := strings.Cut(line, ": "); ok {
			a.header[name] = value
		}
	}
}

// asked waits until the page was fetched so often since it was changed.
func (a *answers) asked(t *testing.T, times int) {
	t.Helper()
	until(t, time.Minute, func() string {
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.count < times {
			return fmt.Sprintf("%d requests of %d", a.count, times)
		}
		return ""
	})
}

// TestUnchangedThenChanged: what a page that was unchanged for some visits becomes reaches the
// index: other words, a header that asks to be left out, the end of the page and its return with
// the same payload, with or without a restart of the node in between.
func TestUnchangedThenChanged(t *testing.T) {
	needsProcesses(t)
	t.Parallel()
	web := &answers{}
	page := func(words string) string {
		return "<html><title>A page</title><p>" + words +
			" and other words of a page that stays for some time.</p></html>"
	}
	web.set(http.StatusOK, "", page("apricot"))
	srv := httptest.NewServer(web)
	t.Cleanup(srv.Close)
	c := newCluster(t, "--partitions", "512", "--allow-net", "127.0.0.0/8", "--delay", "1ms",
		"--index", "on",
		"--recrawl", crawl.RecrawlFixed, "--recrawl-interval", "1s", "--recrawl-min", "1s",
		"--recrawl-max", "2s")
	c.addReady(1)
	n := c.nodes[0]
	n.seed(srv.URL + "/")
	finds := func(word string, want int64) {
		t.Helper()
		until(t, time.Minute, func() string {
			r, err := n.search(word)
			if err != nil || r.Total != want {
				return fmt.Sprintf("%s: %d found, %v", word, r.Total, err)
			}
			return ""
		})
	}
	restart := func() {
		t.Helper()
		n.signal(syscall.SIGTERM)
		<-n.done
		n.start()
		n.ready()
	}
	finds("apricot", 1)
	for i, step := range []struct {
		name         string
		status       int
		header, body string
		word         string
		found        int64
	}{
		{"other words", 200, "", page("banana"), "banana", 1},
		{"a header that asks to be left out", 200, "X-Robots-Tag: noindex", page("banana"), "banana", 0},
		{"and does so no more", 200, "", page("banana"), "banana", 1},
		{"the page is gone", 404, "", page("banana"), "banana", 0},
		{"and is back as it was", 200, "", page("banana"), "banana", 1},
		{"forbidden", 403, "", "no", "banana", 0},
		{"and allowed again", 200, "", page("banana"), "banana", 1},
		{"the server fails", 500, "", "oops", "banana", 1},
		{"and works again", 200, "", page("banana"), "banana", 1},
		{"with validators", 200, "ETag: \"v1\"", page("cherry"), "cherry", 1},
		{"304 with a header that asks to be left out", 200, "ETag: \"v1\"\nX-Robots-Tag: noindex", page("cherry"), "cherry", 0},
		{"and other words", 200, "ETag: \"v2\"", page("damson"), "damson", 1},
	} {
		t.Log(step.name)
		if web.set(step.status, step.header, step.body); i%3 == 1 {
			restart()
		}
		times := 3
		if step.status == http.StatusNotFound {
			times = 1 // after six the page is forgotten
		}
		web.asked(t, times)
		finds(step.word, step.found)
	}
	c.stop()
}
