package integration

import (
	le "encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"crawlnode/simweb"
)

// buildFaultClock builds the command with clocks that a test can move.
var buildFaultClock = sync.OnceValues(func() (string, error) {
	plain, err := buildBinary()
	if err != nil {
		return "", err
	}
	return build(plain+"-faultclock", "-tags", "faultclock")
})

// moveClock sets how far a node's time of day is off, and how far its boot time. The node
// sees it at once, a node that is to start from the start on.
func (f *trial) moveClock(n *node, wall, boot time.Duration) {
	f.Helper()
	path := n.dir + ".clock"
	if n.program == "" {
		program, err := buildFaultClock()
		if err != nil {
			f.Fatal(err)
		}
		n.program, n.wrap = program, append(slices.Clone(n.wrap), "env", "CRAWLNODE_FAULT_CLOCK="+path)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		f.Fatal(err)
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		f.Fatal(err)
	}
	defer file.Close()
	var page [16]byte
	le.LittleEndian.PutUint64(page[:], uint64(wall))
	le.LittleEndian.PutUint64(page[8:], uint64(boot))
	if _, err := file.WriteAt(page[:], 0); err != nil {
		f.Fatal(err)
	}
}

// wrongClock is F32: the time of day of one node is hours off, jumps, and is off again
// after a restart. Between the two it hands over all that it has and leaves.
func wrongClock(f *trial) {
	offs := []time.Duration{2 * time.Hour, -2 * time.Hour, 12 * time.Hour, -12 * time.Hour}
	f.random.Shuffle(len(offs), func(i, j int) { offs[i], offs[j] = offs[j], offs[i] })
	n := f.pick()
	jump := func(wall time.Duration) {
		// A jump ends the lease, and what is open is asked for again.
		now := time.Now()
		f.moveClock(n, wall, 0)
		f.excuses = append(f.excuses, at("clock of "+n.name+" goes to "+wall.String(), now))
		f.Logf("%s: the clock of %s goes to %v at %d pages", now.Format("15:04:05.000"), n.name, wall,
			f.web.Progress())
	}
	jump(offs[0])
	f.crawlTo(0.1, 0.2)
	jump(offs[1])
	f.crawlTo(0.25, 0.3)

	left := time.Now()
	n.signal(syscall.SIGTERM)
	if code := n.exit(f.T, leaveTime); code != 0 {
		f.Errorf("%s: exit code %d after SIGTERM", n.name, code)
	}
	f.excuses = append(f.excuses, disturbance{"SIGTERM of " + n.name, left, time.Now()})
	f.crawlTo(0.4, 0.5)
	f.moveClock(n, offs[2], 0)
	f.restart(n)
	f.crawlTo(0.6, 0.7)
	f.kill(n)
	f.lost = nil // it comes back at once
	f.moveClock(n, offs[3], 0)
	f.restart(n)
}

// pausedMachine is F36: both clocks of a node's machine stand still while others take over. The
// node continues until the first message proves the pause.
func pausedMachine(f *trial) {
	const pause = 25 * time.Second
	f.crawlTo(0.05, 0.2)
	n := f.pick()
	stopped := time.Now()
	n.signal(syscall.SIGSTOP)
	f.Logf("%s: paused %s at %d pages", stopped.Format("15:04:05.000"), n.name, f.web.Progress())
	f.excuses = append(f.excuses, at("pause of "+n.name, stopped))
	f.lost = append(f.lost, loss{n, stopped})
	time.Sleep(pause)
	other := f.c.nodes[(f.door(n)+1)%len(f.c.nodes)]
	s, err := other.status()
	if err != nil {
		f.Fatal(err)
	}
	off := -time.Since(stopped)
	f.moveClock(n, off, off)
	f.takenBack(n, other, s.Ring.View, stopped, unaware)
}

// unaware is how long a machine that was paused may take to learn of it: a comparison of
// clocks each 250 ms, and an answer; the rest is for a busy machine.
const unaware = 500 * time.Millisecond

// overlook judges gaps without the requests of a node that could not know that it was paused. The
// report counts those that came too early.
func (f *trial) overlook(report *simweb.Report, requests []simweb.Request) {
	if f.blind == nil || report.TooSoon+report.Overlaps == 0 {
		return
	}
	last := map[string]simweb.Request{}
	overlooked, soon, overlaps, smallest := 0, 0, 0, time.Duration(-1)
	for _, r := range requests {
		if f.blind(r) {
			overlooked++
			continue
		}
		if before, ok := last[r.Host]; ok {
			gap := r.Start.Sub(before.End)
			if smallest < 0 || gap < smallest {
				smallest, report.GapHost = gap, r.Host
			}
			switch {
			case gap < 0:
				overlaps++
			case gap < f.delay:
				soon++
			}
		}
		last[r.Host] = r
	}
	if overlooked == 0 {
		return
	}
	f.Logf("%d requests came from a node that could not know yet; with them %d came too soon "+
		"and %d overlapped, without %d and %d",
		overlooked, report.TooSoon, report.Overlaps, soon, overlaps)
	report.TooSoon, report.Overlaps, report.SmallestGap = soon, overlaps, smallest
	f.f.gap = smallest
}

// aware excludes from the repeats the answers to a node that could not know that it was paused.
// Others had already completed such a page, or fetch it again because the results of that node are
// not accepted.
func (f *trial) aware(found []repeated) []repeated {
	if f.blind == nil {
		return found
	}
	var left []repeated
	for _, r := range found {
		r.answers = slices.DeleteFunc(slices.Clone(r.answers), f.blind)
		if len(r.answers) > 1 {
			left = append(left, r)
		}
	}
	return left
}
