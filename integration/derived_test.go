package integration

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/textproto"
	neturl "net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"crawlnode/simweb"
)

// derivedPage is what the tests look at in a line of a pages file.
type derivedPage struct {
	URL, Mime, Title, Language, Charset, Digest string
	Status                                      int
	WARC                                        struct {
		File           string
		Offset, Length int64
	}
}

// derivedLink is a line of a links file, and derivedPair one of a hosts file.
type (
	derivedLink struct{ Source, Target, Text, Tag string }
	derivedPair struct {
		Source, Target string
		Links          int
	}
	derivedSkip struct{ URL, Source, Reason, Via string }
)

// derivedFiles are the finished files of a kind, of one node.
func derivedFiles(t *testing.T, n *node, kind string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(n.dir, "derived", kind+"-*.gz"))
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// derivedLines reads the lines of a kind, of all nodes, to the end of every file.
func derivedLines[T any](t *testing.T, c *cluster, kind string) []T {
	t.Helper()
	var all []T
	for _, n := range c.nodes {
		for _, path := range derivedFiles(t, n, kind) {
			f, err := os.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			z, err := gzip.NewReader(f)
			if err != nil {
				t.Fatalf("%s: %v", path, err)
			}
			for in := bufio.NewReader(z); ; {
				line, err := in.ReadBytes('\n')
				if err == io.EOF && len(line) == 0 {
					break
				}
				var one T
				if err != nil || !utf8.Valid(line) || json.Unmarshal(line, &one) != nil {
					t.Fatalf("%s: line %.300q: %v", path, line, err)
				}
				all = append(all, one)
			}
		}
	}
	return all
}

// derivedTexts reads the text records of all nodes: by URL, each text.
func derivedTexts(t *testing.T, c *cluster) map[string][]string {
	t.Helper()
	texts := map[string][]string{}
	for _, n := range c.nodes {
		for _, path := range derivedFiles(t, n, "text") {
			f, err := os.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			in := bufio.NewReader(f)
			z := new(gzip.Reader)
			for {
				if _, err := in.Peek(1); err == io.EOF {
					break
				}
				if err := z.Reset(in); err != nil {
					t.Fatalf("%s: %v", path, err)
				}
				z.Multistream(false)
				r := bufio.NewReader(z)
				if line, err := r.ReadString('\n'); line != "WARC/1.1\r\n" {
					t.Fatalf("%s: version %q, %v", path, line, err)
				}
				head, err := textproto.NewReader(r).ReadMIMEHeader()
				if err != nil {
					t.Fatalf("%s: %v", path, err)
				}
				block, err := io.ReadAll(r)
				if size, _ := strconv.Atoi(head.Get("Content-Length")); err != nil || len(block) != size+4 ||
					!utf8.Valid(block) {
					t.Fatalf("%s: a block of %d bytes under %v: %v", path, len(block), head, err)
				}
				if head.Get("WARC-Type") == "conversion" {
					u := head.Get("WARC-Target-URI")
					texts[u] = append(texts[u], string(block[:len(block)-4]))
				}
			}
		}
	}
	return texts
}

// nothingOpen checks that every derived file is closed and no tail is left.
func nothingOpen(t *testing.T, c *cluster) {
	t.Helper()
	for _, n := range c.nodes {
		for _, pattern := range []string{"*.open", "*.tail"} {
			if left, _ := filepath.Glob(filepath.Join(n.dir, "derived", pattern)); len(left) > 0 {
				t.Errorf("still there after the end: %v", left)
			}
		}
	}
}

// Three nodes write everything that can be derived: over all of them each page is
// there once, its place leads to its record, its links are the page's, the pairs of
// hosts are the sums of the links, and each page of HTML has a text.
func TestDerivedOutputs(t *testing.T) {
	needsProcesses(t)
	t.Parallel()
	web, srv := serveSimweb(t, simweb.Config{Seed: 21, Hosts: 30, PagesPerHost: 40, Skew: -1}.Quirky())
	c := simCluster(t, srv, 0, "--warc-size", "1MiB", "--derive", "all", "--log-skipped", "1")
	c.addReady(3)
	c.converged(time.Minute)
	c.nodes[0].seed(web.Seeds()...)
	c.finished(4 * time.Minute)
	c.stop()
	nothingOpen(t, c)

	pages := derivedLines[derivedPage](t, c, "pages")
	got, html := map[string]int{}, []string{}
	for i, p := range pages {
		if got[p.URL] != 0 {
			t.Errorf("%s is there twice", p.URL)
		}
		got[p.URL] = p.Status
		if p.Status == 200 && p.Mime == "text/html" {
			html = append(html, p.URL)
			if !strings.HasPrefix(p.Title, "Page ") || p.Language != "en" || p.Charset == "" ||
				len(p.Digest) != 37 {
				t.Errorf("page %+v", p)
			}
		}
		if i%5 == 0 {
			checkPlace(t, c, cdxLine{
				URL:      p.URL,
				Filename: p.WARC.File,
				Offset:   fmt.Sprint(p.WARC.Offset),
				Length:   fmt.Sprint(p.WARC.Length),
			})
		}
	}
	if want := maps.Collect(web.Reachable()); !maps.Equal(got, want) {
		t.Errorf("%d pages, %d can be reached", len(got), len(want))
	}
	links := derivedLines[derivedLink](t, c, "links")
	checkLinks(t, web, html, links)
	checkPairs(t, links, derivedLines[derivedPair](t, c, "hosts"))
	texts := derivedTexts(t, c)
	for _, u := range html {
		if len(texts[u]) != 1 || !strings.Contains(texts[u][0], "page ") {
			t.Errorf("%s has texts %.200q", u, texts[u])
		}
	}
	reasons := map[string]int{}
	for _, s := range derivedLines[derivedSkip](t, c, "skipped") {
		reasons[s.Reason]++
	}
	if len(texts) != len(html) || reasons["robots"] == 0 {
		t.Errorf("%d texts of %d pages; skipped %v", len(texts), len(html), reasons)
	}
	t.Logf("%d pages, %d texts, %d links, skipped %v", len(pages), len(texts), len(links), reasons)
}

// checkLinks compares the links of some pages with those of the web.
func checkLinks(t *testing.T, web *simweb.Web, pages []string, links []derivedLink) {
	t.Helper()
	targets := map[string][]string{}
	for _, l := range links {
		targets[l.Source] = append(targets[l.Source], l.Target)
		if l.Tag != "a" || !strings.HasPrefix(l.Text, "page ") {
			t.Errorf("link %+v", l)
		}
	}
	for _, u := range pages {
		want, got := web.Links(u), targets[u]
		slices.Sort(want)
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s: links %q, want %q", u, got, want)
		}
	}
	if len(targets) > len(pages) {
		t.Errorf("links of %d pages, %d have some", len(targets), len(pages))
	}
}

// checkPairs adds the links up by hosts.
func checkPairs(t *testing.T, links []derivedLink, pairs []derivedPair) {
	t.Helper()
	host := func(raw string) string {
		u, err := neturl.Parse(raw)
		if err != nil {
			t.Fatal(err)
		}
		return u.Hostname()
	}
	want, got := map[[2]string]int{}, map[[2]string]int{}
	for _, l := range links {
		if p := [2]string{host(l.Source), host(l.Target)}; p[0] != p[1] {
			want[p]++
		}
	}
	for _, p := range pairs {
		got[[2]string{p.Source, p.Target}] += p.Links
	}
	if !maps.Equal(got, want) || len(got) == 0 {
		t.Errorf("%d pairs of hosts, want %d", len(got), len(want))
	}
}

// A node is killed while it writes, twice, and started again: every file reads to its
// end, and no page that is done lacks its line or its text.
func TestDerivedOutputsSurviveKill(t *testing.T) {
	needsProcesses(t)
	t.Parallel()
	const delay = 20 * time.Millisecond
	web, srv := serveSimweb(t,
		simweb.Config{Seed: 22, Hosts: 40, PagesPerHost: 40, Skew: -1, Delay: delay}.Quirky())
	c := simCluster(t, srv, delay, "--warc-size", "1MiB", "--derive", "all", "--log-skipped", "1")
	c.addReady(3)
	c.converged(time.Minute)
	c.nodes[0].seed(web.Seeds()...)
	n := c.nodes[2]
	for _, at := range []int{300, 800} {
		atPage(t, web, at)
		n.signal(syscall.SIGKILL)
		n.exit(t, 10*time.Second)
		n.start()
		n.ready()
	}
	c.finished(5 * time.Minute)
	c.stop()
	nothingOpen(t, c)

	pages := derivedLines[derivedPage](t, c, "pages")
	got := map[string]int{}
	for _, p := range pages {
		got[p.URL] = p.Status
	}
	texts := derivedTexts(t, c)
	for u, status := range web.Reachable() {
		if got[u] != status || status == 200 && len(texts[u]) == 0 {
			t.Errorf("%s, status %d: its line says %d, and it has %d texts", u, status, got[u],
				len(texts[u]))
		}
	}
	links := map[string]bool{}
	for _, l := range derivedLines[derivedLink](t, c, "links") {
		links[l.Source+" "+l.Target] = true
	}
	for u, status := range got {
		for _, target := range web.Links(u) {
			if status == 200 && !links[u+" "+target] {
				t.Errorf("the link from %s to %s is missing", u, target)
			}
		}
	}
	_ = derivedLines[derivedPair](t, c, "hosts")
	_ = derivedLines[derivedSkip](t, c, "skipped")
	t.Logf("%d lines of %d pages", len(pages), len(got))
}
