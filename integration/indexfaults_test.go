package integration

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"crawlnode/crawl"
	"crawlnode/simweb"
)

var (
	indexFaults    = flag.Int("indexfaults", 0, "runs of TestIndexAfterFaults, a minute or more each")
	indexFaultSeed = flag.Uint64("indexfaults.seed", 1,
		"seed of the first run of TestIndexAfterFaults")
)

// Nodes are killed and started again, lose their disks, join and leave, as a seed draws it, while
// three of them crawl and index. At the end the documents on every node are exactly the pages that
// are done, each once.
func TestIndexAfterFaults(t *testing.T) {
	if *indexFaults == 0 {
		t.Log("no -indexfaults: nothing to run; TestSearchOutlivesItsNodes " +
			"and TestIndexIsExactAfterAKill have one run of each kind")
		return
	}
	needsProcesses(t)
	for i := range *indexFaults {
		seed := *indexFaultSeed + uint64(i)
		if !t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { indexRun(t, seed) }) {
			t.Logf("again with -run %s -indexfaults.seed %d", t.Name(), seed)
		}
	}
}

// indexStrikes are what a run draws from, and how often.
var indexStrikes = []struct {
	name  string
	share int
	act   func(c *cluster, r *rand.Rand)
}{
	{"kill -9", 4, func(c *cluster, r *rand.Rand) {
		n := c.living()[r.IntN(len(c.living()))]
		n.signal(syscall.SIGKILL)
		<-n.done
		n.start()
		n.ready()
	}},
	{"lost disk", 3, func(c *cluster, r *rand.Rand) {
		n := c.spare(r)
		n.signal(syscall.SIGKILL)
		<-n.done
		if err := os.RemoveAll(n.dir); err != nil {
			c.t.Fatal(err)
		}
		if r.IntN(2) == 0 {
			n.start() // as a new node, with the old name
			n.ready()
		}
	}},
	{"join", 2, func(c *cluster, _ *rand.Rand) { c.add().ready() }},
	{"leave", 2, func(c *cluster, r *rand.Rand) {
		n := c.spare(r)
		n.signal(syscall.SIGTERM)
		if code := n.exit(c.t, leaveTime); code != 0 {
			c.t.Errorf("the node that leaves ends with exit code %d\n%s", code, tail(n.log, 10))
		}
	}},
}

// spare draws a node that the cluster can lose for good: another one has a copy of all that it has.
// The first node stays, since the others join it. Where only two are left, one joins before.
func (c *cluster) spare(r *rand.Rand) *node {
	if len(c.living()) < 3 {
		c.add().ready()
	}
	c.whole(2 * time.Minute)
	living := slices.DeleteFunc(c.living(), func(n *node) bool { return n == c.nodes[0] })
	return living[r.IntN(len(living))]
}

// indexRun is one crawl of some 200 pages with what its seed draws.
func indexRun(t *testing.T, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 19))
	const hosts, each = 20, 10
	web, srv := serveSimweb(t, simweb.Config{
		Seed:         seed,
		Hosts:        hosts,
		PagesPerHost: each,
		Skew:         -1,
		LinksPerPage: 15,
		PageBytes:    3000,
	})
	c := simCluster(t, srv, time.Duration(50+r.IntN(250))*time.Millisecond, "--index", "on",
		"--partitions", "512")
	c.addReady(3)
	c.converged(time.Minute)
	c.nodes[0].seed(web.Seeds()...)
	done := []string{}
	for pages := 10 + r.IntN(80); pages < hosts*each; pages += 10 + r.IntN(100) {
		atPage(t, web, pages)
		done = append(done, c.strikeIndex(r))
	}
	c.finished(2 * time.Minute)
	if r.IntN(2) == 0 { // once more, when nothing else changes
		done = append(done, c.strikeIndex(r))
	}
	t.Logf("seed %d: %s", seed, strings.Join(done, ", "))
	c.converged(2 * time.Minute)
	c.finished(time.Minute)
	pages := c.living()[0].pagesDone()
	if len(pages) < hosts*each {
		t.Errorf("%d pages are done of %d", len(pages), hosts*each)
	}
	c.searchable(2*time.Minute, int64(len(pages)))
	for _, n := range c.living() {
		n.findsEachOnce(pages)
	}
	c.kill()
}

// strikeIndex draws a strike, and does it.
func (c *cluster) strikeIndex(r *rand.Rand) string {
	sum := 0
	for _, s := range indexStrikes {
		sum += s.share
	}
	at := r.IntN(sum)
	for _, s := range indexStrikes {
		if at -= s.share; at < 0 {
			s.act(c, r)
			return s.name
		}
	}
	panic("BUG: a strike beyond the last")
}

// pagesDone are the pages that are done and were delivered, in order.
func (n *node) pagesDone() []string {
	urls := slices.DeleteFunc(n.lines("state=done&status=2xx"),
		func(u string) bool { return strings.HasSuffix(u, ".xml") || strings.HasSuffix(u, ".txt") })
	slices.Sort(urls)
	return urls
}

// findsEachOnce reads all pages of results of a word that each page has, once all nodes have
// answered in time: they are the pages that are done, each once, by itself or with the result that
// stands for it.
func (n *node) findsEachOnce(pages []string) {
	n.c.t.Helper()
	until(n.c.t, time.Minute, func() string {
		found, r, err := n.findsAll()
		if err != nil || r.Coverage != 1 || !r.TotalExact {
			return fmt.Sprintf("%s: %v, coverage %v, total %d, exact %v", n.name, err, r.Coverage, r.Total,
				r.TotalExact)
		}
		if slices.Sort(found); !slices.Equal(found, pages) {
			n.c.t.Errorf("%s finds %d pages, not the %d that are done: besides %v, without %v", n.name,
				len(found), len(pages), without(found, pages), without(pages, found))
			again, r, err := n.findsAll()
			n.c.t.Logf("asked again it finds %d, coverage %v, %v", len(again), r.Coverage, err)
		}
		return ""
	})
}

// findsAll reads all pages of results. It returns the last of them, or the first that is not whole.
func (n *node) findsAll() (found []string, r crawl.SearchReport, err error) {
	for page := 1; page == 1 || len(r.Results) > 0 && page <= 10; page++ {
		r = crawl.SearchReport{}
		if err = n.decode(fmt.Sprintf("/api/v1/search?size=100&page=%d&query=%s", page, allPages),
			&r); err != nil || r.Coverage != 1 {
			return nil, r, err
		}
		for _, h := range r.Results {
			found = append(append(found, h.Link), h.AlsoAt...)
		}
	}
	return found, r, nil
}

// without are those of a that b does not have, or has fewer times.
func without(a, b []string) (out []string) {
	left := map[string]int{}
	for _, s := range b {
		left[s]++
	}
	for _, s := range a {
		if left[s]--; left[s] < 0 {
			out = append(out, s)
		}
	}
	return out
}
