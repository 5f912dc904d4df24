package integration

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"crawlnode/simweb"
)

var writingKills = flag.Int("writingkills", 0, "kill the node of TestKillWhileWriting so many "+
	"times instead of four, and append the figures to docs/results/kills.md")

const archiveResults = `# The archive

What kill -9 does to WARC files: one node crawls a synthetic web and writes files of 1 MiB; it is killed at random moments and started again. In the end every
page that can be reached must have a record, every file must read to its end, and the index must name each record once. Appended by ` + "`make soak`" +
	`, or

    go test ./integration -count=1 -timeout 60m -v -run '^TestKillWhileWriting$' -writingkills 50

| date | commit | kills | pages | captures | files | pages without a record | fetched twice, % |
|---|---|---|---|---|---|---|---|
`

// A node is killed again and again while it writes: no page is done without its
// record, every file reads to its end, and the index names each record once.
func TestKillWhileWriting(t *testing.T) {
	needsProcesses(t)
	kills, size := 4, 60
	if *writingKills > 0 {
		kills, size = *writingKills, 12**writingKills
	} else {
		t.Parallel()
	}
	const delay = 20 * time.Millisecond
	seed := testSeed(t)
	t.Logf("repeat with CRAWLNODE_TEST_SEED=%d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	web, srv := serveSimweb(t,
		simweb.Config{Seed: seed, Hosts: 40, PagesPerHost: size, Skew: -1, Delay: delay}.Quirky())
	c := simCluster(t, srv, delay, "--warc-size", "1MiB")
	c.addReady(1)
	n := c.nodes[0]
	n.seed(web.Seeds()...)
	each := 40 * size / (kills + 1)
	for range kills {
		// From some point between two kills on, a moment that has nothing to do with pages.
		atPage(t, web, web.Progress()+1+random.IntN(each/2))
		time.Sleep(time.Duration(random.IntN(300)) * time.Millisecond)
		n.signal(syscall.SIGKILL)
		n.exit(t, 10*time.Second)
		n.start()
		n.ready()
	}
	c.finished(10 * time.Minute)
	index := checkSorted(t, exported(t, n))
	c.stop()

	report := web.Report()
	if err := report.ErrButDuplicates(); err != nil {
		t.Error(err)
	}
	captures := readWARC(t, n.dir)
	archived := map[string]bool{}
	var urls, indexed []string
	for _, p := range captures {
		archived[p.url] = true
		urls = append(urls, p.url)
	}
	for _, l := range index {
		indexed = append(indexed, l.URL)
		checkPlace(t, c, l)
	}
	slices.Sort(urls)
	slices.Sort(indexed)
	if !slices.Equal(urls, indexed) {
		t.Errorf("the index names %d captures, the files hold %d", len(indexed), len(urls))
	}
	missing := 0
	for u := range web.Reachable() {
		if !archived[u] {
			missing++
			t.Errorf("no record of %s", u)
		}
	}
	if open, _ := filepath.Glob(filepath.Join(n.dir, "warc", "*.open")); len(open) > 0 {
		t.Errorf("still open after the end: %v", open)
	}
	files, _ := filepath.Glob(filepath.Join(n.dir, "warc", "*.warc.gz"))
	row := fmt.Sprintf("%d | %d | %d | %d | %d | %.2f |", kills, report.Pages, len(captures),
		len(files), missing,
		100*float64(report.Duplicates)/float64(max(report.Pages, 1)))
	t.Log(row)
	if *writingKills > 0 {
		appendResult(t, "kills.md", archiveResults, row)
	}
}
