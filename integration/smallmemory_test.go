package integration

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A measurement, not a test of every day: `.ci/bench` runs it, as root, or
//
//	go test ./integration -count=1 -timeout 20m -v -run '^TestSmallMemory$' -smallmemory 1000000
var (
	smallMemoryURLs = flag.Int("smallmemory", 0,
		"run TestSmallMemory with this many queued URLs, on a fiftieth as many hosts")
	smallMemoryTime = flag.Duration("smallmemory.time", 90*time.Second,
		"how long TestSmallMemory lets the node crawl")
)

// The limit of the group of processes, and for how long the node may fetch nothing.
const (
	smallMemoryLimit = 256 << 20
	smallMemoryStall = 5 * time.Second
)

// TestSmallMemory lets a node with --memory 128MiB crawl a large frontier within 256 MiB, page
// cache included: it is not killed and does not stop fetching.
func TestSmallMemory(t *testing.T) {
	onRequest(t, *smallMemoryURLs != 0, "a measurement of minutes that needs root; see .ci/bench")
	group := newMemoryGroup(t, smallMemoryLimit)
	r := &bigRun{t: t, urls: *smallMemoryURLs, hosts: max(*smallMemoryURLs/50, 1)}
	dir := t.TempDir()
	r.filled = filepath.Join(dir, "filled")
	r.web = startBigWeb(t, r.hosts, freePort(t))
	c := r.cluster(dir, "--memory", "128MiB")
	r.found(c)
	r.fill(filepath.Join(dir, "n1"))

	n := c.place()
	forgetPages(t, filepath.Join(n.dir, "frontier")) // they would count for who filled them
	n.wrap = []string{"/bin/sh", "-c", `echo $$ >"$0" && exec "$@"`, group.procs()}
	began := time.Now()
	n.start()
	last := r.web.waitRequest(t, n) // the last time that a page was seen to come
	first := last.Sub(began)
	before := r.web.pages.Load()
	pages, longest, anon := before, time.Duration(0), int64(0)
	for time.Since(began) < first+*smallMemoryTime {
		select {
		case <-n.done:
			t.Fatalf("the node ended: %v, %d kills for want of memory\n%s", n.err, group.kills(),
				tail(n.log, 20))
		case <-time.After(100 * time.Millisecond): // a sampling interval
		}
		if now := r.web.pages.Load(); now > pages {
			pages, last = now, time.Now()
		}
		longest, anon = max(longest, time.Since(last)), max(anon, rssAnon(n.cmd.Process.Pid))
	}
	fetched := pages - before
	n.signal(syscall.SIGTERM)
	n.exit(t, time.Minute)

	benchRow(t,
		"g: --memory 128MiB with a million queued URLs in a group of 256 MiB: no kill, no stall",
		"%d queued, %s: %d kills, longest time without a page %.1f s, %.0f pages/s, "+
			"RssAnon at most %d MiB, most in the group %d MiB, first request after %.1f s",
		r.total(), group.version, group.kills(), longest.Seconds(),
		float64(fetched)/smallMemoryTime.Seconds(), anon>>20, group.most()>>20, first.Seconds())
	if kills := group.kills(); kills > 0 {
		t.Errorf("%d kills for want of memory", kills)
	}
	if longest > smallMemoryStall {
		t.Errorf("no page came for %v", longest)
	}
}

// memoryGroup is a control group of the kernel that bounds memory.
type memoryGroup struct {
	t       *testing.T
	dir     string
	version string // cgroup v1 or v2
}

// newMemoryGroup makes one, which goes with the test, whose processes must have
// ended by then.
func newMemoryGroup(t *testing.T, limit int64) *memoryGroup {
	t.Helper()
	g := &memoryGroup{t: t, version: "cgroup v1"}
	root, limits := "/sys/fs/cgroup/memory", map[string]string{
		"memory.limit_in_bytes": strconv.FormatInt(limit, 10),
	}
	if controllers, err := os.ReadFile("/sys/fs/cgroup/cgroup.controllers"); err == nil &&
		strings.Contains(string(controllers), "memory") {
		g.version, root = "cgroup v2", "/sys/fs/cgroup"
		limits = map[string]string{"memory.max": strconv.FormatInt(limit, 10), "memory.swap.max": "0"}
		// it may stand there already
		_ = os.WriteFile(filepath.Join(root, "cgroup.subtree_control"), []byte("+memory"), 0o644)
	}
	g.dir = filepath.Join(root, fmt.Sprint("crawlnode-test-", os.Getpid()))
	if err := os.Mkdir(g.dir, 0o755); err != nil {
		t.Fatalf("no control group for memory can be made here: %v; run as root, where %s is writable",
			err, root)
	}
	t.Cleanup(func() {
		if err := os.Remove(g.dir); err != nil {
			t.Errorf("removing the control group: %v", err)
		}
	})
	for file, text := range limits {
		err := os.WriteFile(filepath.Join(g.dir, file), []byte(text), 0o644)
		if err != nil && file != "memory.swap.max" { // is missing where the kernel has no swap
			t.Fatalf("no control group with %s can be made here: %v", file, err)
		}
	}
	return g
}

// forgetPages takes the files of a folder out of the page cache.
func forgetPages(t *testing.T, dir string) {
	t.Helper()
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range files {
		f, err := os.Open(filepath.Join(dir, entry.Name()))
		if err != nil {
			t.Fatal(err)
		}
		err = errorsOf(f.Sync(), forgetFile(f), f.Close())
		if err != nil {
			t.Fatal(err)
		}
	}
}

// procs is the file to which a process writes its number to become a member.
func (g *memoryGroup) procs() string { return filepath.Join(g.dir, "cgroup.procs") }

// kills counts processes that the kernel has killed for the group's limit.
func (g *memoryGroup) kills() int64 {
	for _, file := range []string{"memory.events", "memory.oom_control"} {
		text, _ := os.ReadFile(filepath.Join(g.dir, file)) // one of them is there
		for line := range strings.Lines(string(text)) {
			if fields := strings.Fields(line); len(fields) == 2 && fields[0] == "oom_kill" {
				return g.number(fields[1])
			}
		}
	}
	return 0
}

// most is the most memory that the group ever had, or 0 where the kernel does not say.
func (g *memoryGroup) most() int64 {
	for _, file := range []string{"memory.peak", "memory.max_usage_in_bytes"} {
		if text, err := os.ReadFile(filepath.Join(g.dir, file)); err == nil {
			return g.number(strings.TrimSpace(string(text)))
		}
	}
	return 0
}

func (g *memoryGroup) number(text string) int64 {
	g.t.Helper()
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		g.t.Fatal(err)
	}
	return n
}
