package integration

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"crawlnode/crawl"
	placement "crawlnode/ring" // ring is what the API says of it
)

// moveFigures are what was found.
type moveFigures struct {
	seconds, whole time.Duration // until all is where it belongs, and has its copies
	pauses         []time.Duration
	before, during float64 // pages/s of the hosts that are judged
	all            float64 // pages/s of all hosts during the change, as a share of before
	cpu            moveCPU
}

// moveCPU is how many cores were in use during a change.
type moveCPU struct{ nodes, web, others float64 }

// moveLoad is a reading of the processors' clocks.
type moveLoad struct {
	at               time.Time
	nodes, web, busy time.Duration
}

// load reads the clocks, for the nodes that run now.
func (r *moveRun) load() moveLoad {
	l := moveLoad{at: time.Now(), web: cpuTime(os.Getpid()), busy: busyTime()}
	for _, n := range r.c.living() {
		l.nodes += cpuTime(n.cmd.Process.Pid)
	}
	return l
}

// since returns what was in use since a reading by the same nodes.
func (l moveLoad) since(r *moveRun) moveCPU {
	now := r.load()
	span := now.at.Sub(l.at).Seconds()
	c := moveCPU{
		nodes: (now.nodes - l.nodes).Seconds() / span,
		web:   (now.web - l.web).Seconds() / span,
	}
	c.others = (now.busy-l.busy).Seconds()/span - c.nodes - c.web
	return c
}

// busyTime is the processor time that all processes have used.
func busyTime() (sum time.Duration) {
	text, _ := os.ReadFile("/proc/stat") // Linux has it
	line, _, _ := strings.Cut(string(text), "\n")
	for i, field := range strings.Fields(line) {
		if i == 0 || i == 4 || i == 5 || i > 8 {
			continue // the name, idle, waiting for the disk, guests
		}
		ticks, _ := strconv.ParseInt(field, 10, 64) // the kernel writes numbers
		sum += time.Duration(ticks) * 10 * time.Millisecond
	}
	return sum
}

// holders returns the names of the nodes that hold each partition.
func (r *moveRun) holders() (names []string) {
	r.Helper()
	var table ring
	var s struct{ Nodes []struct{ ID, Name string } }
	first := r.c.living()[0]
	if err := errorsOf(first.decode("/api/v1/ring", &table), first.decode("/status", &s)); err != nil {
		r.Fatal(err)
	}
	names = make([]string, len(table.Partitions))
	for _, p := range table.Partitions {
		for _, n := range s.Nodes {
			if n.ID == p.Holder {
				names[p.Partition] = n.Name
			}
		}
	}
	return names
}

// judgeShare checks that a new node holds its part of the partitions.
func (r *moveRun) judgeShare(joiner *node) {
	r.Helper()
	holders, count := r.holders(), 0
	for _, h := range holders {
		if h == joiner.name {
			count++
		}
	}
	if count < len(holders)*2/5 {
		r.Errorf("%s holds %d of %d partitions", joiner.name, count, len(holders))
	}
}

// staying returns which hosts a node holds.
func (r *moveRun) staying(n *node) func(host int) bool {
	r.Helper()
	holders := r.holders()
	return func(host int) bool {
		return holders[placement.PartitionOf(crawl.Host(fmt.Sprintf("h%d.big.test", host)),
			len(holders))] == n.name
	}
}

// judgeSpeed compares the pages a second of some hosts before and during a change.
func (r *moveRun) judgeSpeed(from, to time.Time, promised float64, judged func(host int) bool) {
	r.Helper()
	rate := func(from, to time.Time, count func(int) bool) float64 {
		n := 0
		for _, q := range r.web.between(from, to) {
			if count(q.host) {
				n++
			}
		}
		return float64(n) / to.Sub(from).Seconds()
	}
	all := func(int) bool { return true }
	start := from.Add(-speedSpan)
	r.f.before, r.f.during = rate(start, from, judged), rate(from, to, judged)
	r.f.all = rate(from, to, all) / rate(start, from, all)
	if r.f.during < promised*r.f.before {
		r.Errorf("%.0f pages/s during the change, %.0f before: less than %.0f %%", r.f.during, r.f.before,
			100*promised)
	}
}

// judgePauses measures how long each hot host that moved waited: from the end of
// its last request by the old node to the first by the new one, its delay aside.
func (r *moveRun) judgePauses(joined time.Time) {
	r.Helper()
	last := make([]moveRequest, hotHosts)
	for _, q := range r.web.between(joined.Add(-speedSpan), time.Now()) {
		if q.host >= hotHosts {
			continue
		}
		if old := last[q.host]; !old.end.IsZero() && old.door != q.door {
			r.f.pauses = append(r.f.pauses, max(q.start.Sub(old.end)-hotDelay, 0))
		}
		last[q.host] = q
	}
	slices.Sort(r.f.pauses)
	if len(r.f.pauses) < hotHosts/5 {
		r.Fatalf("%d of %d hosts that are asked often were seen to move", len(r.f.pauses), hotHosts)
	}
	if median := r.f.pause(0.5); median > handOverPause {
		r.Errorf("half of the partitions paused for %v or more, %v is promised", median, handOverPause)
	}
}

// pause returns a quantile of the pauses.
func (f *moveFigures) pause(q float64) time.Duration {
	if len(f.pauses) == 0 {
		return 0
	}
	return f.pauses[int(q*float64(len(f.pauses)-1))]
}

// judgeGaps checks that no host was requested too early, by any node.
func (r *moveRun) judgeGaps() {
	r.Helper()
	last := make([]moveRequest, r.hosts)
	for _, q := range r.web.between(time.Time{}, time.Now()) {
		old := last[q.host]
		last[q.host] = q
		if gap := q.start.Sub(old.end); !old.end.IsZero() && gap < hotDelay-time.Millisecond {
			r.Errorf("host %d was asked by node %d %v after node %d was answered", q.host, q.door+1, gap,
				old.door+1)
		}
	}
}

const movesHead = `# Moves

What a join and the loss of a node cost a cluster with many queued URLs while it crawls, on one machine, as its web
server sees it. *hand-over*: a second node joins the first, and takes half of the partitions and copies of the others;
the time runs from the view with the new node. *repair*: one of three nodes is killed and its data deleted; the time
runs from the kill, until every partition has two copies again. *pause*: what a host that moved waited beyond its delay
between the last request by the old node and the first by the new one. *pages/s*: of hosts that do not move in a
hand-over, of all in a repair. Promised with 1,000,000 URLs for a hand-over and 2,000,000 for a repair, on two cores that do
nothing else: 30 s, a median pause of 1 s, 80 % of the pages; 90 s, 70 %. *others* are the cores that neither the nodes nor the
web server used: on a loaded machine the figures say little. Appended by

    go test ./integration -count=1 -timeout 60m -v -run '^TestBigMove$' -bigmove 1000000

| date | commit | what | URLs | hosts | done, s | all copies, s | pause median, s | pause 90 %, s | pages/s before | during | share, % | all hosts, % | cores: nodes | web | others |
|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|
`

// report judges the time, prints the figures and appends them to the results.
func (r *moveRun) report(promised time.Duration) {
	r.Helper()
	if r.f.seconds > promised {
		r.Errorf("done after %v, %v is promised", r.f.seconds, promised)
	}
	pauses := "- | -"
	if len(r.f.pauses) > 0 {
		pauses = fmt.Sprintf("%.2f | %.2f", r.f.pause(0.5).Seconds(), r.f.pause(0.9).Seconds())
	}
	appendResult(r.T, "moves.md", movesHead,
		fmt.Sprintf("%s | %d | %d | %.1f | %.1f | %s | %.0f | %.0f | %.0f | %.0f | %.2f | %.2f | %.2f |",
			r.what, r.urls, r.hosts, r.f.seconds.Seconds(), r.f.whole.Seconds(), pauses,
			r.f.before, r.f.during, 100*r.f.during/max(r.f.before, 1), 100*r.f.all, r.f.cpu.nodes,
			r.f.cpu.web, r.f.cpu.others))
}
