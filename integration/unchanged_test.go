package integration

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"crawlnode/crawl"
	"crawlnode/simweb"
)

var (
	unchangedVisits   = flag.Int("unchangedvisits", 600, "revisits over which TestUnchangedPages measures the price of one")
	unchangedPrograms = flag.String("unchangedprograms", "", "commands whose prices TestUnchangedPages also measures, in turns, comma-separated: they need not keep its promises")
)

// unchangedCase is a way of a web server to send a page that has not changed.
type unchangedCase struct {
	name    string
	changes simweb.Changes
	gzip    int // in a thousand hosts
	flags   []string
}

// TestUnchangedPages visits pages of 20 KB with 40 links again and again that never change, sent again as they were or answered with
// 304. Nothing is written but the visits: no document and no text, in memory or on disk. It logs the processor time of a visit.
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
			for _, program := range strings.FieldsFunc(*unchangedPrograms, func(r rune) bool { return r == ',' }) {
				other := unchangedPages(t, &c, program)
				t.Logf("%s: %v, %.2f times as much", program, other, float64(other)/float64(price))
			}
		})
	}
}

// unchangedPages returns the price of a visit. program "": the present one, which must write nothing.
func unchangedPages(t *testing.T, c *unchangedCase, program string) time.Duration {
	t.Helper()
	web, srv := serveSimweb(t, simweb.Config{Seed: 91, Hosts: 10, PagesPerHost: 20, Skew: -1, Delay: time.Millisecond, LinksPerPage: 40, Changes: c.changes, Gzip: c.gzip})
	cl := simCluster(t, srv, time.Millisecond, append([]string{"--partitions", "512", "--recrawl", crawl.RecrawlFixed, "--recrawl-interval", "1s", "--recrawl-min", "1s", "--recrawl-max", "2s"}, c.flags...)...)
	n := cl.place()
	n.program = program
	n.start()
	n.ready()
	n.seed(web.Seeds()...)
	pages := reachable(web)
	eachVisited(t, web, pages, 2, time.Time{}) // from the second visit on the hosts' validators and robots rules are known
	status := func() (s crawl.Status) {
		t.Helper()
		if err := n.decode("/status", &s); err != nil {
			t.Fatal(err)
		}
		return s
	}
	indexed := len(c.flags) > 0
	if indexed {
		until(t, time.Minute, func() string {
			if s := status(); s.Index.Waiting > 0 || s.Index.Documents < int64(len(pages)) {
				return fmt.Sprintf("%d of %d pages are indexed: %+v", s.Index.Documents, len(pages), s.Index)
			}
			return ""
		})
	}
	before, files := status(), indexFiles(t, n)
	cpu := cpuTime(n.cmd.Process.Pid)
	var after crawl.Status
	until(t, 2*time.Minute, func() string {
		after = status()
		if done := after.Freshness.RevisitsTotal - before.Freshness.RevisitsTotal; done < int64(*unchangedVisits) {
			return fmt.Sprintf("%d revisits", done)
		}
		return ""
	})
	price := (cpuTime(n.cmd.Process.Pid) - cpu) / time.Duration(after.Freshness.RevisitsTotal-before.Freshness.RevisitsTotal)
	if f, g := after.Freshness, before.Freshness; program == "" {
		if f.UnchangedTotal-g.UnchangedTotal != f.RevisitsTotal-g.RevisitsTotal || (f.NotModifiedTotal > g.NotModifiedTotal) != (c.changes.Mean > 0) {
			t.Errorf("%+v, before %+v", f, g)
		}
		if indexed {
			i, j := after.Index, before.Index
			if i.Documents != j.Documents || i.Waiting != 0 || i.Bytes != j.Bytes {
				t.Errorf("the index was written: %+v, before %+v", i, j)
			}
			if now := indexFiles(t, n); !maps.Equal(now, files) || len(files) == 0 {
				t.Errorf("the files of the index: %v, before %v", now, files)
			}
		}
	}
	cl.stop()
	return price
}

// indexFiles are the files of a node's index, with sizes.
func indexFiles(t *testing.T, n *node) map[string]int64 {
	t.Helper()
	found := map[string]int64{}
	err := filepath.WalkDir(filepath.Join(n.dir, "index"), func(path string, e os.DirEntry, err error) error {
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
