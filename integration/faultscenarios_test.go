package integration

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"time"

	"crawlnode/simweb"
)

// scenarios are the faults that a cluster must survive. The bounds are those
// that the project promises.
var scenarios = []scenario{
	{name: "kill-one", unfenced: true, quick: true, duplicates: 0.005, takeover: 3 * time.Second, act: killOne},
	{
		name:       "stop-and-continue",
		instead:    []string{"TestOneOfTwoStopped", "fault stop"},
		duplicates: 0.01,
		takeover:   20 * time.Second,
		shape:      long,
		act:        stopAndContinue,
	},
	{
		name:       "kill-two-restart",
		instead:    []string{"TestKillAllAndStartAgain", "fault kill"},
		unfenced:   true,
		duplicates: 0.01,
		act:        killTwoRestart,
	},
	{name: "kill-all-restart", instead: []string{"TestKillAllAndStartAgain"}, duplicates: 0.01, act: killAllRestart},
	{name: "batch-then-kill", quick: true, duplicates: 0.005, unseeded: true, act: batchThenKill},
	{name: "kill-while-joining", instead: []string{"fault join", "fault kill"}, unfenced: true, duplicates: 0.005, act: killWhileJoining},
	{name: "rolling-restart", instead: []string{"TestSignalsAtFullSpeed", "fault leave",
		"fault kill"}, duplicates: 0.005, pause: 5 * time.Second, shape: long, act: rollingRestart},
	{name: "down-to-the-last", instead: []string{"fault lose"}, unfenced: true, duplicates: 0.02, shape: long, act: downToTheLast},
	{name: "kill-all-but-one", quick: true, unfinished: true, duplicates: 0.01, act: killAllButOne},
	{name: "old-data-returns", instead: []string{"TestOneOfTwoStopped",
		"fault kill"}, unfenced: true, duplicates: 0.005, shape: long, act: oldDataReturns},
	{name: "same-name", quick: true, duplicates: 0.01, shape: long, act: sameName},
	{name: "flipped-bit", instead: []string{"TestDataThatCannotBeUsed", "frontier.TestFlippedBits"}, duplicates: 0.01, act: flippedBit},
	{name: "wrong-clock", instead: []string{"case clock-ahead", "fault clock"}, clocks: true, duplicates: 0.005, shape: long, act: wrongClock},
	{name: "paused-machine", instead: []string{"case machine-paused",
		"fault machine paused"}, clocks: true, duplicates: 0.01, shape: long, act: pausedMachine},
	{name: "lost-answers", instead: []string{"fault tear"}, deaf: true, shape: long, act: lostAnswers},
	{name: "replica-pauses", quick: true, duplicates: 0.01, shape: forSeconds, act: replicaSleeps(4 * time.Second)},
	{
		name:       "replica-stalls",
		instead:    []string{"case replica-stalls", "fault stall"},
		duplicates: 0.01,
		shape:      forMinutes,
		act:        replicaSleeps(3*time.Second, 4*time.Second, 10*time.Second, time.Minute),
	},
	{
		name:       "full-disk-elsewhere",
		instead:    []string{"case disk-elsewhere", "fault disk full"},
		nodes:      3,
		ownDisk:    troubledDisk,
		flags:      briefDrain,
		unseeded:   true,
		duplicates: 0.01,
		shape:      forSeconds,
		act:        fullDiskElsewhere,
	},
	{
		name:       "frozen-disk-elsewhere",
		instead:    []string{"case disk-frozen-elsewhere", "fault disk frozen"},
		nodes:      5,
		ownDisk:    troubledDisk,
		flags:      briefDrain,
		unseeded:   true,
		duplicates: 0.01,
		shape:      forSeconds,
		act:        frozenDiskElsewhere,
	},
	{
		name:       "read-only-disk",
		instead:    []string{"fault disk fails", "frontier.TestCloseOnAFailingDisk"},
		nodes:      3,
		ownDisk:    troubledDisk,
		duplicates: 0.01,
		shape:      forSeconds,
		act:        readOnlyDisk,
	},
	{
		name:       "failing-disk",
		instead:    []string{"fault disk fails", "frontier.TestCloseOnAFailingDisk"},
		nodes:      3,
		ownDisk:    troubledDisk,
		weakDisk:   true,
		duplicates: 0.01,
		shape:      forSeconds,
		act:        failingDisk,
	},
	{
		name:       "kill-while-moving",
		quick:      true,
		nodes:      3,
		unfenced:   true,
		flags:      []string{"--priority", "importance=0.6,authority=0.3,depth=0.1"},
		duplicates: 0.01,
		shape:      forMoves,
		act:        killWhileMoving,
	},
	{
		name:    "hostile-bytes",
		instead: []string{"TestStrangersWhileCrawling"},
		shape:   long,
		flags:   []string{"--memory", "256MiB"},
		act:     hostileBytes,
	},
}

// long makes a web that takes some 45 s.
func long(c *simweb.Config) {
	c.Delay = 400 * time.Millisecond
	c.Hosts = min(c.Hosts, 60)
	c.PagesPerHost = 60
}

// killOne kills a node for good and deletes its data.
func killOne(f *trial) {
	f.crawlTo(0.15, 0.6)
	f.whole(time.Minute)
	f.destroy(f.pick())
}

// stopAndContinue stops a node for longer than its lease. When it continues, it must not request
// what others have taken over.
func stopAndContinue(f *trial) {
	f.crawlTo(0.05, 0.2)
	n := f.pick()
	stopped := time.Now()
	n.signal(syscall.SIGSTOP)
	f.Logf("%s: stopped %s at %d pages", stopped.Format("15:04:05.000"), n.name, f.web.Progress())
	f.excuses = append(f.excuses, at("stop of "+n.name, stopped))
	f.lost = append(f.lost, loss{n, stopped})
	time.Sleep(25 * time.Second)

	other := f.c.nodes[(f.door(n)+1)%len(f.c.nodes)]
	s, err := other.status()
	if err != nil {
		f.Fatal(err)
	}
	without := s.Ring.View
	f.takenBack(n, other, without, stopped, 0)
}

// takenBack lets a stopped node go on, waits until it is a member again, and judges
// it. For so long as it cannot know that it was stopped, it may go on as if it was not.
func (f *trial) takenBack(n, other *node, without int, stopped time.Time, unaware time.Duration) {
	f.Helper()
	continued := time.Now()
	n.signal(syscall.SIGCONT)
	until(f.T, 30*time.Second, func() string {
		if s, err := other.status(); err != nil || s.Ring.View <= without {
			return fmt.Sprintf("%s has not been taken in again: view %d, %v", n.name, s.Ring.View, err)
		}
		return ""
	})
	back := time.Now()
	f.c.converged(time.Minute)
	f.blind = func(r simweb.Request) bool {
		return r.Door == f.door(n) && r.Start.After(continued) && r.Start.Before(continued.Add(unaware))
	}
	f.judgeZombie(f.door(n), stopped, continued, back)
}

// judgeZombie checks that a node that was stopped requested no host that others had taken over
// until it was a member again, and that no host moved back and forth.
func (f *trial) judgeZombie(door int, stopped, continued, back time.Time) {
	f.Helper()
	lost, flips := map[string]bool{}, map[string]int{}
	last := map[string]int{}
	for _, r := range f.trail.requests() {
		if f.blind(r) {
			continue
		}
		if r.Start.Before(stopped) {
			last[r.Host] = door // as good as any: only what follows counts
			continue
		}
		if r.Door != door {
			lost[r.Host] = true
		}
		if r.Door == door && lost[r.Host] && r.Start.After(continued) && r.Start.Before(back) {
			f.Errorf("%v after it was continued, the stopped node asked for %s, which others had taken over",
				r.Start.Sub(continued), r.URL)
		}
		if was, ok := last[r.Host]; ok && was != r.Door {
			flips[r.Host]++
		}
		last[r.Host] = r.Door
	}
	for host, n := range flips {
		// Away when the node stopped, back when it was a member again.
		if n > 3 {
			f.Errorf("%s changed hands %d times", host, n)
		}
	}
}

// killTwoRestart loses two nodes at once; both come back with their data.
func killTwoRestart(f *trial) {
	f.crawlTo(0.1, 0.5)
	first := f.pick()
	second := f.c.nodes[(f.door(first)+1+f.random.IntN(len(f.c.nodes)-1))%len(f.c.nodes)]
	f.kill(first, second)
	f.wait(0, 6*time.Second)
	f.restart(first, second)
}

// killAllRestart loses all nodes at once; all come back with their data, and go
// on within ten seconds.
func killAllRestart(f *trial) {
	f.crawlTo(0.1, 0.6)
	f.kill(f.c.living()...)
	killed := time.Now()
	f.restart(f.c.nodes...)
	f.lost = nil // nobody took over
	until(f.T, 10*time.Second, func() string {
		if f.trail.firstSince(killed).IsZero() {
			return "no request has come since the nodes were started again"
		}
		return ""
	})
}

// batchThenKill loses a node for ever as soon as it has acknowledged the seeds.
func batchThenKill(f *trial) {
	n := f.pick()
	seeds := f.web.Seeds()
	accepted, err := n.post(context.Background(), seeds)
	now := time.Now()
	n.signal(syscall.SIGKILL)
	f.began = now
	if err != nil || accepted != len(seeds) {
		f.Fatalf("%d of %d seeds were acknowledged: %v", accepted, len(seeds), err)
	}
	f.destroy(n)
	f.lost = nil // it had hardly begun
}

// killWhileJoining loses a node for ever while another joins.
func killWhileJoining(f *trial) {
	f.crawlTo(0.1, 0.5)
	victim := f.pick()
	joiner := f.add()
	f.wait(0, 3*time.Second)
	f.destroy(victim)
	joiner.ready()
}

// rollingRestart restarts one node after the other, some by SIGKILL, some
// politely, each when the cluster is whole again.
func rollingRestart(f *trial) {
	f.crawlTo(0.05, 0.15)
	for i, n := range f.c.nodes {
		if i%2 == int(f.seed%2) {
			f.kill(n)
		} else {
			now := time.Now()
			n.signal(syscall.SIGTERM)
			if code := n.exit(f.T, leaveTime); code != 0 {
				f.Errorf("%s: exit code %d after SIGTERM", n.name, code)
			}
			f.excuses = append(f.excuses, disturbance{"SIGTERM of " + n.name, now, time.Now()})
		}
		f.wait(0, time.Second)
		f.restart(n)
		f.whole(time.Minute)
	}
	f.lost = nil // each came back
}

// downToTheLast loses one node after the other for ever, each when all copies
// are there again. The last one finishes alone.
func downToTheLast(f *trial) {
	f.crawlTo(0.05, 0.1)
	for len(f.c.living()) > 1 {
		f.destroy(f.pick())
		f.whole(time.Minute)
		f.Logf("%s: whole again with %d nodes at %d pages", time.Now().Format("15:04:05.000"),
			len(f.c.living()), f.web.Progress())
	}
	s, err := f.c.living()[0].status()
	if err != nil || s.Cluster.Members.Alive != 1 {
		f.Errorf("the last node sees %d members alive (%v)", s.Cluster.Members.Alive, err)
	}
}

// killAllButOne loses four of five nodes for ever, without a pause in which
// copies could be made. What is gone must be called gone: the crawl waits and says why.
func killAllButOne(f *trial) {
	f.crawlTo(0.1, 0.5)
	order := f.random.Perm(len(f.c.nodes))
	for _, i := range order[1:] {
		f.destroy(f.c.nodes[i])
		f.wait(0, 300*time.Millisecond)
	}
	f.lost = nil // nobody takes over
	survivor := f.c.nodes[order[0]]
	until(f.T, 30*time.Second, func() string {
		s, err := survivor.status()
		switch {
		case err != nil:
			return err.Error()
		case s.Crawl.State == "finished":
			f.Fatal("the crawl calls itself finished although most of it is lost")
		case s.Cluster.State != "paused_minority" && s.Ring.Offline == 0:
			return fmt.Sprintf("%s says neither paused_minority nor that partitions are offline: %+v",
				survivor.name, s)
		case !s.explains("paused_minority", "offline"):
			return fmt.Sprintf("no reason is given: %+v", s.Cluster.Health)
		}
		return ""
	})
	paused := time.Now()
	time.Sleep(10 * time.Second)
	s, err := survivor.status()
	if err != nil || s.Crawl.State == "finished" || s.Crawl.State == "idle" {
		f.Errorf("the crawl is %q although most of it is lost (%v)", s.Crawl.State, err)
	}
	if s.Cluster.State != "paused_minority" {
		return
	}
	// A lease that was good at the kill ends within eight seconds.
	for _, r := range f.trail.requests() {
		if r.Start.After(paused.Add(8 * time.Second)) {
			f.Errorf("%s was asked for %v after the node had said paused_minority", r.URL,
				r.Start.Sub(paused))
			break
		}
	}
}

// explains reports whether a reason of the health names one of the codes, with a
// sentence.
func (s status) explains(codes ...string) bool {
	for _, r := range s.Cluster.Health.Reasons {
		for _, code := range codes {
			if strings.Contains(r.Code, code) && len(r.Message) > 10 {
				return true
			}
		}
	}
	return false
}

// oldDataReturns brings a node back with its old data, long after others have
// taken over: nothing of what was finished meanwhile is fetched again.
func oldDataReturns(f *trial) {
	f.crawlTo(0.05, 0.2)
	n := f.pick()
	f.kill(n)
	f.whole(time.Minute)
	f.wait(3*time.Second, 8*time.Second)
	f.restart(n)
	f.c.converged(time.Minute)
	if !slices.Contains(f.c.living(), n) {
		f.Errorf("%s did not stay", n.name)
	}
}
