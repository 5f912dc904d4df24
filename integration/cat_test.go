package integration

import (
	"flag"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"crawlnode/output/archive"
	"crawlnode/simweb"
)

// TestCatEqualsTheArchive reads pages of three nodes through one that does not have most of them,
// and compares them with the records in the files, byte by byte.
func TestCatEqualsTheArchive(t *testing.T) {
	needsProcesses(t)
	t.Parallel()
	web, srv := serveSimweb(t, simweb.Config{
		Seed:         21,
		Hosts:        12,
		PagesPerHost: 10,
		PageBytes:    3000,
		Skew:         -1,
		Redirects:    30,
		Missing:      20,
	})
	c := simCluster(t, srv, 0, "--scope", "domain")
	c.addReady(3)
	c.nodes[0].seed(web.Seeds()...)
	c.finished(time.Minute)
	newest := c.newestCaptures()
	if len(newest) < 100 {
		t.Fatalf("only %d captures", len(newest))
	}
	read := 0
	for url, r := range newest {
		if r.Type != "response" {
			continue
		}
		if read++; read > 60 { // some of each node; a process for each takes its time
			break
		}
		code, out, errs := c.nodes[2].cat(url)
		if want := string(r.Head) + string(r.Payload); code != 0 || out != want {
			t.Fatalf("cat %s: exit code %d, %d bytes, want %d\n%s", url, code, len(out), len(want), errs)
		}
	}
	code, _, errs := run(t, "", "cat", web.Seeds()[0]+"never-seen", "--addr", c.nodes[1].http)
	if code != 1 || errs == "" {
		t.Errorf("a URL that is not known: exit code %d, %q", code, errs)
	}
}

// cat reads a capture from a node.
func (n *node) cat(url string) (code int, out, errs string) {
	n.c.t.Helper()
	return catFrom(n.c.t, url, "--addr", n.http)
}

// catFrom reads a capture as it was received, and again while another node does not answer in time.
func catFrom(t *testing.T, url string, where ...string) (code int, out, errs string) {
	t.Helper()
	for end := time.Now().Add(busyFor); ; {
		code, out, errs = run(t, "", append([]string{"cat", url, "--raw"}, where...)...)
		if code == 0 || time.Now().After(end) {
			return code, out, errs
		}
	}
}

// newestCaptures reads the archives of all nodes: of each page the newest response or revisit.
func (c *cluster) newestCaptures() map[string]archive.Record {
	c.t.Helper()
	newest := map[string]archive.Record{}
	for _, n := range c.nodes {
		paths, err := archive.Files(filepath.Join(n.dir, "warc"))
		if err != nil {
			c.t.Fatal(err)
		}
		for _, path := range paths {
			if _, err := archive.Scan(path, func(r archive.Record) error {
				// that is kept with its host
				page := (r.Type == "response" || r.Type == "revisit") &&
					filepath.Base(r.TargetURI) != "robots.txt"
				if page && !r.Date.Before(newest[r.TargetURI].Date) {
					newest[r.TargetURI] = r
				}
				return nil
			}); err != nil {
				c.t.Fatal(err)
			}
		}
	}
	return newest
}

var catAll = flag.Bool("cat", false, "TestCatEqualsARealSite: read every capture of all four "+
	"real sites instead of the smallest, and append the figures to docs/results/cat.md")

const catHead = `# cat of real sites

Three nodes crawl real sites (the documentation packages of ` + "`make deps`" + `). Then ` +
	"`crawlnode cat`" +
	`, asked of one node, must print of every capture what the WARC files of all nodes have: with --raw the
head and body as they were received, and of a revisit the body of the capture that it refers to. Appended by

    go test ./integration -count=1 -timeout 60m -v -run '^TestCatEqualsARealSite$' -cat

| date | commit | sites | captures | revisits among them | different | seconds |
|---|---|---|---|---|---|---|
`

// TestCatEqualsARealSite reads every capture of a real site, and compares it with the archive.
func TestCatEqualsARealSite(t *testing.T) {
	needsProcesses(t)
	t.Parallel()
	s := startSites(t)
	var seeds, names []string
	for i := range s.all {
		if site := &s.all[i]; *catAll || site.Name == "policy" {
			seeds, names = append(seeds, site.start()), append(names, site.Name)
		}
	}
	c := newCluster(t, "--dns", s.dns, "--allow-net", "127.0.0.0/8", "--delay", "0s", "--partitions",
		"512")
	c.addReady(3)
	c.nodes[0].seed(seeds...)
	c.finished(4 * time.Minute)
	newest := c.newestCaptures()
	if len(newest) < 25 {
		t.Fatalf("only %d captures", len(newest))
	}
	began := time.Now()
	var mu sync.Mutex // guards the counts
	var different, revisits int
	limit := make(chan struct{}, 4)
	var all sync.WaitGroup
	for url, r := range newest {
		limit <- struct{}{}
		all.Go(func() {
			defer func() { <-limit }()
			code, out, errs := c.nodes[2].cat(url)
			want := string(r.Payload)
			mu.Lock()
			defer mu.Unlock()
			if r.Type == "revisit" {
				revisits++
				want = string(newest[r.RefersToURI].Payload)
				_, out, _ = strings.Cut(out, "\r\n\r\n")
			} else {
				want = string(r.Head) + want
			}
			if code != 0 || out != want {
				if different++; different <= 5 {
					t.Errorf("cat %s (%s): exit code %d, %d bytes, want %d\n%s", url, r.Type, code, len(out),
						len(want), errs)
				}
			}
		})
	}
	all.Wait()
	row := fmt.Sprintf("%s | %d | %d | %d | %.0f |", strings.Join(names, ", "), len(newest), revisits,
		different, time.Since(began).Seconds())
	t.Log(row)
	if *catAll {
		appendResult(t, "cat.md", catHead, row)
	}
}
