package integration

import (
	"bytes"
	"flag"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"crawlnode/crawl"
	"crawlnode/output/archive"
	"crawlnode/simweb"
)

// conditionalHosts is how many hosts TestNotModified crawls, of 50 pages each.
var conditionalHosts = flag.Int("conditionalhosts", 8, "hosts of 50 pages that TestNotModified "+
	"visits again and again; from 40 on the figures go to docs/results/conditional.md")

// TestNotModified visits the pages of a web again and again of which half of the hosts have entity
// tags and half have dates. At the web server: 304s are used wherever the server offers them, and
// save most bytes; sitemaps are fetched again; every gap is kept. In the archive, as another
// program reads it: each 304 is a revisit record that leads to the capture that it stands for. From
// a cluster and from a data directory: the content of a page whose newest visit was a 304.
func TestNotModified(t *testing.T) {
	needsProcesses(t)
	reader := needsReader(t)
	t.Parallel()
	const delay = 20 * time.Millisecond
	var sitemaps files
	half := simweb.Claims{Truthful: 500}
	web, srv := serveSimweb(t, simweb.Config{
		Seed:         84,
		Hosts:        *conditionalHosts,
		PagesPerHost: 50,
		Skew:         -1,
		Delay:        delay,
		Gzip:         500,
		OnRequest:    sitemaps.note,
		Changes: simweb.Changes{
			Mean:     2 * time.Minute,
			Shape:    2,
			Spread:   4,
			Noise:    100,
			ETags:    half,
			Dates:    half,
			Lastmods: half,
			Ages:     half,
		},
	})
	c := simCluster(t, srv, delay, "--partitions", "512", "--recrawl", crawl.RecrawlFixed,
		"--recrawl-interval", "4s", "--recrawl-min", "4s", "--recrawl-max", "4s")
	c.addReady(2)
	c.converged(time.Minute)
	c.nodes[0].seed(web.Seeds()...)
	pages := reachable(web)
	const rounds = 6
	eachVisited(t, web, pages, rounds, time.Time{})
	// Nothing more becomes due; what is due now is visited.
	c.nodes[0].set("recrawl-max=2h", "recrawl-interval=1h", "recrawl-min=1h")
	c.waitsForRevisits(2 * time.Minute)

	conditions := web.Conditions()
	judgeConditions(t, web, pages)
	// One visit in sixteen asks for the content, to see whether the site's validators tell the truth.
	if conditions.NotModified == 0 || conditions.Unconditional > conditions.Conditional/8 ||
		conditions.Saved < conditions.Bytes/4 || conditions.Misled > 0 {
		t.Errorf("%+v", conditions)
	}
	if err := new(web.Report()).ErrButDuplicates(); err != nil {
		t.Error(err)
	}
	if n := sitemaps.least(); n < rounds/2 {
		t.Errorf("a sitemap was fetched %d times in %d rounds of its pages", n, rounds)
	}
	until(t, time.Minute, func() string { // another node's figures are of its last renewal
		var s crawl.Status
		if err := c.nodes[1].decode("/status", &s); err != nil {
			return err.Error()
		}
		// Sitemaps are not pages: their 304s come on top.
		if f := s.Freshness; f.NotModifiedTotal < int64(conditions.NotModified) ||
			f.UnchangedTotal < f.NotModifiedTotal || f.ChangedTotal == 0 {
			return fmt.Sprintf("the web server has sent %d 304s for pages, the status says %+v",
				conditions.NotModified, f)
		}
		return ""
	})
	var newest map[string]captureOf
	until(t, time.Minute, func() string { // records are written a moment after their visits
		newest = newestAnswers(t, c)
		for _, u := range pages {
			if n, visits := newest[u].captures, len(web.Visits(u)); n < visits {
				return fmt.Sprintf("the archives have %d captures of %d visits of %s", n, visits, u)
			}
		}
		return ""
	})
	readsBack(t, newest, "--addr", c.nodes[1].http)
	c.stop()
	readsBack(t, newestOf(t, c.nodes[0]), "--data-dir", c.nodes[0].dir)

	var paths []string
	for _, n := range c.nodes {
		found, err := filepath.Glob(filepath.Join(n.dir, "warc", "*.warc.gz"))
		if err != nil {
			t.Fatal(err)
		}
		paths = append(paths, found...)
	}
	read := reader.check(t, paths)
	for _, e := range read.Errors[:min(len(read.Errors), 10)] {
		t.Error(e)
	}
	// a busy node does not always answer in time where the payload is
	if read.Resolved["server-not-modified"] < conditions.NotModified/2 ||
		read.Resolved["identical-payload-digest"] == 0 {
		t.Errorf(
			"of %d 304s and other revisits these lead to the capture that they stand for: %v; records %v",
			conditions.NotModified, read.Resolved, read.Records)
	}
	t.Logf("%d pages, %+v, archive of %d bytes with %v, resolved %v", len(pages), conditions,
		read.Bytes, read.Records, read.Resolved)
	if *conditionalHosts >= 40 && !t.Failed() {
		visits := read.Records["response"] + read.Records["revisit"]
		appendResult(t, "conditional.md", conditionalHead, fmt.Sprintf(
			"%d | %d | %d | %d | %d | %.1f | %.1f | %.1f |", len(pages), visits, conditions.Conditional,
			conditions.NotModified,
			read.Resolved["server-not-modified"], float64(conditions.Bytes)/(1<<20),
			float64(conditions.Saved)/(1<<20), float64(read.Bytes)/(1<<20)))
	}
}

const conditionalHead = `# Conditional requests

A web of which half of the hosts send entity tags and half of them dates, each true, so that three quarters of the pages have a validator; a tenth of the pages have a clock and a counter in their
text. The pages change in about two minutes and are visited each four seconds, or as often as two processors allow, by two nodes, with the real binary: the worst case for a server without validators, the usual one for a page that seldom
changes. Bytes are those of payloads at the web server: sent, and spared by a 304. *resolved*: revisit records of 304s that another program (warcio) follows to a response with the same URL, date and digest.
Written by ` + "`go test ./integration -run TestNotModified -conditionalhosts 40`" + `.

| date | commit | pages | captures | conditional requests | 304 | resolved | MiB sent | MiB spared | MiB archived |
|---|---|---|---|---|---|---|---|---|---|
`

// judgeConditions: a page that has not changed since its visit before is answered by 304 when it is
// asked for with validators: they are those of the last answer. (That they are sent at all,
// Conditions.Unconditional says.)
func judgeConditions(t *testing.T, web *simweb.Web, pages []string) {
	t.Helper()
	wrong := 0
	for _, u := range pages {
		visits := web.Visits(u)
		for i, v := range visits {
			if i == 0 || !v.Conditional || v.Status == http.StatusNotModified ||
				len(web.Changed(u, visits[i-1].At, v.At)) > 0 {
				continue
			}
			if wrong++; wrong <= 5 {
				t.Errorf("%s: visited at %v and %v, unchanged, and the second, conditional answer is %d", u,
					visits[i-1].At, v.At, v.Status)
			}
		}
	}
}

// files counts the requests for sitemaps. Its method note may be called from any goroutine.
type files struct {
	mu sync.Mutex
	n  map[string]int
}

func (f *files) note(r simweb.Request) {
	if !strings.HasSuffix(r.URL, "/sitemap.xml") || r.Status == http.StatusNotFound {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.n == nil {
		f.n = map[string]int{}
	}
	f.n[r.URL]++
}

// least is how often the sitemap was fetched that was fetched least; 0 without any.
func (f *files) least() (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, times := range f.n {
		if n == 0 || times < n {
			n = times
		}
	}
	return n
}

// captureOf is what is in archives of a URL: its newest answer with content, and whether a 304 came
// later.
type captureOf struct {
	answer    archive.Record
	heads     [][]byte // of it, and of later answers with the same payload
	unchanged bool
	captures  int      // responses and revisits
	history   []string // a line for each record
}

func newestAnswers(t *testing.T, c *cluster) map[string]captureOf {
	return newestOf(t, c.nodes...)
}

func newestOf(t *testing.T, nodes ...*node) map[string]captureOf {
	t.Helper()
	var records []archive.Record
	for _, n := range nodes {
		paths, err := archive.Files(filepath.Join(n.dir, "warc"))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			if _, err := archive.Scan(path,
				func(r archive.Record) error { records = append(records, r); return nil }); err != nil {
				t.Fatal(err)
			}
		}
	}
	slices.SortStableFunc(records, func(a, b archive.Record) int { return a.Date.Compare(b.Date) })
	newest := map[string]captureOf{}
	for _, r := range records {
		c := newest[r.TargetURI]
		if r.Type == "response" || r.Type == "revisit" {
			c.captures++
		}
		c.history = append(c.history,
			fmt.Sprintln(r.Date, r.Type, r.Status, r.PayloadDigest, "refers to", r.RefersToURI))
		switch {
		case r.Type == "response" && r.Status == http.StatusOK:
			c.answer, c.heads, c.unchanged = r, [][]byte{r.Head}, false
		case r.Type == "revisit" && r.Status == http.StatusNotModified && c.answer.Type != "":
			c.unchanged = true
		case r.Type == "revisit" && r.Status == http.StatusOK:
			// One that was asked for the content, to check the validators. A later 304 stands for it:
			// its own head, and the payload that it refers to.
			c.heads, c.unchanged = append(c.heads, r.Head), false
		}
		newest[r.TargetURI] = c
	}
	return newest
}

// readsBack reads pages whose newest visit was answered by 304, and wants the bytes of the answer
// that it stands for.
func readsBack(t *testing.T, newest map[string]captureOf, where ...string) {
	t.Helper()
	read := 0
	for url, c := range newest {
		if !c.unchanged || strings.HasSuffix(url, "/sitemap.xml") {
			continue
		}
		if read++; read > 12 { // a process for each takes its time
			return
		}
		code, out, errs := catFrom(t, url, where...)
		want := append(bytes.Clone(c.heads[len(c.heads)-1]), c.answer.Payload...)
		// The files tell of the newest answer. A node knows where the one is that has the payload.
		if code != 0 || !slices.ContainsFunc(c.heads, func(head []byte) bool {
			return out == string(head)+string(c.answer.Payload)
		}) {
			t.Errorf("cat %s %v: exit code %d, %d bytes, want %d\n%s\n%.400q, want\n%.400q\n%s", url, where,
				code, len(out), len(want), errs, out, want, strings.Join(c.history, ""))
		}
	}
	if read == 0 {
		t.Error("of no page the newest visit was answered by 304")
	}
}
