package integration

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// A measurement, not a test of every day:
//
//	go test ./integration -count=1 -timeout 30m -v -run '^TestManySeedHosts$' -manyseeds 1000000
var (
	manySeeds = flag.Int("manyseeds", 0,
		"run TestManySeedHosts with this many seeds, each on a host of its own")
	manySeedsDir = flag.String("manyseeds-profile", "",
		"write the profiles of the first node of TestManySeedHosts into this folder")
	manySeedsAtOnce = flag.Int("manyseeds-at-once", 4,
		"batches of TestManySeedHosts that are under way")
	manySeedsSingle = flag.Bool("manyseeds-only", false,
		"leave out the run with few hosts of TestManySeedHosts, judge and note nothing")
)

// What is promised of a million seed hosts, with three nodes on a machine with two
// processors.
const (
	manySeedsRate   = 20_000   // a second
	manySeedsMemory = 40 << 20 // RssAnon of a node, beyond that with as many URLs on few hosts
	manySeedsFew    = 300      // hosts of those
	manySeedsBatch  = 10_000
)

// TestManySeedHosts measures how fast seeds are accepted that are each on a host of its own, and
// how much more memory they take than as many seeds on few hosts. The crawl is paused, so that
// nothing else is in the figures, which go to docs/results/seeds.md.
func TestManySeedHosts(t *testing.T) {
	onRequest(t, *manySeeds != 0, "a measurement of minutes: see -manyseeds")
	if *manySeedsSingle {
		takeSeeds(t, *manySeeds, *manySeeds)
		return
	}
	few := takeSeeds(t, *manySeeds, manySeedsFew)
	many := takeSeeds(t, *manySeeds, *manySeeds)
	more := int64(0)
	for i := range many.memory {
		more = max(more, many.memory[i]-few.memory[i])
	}
	appendResult(t, "seeds.md", manySeedsHead,
		fmt.Sprintf("%d | %.0f | %.0f | %s | %s | %d | %.0f | %.0f | %s |",
			*manySeeds, few.rate, many.rate, mebibytes(few.memory), mebibytes(many.memory), more>>20,
			few.cost(*manySeeds), many.cost(*manySeeds), loadAverage()))
	if many.rate < manySeedsRate {
		t.Errorf("%.0f seeds a second were taken, %d are promised", many.rate, manySeedsRate)
	}
	if more > manySeedsMemory {
		t.Errorf("a node has %d MiB more than with %d hosts, %d are promised", more>>20, manySeedsFew,
			manySeedsMemory>>20)
	}
}

// seedsTaken is what it took to add seeds.
type seedsTaken struct {
	rate   float64       // a second
	memory []int64       // of each node, in the minutes after the last
	cpu    time.Duration // of all nodes
}

// cost is the processor time of a seed, in microseconds.
func (r *seedsTaken) cost(seeds int) float64 {
	return float64(r.cpu.Microseconds()) / float64(seeds)
}

// takeSeeds adds so many seeds on so many hosts to a cluster of three.
func takeSeeds(t *testing.T, seeds, hosts int) (r seedsTaken) {
	c := newCluster(t, "--allow-net", "127.0.0.0/8", "--delay", "1s", "--scope", "host", "--log-level",
		"warn")
	if *manySeedsDir != "" {
		c.add("--profile", filepath.Join(*manySeedsDir, fmt.Sprint(hosts)), "--drain-timeout",
			"1s").ready()
	}
	c.addReady(3 - len(c.nodes))
	c.converged(3 * time.Minute)
	first := c.nodes[0]
	first.seed(fmt.Sprintf("http://127.0.0.1:%d/", freePort(t))) // nobody listens there
	req, err := first.request(http.MethodPost, "/api/v1/crawl/pause", nil)
	if err == nil {
		err = decodeReply(client, req, &struct{}{})
	}
	if err != nil {
		t.Fatal(err)
	}
	began, used := time.Now(), c.cpuTime()
	var next, taken atomic.Int64
	var wg sync.WaitGroup
	for range *manySeedsAtOnce {
		wg.Go(func() {
			for {
				from := int(next.Add(manySeedsBatch)) - manySeedsBatch
				if from >= seeds || t.Failed() {
					return
				}
				n := c.nodes[from/manySeedsBatch%len(c.nodes)]
				taken.Add(n.take(t, from, min(from+manySeedsBatch, seeds), hosts))
			}
		})
	}
	wg.Wait()
	took := time.Since(began)
	if taken.Load() != int64(seeds) {
		t.Fatalf("%d seeds of %d were taken", taken.Load(), seeds)
	}
	r.rate = float64(seeds) / took.Seconds()
	r.cpu = c.cpuTime() - used
	r.memory = c.memoryAtRest()
	t.Logf(
		"%d seeds on %d hosts: %.0f a second, %.1f us of processor time each, RssAnon %s MiB, load %s",
		seeds, hosts, r.rate, r.cost(seeds),
		mebibytes(r.memory), loadAverage())
	if *manySeedsDir != "" {
		first.signal(syscall.SIGTERM) // it writes its profiles
		first.exit(t, time.Minute)
	}
	c.kill()
	return r
}

// memoryAtRest is the least RssAnon of each node in three minutes: buffers are written out,
// caches of what was written last are used for other things and garbage goes, and no event
// marks when. A node looks for garbage worth a collection about once in one minute.
func (c *cluster) memoryAtRest() []int64 {
	least := make([]int64, len(c.nodes))
	for range 180 {
		time.Sleep(time.Second)
		for i, n := range c.nodes {
			if rss := rssAnon(n.cmd.Process.Pid); least[i] == 0 || rss < least[i] {
				least[i] = rss
			}
		}
	}
	return least
}

// cpuTime is the processor time that all nodes have used.
func (c *cluster) cpuTime() (sum time.Duration) {
	for _, n := range c.nodes {
		sum += cpuTime(n.cmd.Process.Pid)
	}
	return sum
}

// loadAverage is the machine's load in the last minute: what else keeps it busy.
func loadAverage() string {
	text, _ := os.ReadFile("/proc/loadavg") // empty elsewhere
	load, _, _ := strings.Cut(string(text), " ")
	return load
}

// take hands a node the seeds from one number up to another, again if it is busy.
func (n *node) take(t *testing.T, from, to, hosts int) int64 {
	urls := make([]string, 0, to-from)
	for i := from; i < to; i++ {
		urls = append(urls,
			fmt.Sprintf("http://h%d.big.test/section-%d/a-page-with-a-name-%d.html", i%hosts, i%7, i))
	}
	for try := 0; ; try++ {
		before := time.Now()
		r, err := n.report(context.Background(), urls)
		// what a try stored that was not answered is a duplicate then
		switch taken := r.Accepted + r.Duplicates; {
		case err == nil && taken == len(urls):
			return int64(len(urls))
		case err == nil || try == 5:
			t.Errorf("%s took %d seeds of %d: %v", n.name, taken, len(urls), err)
			return int64(taken)
		}
		t.Logf("%s after %.1f s: %v", n.name, time.Since(before).Seconds(), err)
	}
}

// mebibytes lists figures.
func mebibytes(bytes []int64) string {
	var list []string
	for _, b := range bytes {
		list = append(list, fmt.Sprint(b>>20))
	}
	return strings.Join(list, ", ")
}

const manySeedsHead = `# Many seed hosts

Three nodes on one machine take seeds in batches of 10,000 through the API, four at a time, while the crawl is paused: each seed on a
host of its own, and as many on 300 hosts. Promised for a million: 20,000 seeds a second and at most 40 MiB more anonymous memory on each
node. CPU a seed is the processor time of all three nodes together, from the first seed to the last; memory is the least in the three minutes after that (in the minute, up to 30ee9d8). Appended by

    go test ./integration -count=1 -timeout 30m -v -run '^TestManySeedHosts$' -manyseeds 1000000

| date | commit | seeds | a second, 300 hosts | a second, as many hosts | RssAnon of each node with 300 hosts, MiB | with as many hosts, MiB | most of a node more, MiB | CPU a seed, 300 hosts, us | as many hosts, us | load |
|---|---|---|---|---|---|---|---|---|---|---|
`
