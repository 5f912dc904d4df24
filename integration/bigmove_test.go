package integration

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// A measurement, not a test of every day: `make soak` runs it, or
//
//	go test ./integration -count=1 -timeout 60m -v -run '^TestBigMove$' -bigmove 1000000
var (
	bigMoveURLs = flag.Int("bigmove", 0,
		"run TestBigMove: a hand-over with this many queued URLs, and a repair with twice as many")
	bigMoveDir = flag.String("bigmove.dir", "",
		"keep the filled data directories here, and use them again when they are there")
	bigMoveProfile = flag.String("bigmove.profile", "", "write the nodes' profiles here")
)

// What is promised of a hand-over of a million URLs on 20,000 hosts and of a
// repair with two million, on a machine with two cores that does nothing else.
const (
	handOverTime  = 30 * time.Second
	handOverPause = time.Second // the median of the partitions, the host's delay aside
	handOverSpeed = 0.8         // of the hosts that do not move, as a share of before
	repairTime    = 90 * time.Second
	repairSpeed   = 0.7 // of all hosts
)

// speedSpan is the time over which the speed before a change is taken.
const speedSpan = 30 * time.Second

// TestBigMove measures what a join and the loss of a node cost a cluster with
// many queued URLs while it crawls, as its web server sees it. The figures go to
// docs/results/moves.md.
func TestBigMove(t *testing.T) {
	onRequest(t, *bigMoveURLs != 0, "a measurement of many minutes; see make soak")
	t.Run("hand-over", func(t *testing.T) {
		newMoveRun(t, "hand-over", *bigMoveURLs, 50).handOver()
	})
	t.Run("repair", func(t *testing.T) {
		newMoveRun(t, "repair", 2**bigMoveURLs, 500).repair()
	})
}

// moveRun is one measurement.
type moveRun struct {
	*testing.T
	what        string
	urls, hosts int
	web         *moveWeb
	c           *cluster
	f           moveFigures
}

// newMoveRun makes the web and a cluster of one node with a filled frontier,
// which does not run yet.
func newMoveRun(t *testing.T, what string, urls, perHost int) *moveRun {
	kept := filepath.Join(*bigMoveDir, fmt.Sprintf("%s-%d", what, urls))
	if *bigMoveDir == "" {
		kept = t.TempDir()
	}
	r := &moveRun{T: t, what: what, urls: urls, hosts: max(urls/perHost, 2*hotHosts)}
	r.web = startMoveWeb(t, r.hosts, keptPort(t, kept))
	r.c = newCluster(t, "--allow-net", "127.0.0.0/8", "--scope", "any", "--delay", hotDelay.String(),
		"--log-level", "warn")
	fill := &bigRun{
		t:      t,
		urls:   urls,
		hosts:  r.hosts,
		web:    r.web.bigWeb,
		filled: filepath.Join(kept, "filled"),
	}
	n := r.place()
	if _, err := os.Stat(fill.filled); err != nil {
		r.found(n)
		fill.fill(n.dir)
		if err := os.CopyFS(filepath.Join(kept, n.name), os.DirFS(n.dir)); err != nil {
			t.Fatal(err)
		}
	} else if err := os.CopyFS(n.dir, os.DirFS(filepath.Join(kept, n.name))); err != nil {
		t.Fatal(err)
	}
	return r
}

// place makes the place of one more node, with a door of its own.
func (r *moveRun) place(flags ...string) *node {
	r.Helper()
	door := len(r.c.nodes)
	flags = append(flags, "--dns", r.web.doors[door])
	if *bigMoveProfile != "" {
		flags = append(flags, "--profile",
			filepath.Join(*bigMoveProfile, r.what, fmt.Sprint("n", door+1)))
	}
	return r.c.place(flags...)
}

// found lets a node found its cluster and begin its crawl.
func (r *moveRun) found(n *node) {
	r.Helper()
	flags := n.flags
	n.flags = append(flags, "--seed", r.web.url(0, 0))
	n.start()
	n.ready()
	until(r.T, time.Minute, func() string {
		if r.web.pages.Load() == 0 {
			return "the node has not fetched its seed"
		}
		return ""
	})
	n.signal(syscall.SIGKILL)
	<-n.done
	n.flags = flags
}

// handOver lets a second node join the first: it takes half of the partitions,
// and copies of the others.
func (r *moveRun) handOver() {
	first := r.c.nodes[0]
	first.start()
	first.ready()
	r.crawlSteadily()
	joiner := r.place()
	joined := r.joined(first, joiner)
	load := r.load()
	done := r.await("the new node's share", (*moveStatus).handedOver)
	r.judgeShare(joiner)
	r.f.seconds = done.Sub(joined)
	whole := r.await("all copies", (*moveStatus).whole)
	r.f.whole = whole.Sub(joined)
	r.f.cpu = load.since(r)
	time.Sleep(5 * time.Second) // the new holder comes to the hosts that moved last
	r.judgePauses(joined)
	r.judgeSpeed(joined, done, handOverSpeed, r.staying(first))
	r.judgeGaps()
	r.report(handOverTime)
	r.c.stop()
}

// joined starts a node and returns when another has the view that lists it.
func (r *moveRun) joined(other, joiner *node) time.Time {
	r.Helper()
	before, err := other.status()
	if err != nil {
		r.Fatal(err)
	}
	joiner.start()
	until(r.T, time.Minute, func() string {
		if now, err := other.status(); err != nil || now.Ring.View == before.Ring.View {
			return fmt.Sprintf("view %d does not list the new node, %v", now.Ring.View, err)
		}
		return ""
	})
	at := time.Now()
	joiner.ready()
	return at
}

// repair kills one of three nodes and deletes its data: the others take over
// its partitions and make the copies that are missing.
func (r *moveRun) repair() {
	r.c.nodes[0].start()
	r.c.nodes[0].ready()
	for range 2 {
		n := r.place()
		n.start()
		n.ready()
	}
	r.await("three whole nodes",
		func(s *moveStatus) bool { return s.Cluster.Members.Alive == 3 && s.whole() })
	r.crawlSteadily()
	victim := r.c.nodes[1]
	killed := time.Now()
	victim.signal(syscall.SIGKILL)
	<-victim.done
	load := r.load()
	if err := os.RemoveAll(victim.dir); err != nil {
		r.Fatal(err)
	}
	r.await("the view without the lost node",
		func(s *moveStatus) bool { return s.Cluster.Members.Alive == 2 && !s.whole() })
	served := r.await("a holder for every partition",
		func(s *moveStatus) bool { return s.Ring.Served == s.Ring.Partitions })
	r.Logf("every partition had a holder after %.1f s", served.Sub(killed).Seconds())
	whole := r.await("all copies", (*moveStatus).whole)
	r.f.seconds, r.f.whole = whole.Sub(killed), whole.Sub(killed)
	r.f.cpu = load.since(r)
	r.judgeSpeed(killed, whole, repairSpeed, func(int) bool { return true })
	r.judgeGaps()
	r.report(repairTime)
	r.c.stop()
}

// crawlSteadily waits until the hosts, which all begin at once, are asked evenly,
// and then for as long as the speed is measured.
func (r *moveRun) crawlSteadily() {
	time.Sleep(2*r.web.longestDelay() + speedSpan) // a time of measuring; no event marks its end
}

// moveStatus is the part of /status that shows the progress of a move.
type moveStatus struct {
	Cluster struct{ Members struct{ Alive, Failed int } }
	Ring    struct {
		View            int
		Converged       bool
		Partitions      int
		Served          int
		UnderReplicated int `json:"under_replicated"`
		Offline         int
		Handoff, Repair struct{ Active bool }
	}
}

// handedOver reports whether every partition is where it belongs.
func (s *moveStatus) handedOver() bool {
	return s.Ring.Converged && !s.Ring.Handoff.Active && s.Ring.Served == s.Ring.Partitions
}

// whole reports whether every partition is where it belongs and has its copies.
func (s *moveStatus) whole() bool {
	return s.handedOver() && s.Ring.UnderReplicated == 0 && s.Ring.Offline == 0 &&
		!s.Ring.Repair.Active
}

// await polls the running nodes until all report that it is so, and returns when.
func (r *moveRun) await(what string, is func(*moveStatus) bool) time.Time {
	r.Helper()
	const within = 10 * time.Minute
	deadline := time.Now().Add(within)
	for {
		at := time.Now()
		missing := ""
		for _, n := range r.c.living() {
			var s moveStatus
			if err := n.decode("/status", &s); err != nil {
				missing = fmt.Sprintf("%s: %v", n.name, err)
			} else if !is(&s) {
				missing = fmt.Sprintf("%s: %+v", n.name, s)
			}
		}
		if missing == "" {
			return at
		}
		if time.Now().After(deadline) {
			r.Fatalf("%s has not come within %v: %s", what, within, missing)
		}
		time.Sleep(50 * time.Millisecond) // a sampling interval
	}
}
