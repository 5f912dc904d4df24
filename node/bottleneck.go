package node

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"crawlnode/crawl"
)

// What counts as saturated. Shares are of the last five seconds.
const (
	// ownSaturated is the share of all processors that this process uses.
	ownSaturated = 0.75
	// machineSaturated is the share that everybody uses together; then it is this
	// process's limit if it has at least ownPart, as one of several nodes.
	machineSaturated, ownPart = 0.95, 0.10
	// diskSaturated is the share of the time in which acknowledgements wait for the disk.
	diskSaturated = 0.60
)

// strain is what a node's bottleneck is told from.
type strain struct {
	queued, inFlight int64
	hosts            crawl.HostCounts // in memory, by state
	busy, fetchers   int
	lookups          int     // host names asked for and not answered yet
	dnsDown          bool    // no name server says anything
	cpu, machine     float64 // shares of the processors: this process's, everybody's
	processors       int
	diskWait         float64  // share of the time in which acknowledgements wait for the disk
	syncing          bool     // --sync
	short            []volume // too little space
	leaving, moves   int      // partitions still to be moved, of so many
	paused           string   // why nothing is fetched; "" when something is
}

// bottleneckOf names what holds a node back, with the figure and what would help. It
// asks first what stops everything, then what is used up, and last who is waited for.
func bottleneckOf(s *strain) crawl.BottleneckStatus {
	say := func(cause, format string, args ...any) crawl.BottleneckStatus {
		return crawl.BottleneckStatus{Cause: cause, Message: fmt.Sprintf(format, args...)}
	}
	h := &s.hosts
	computing := s.cpu >= ownSaturated || s.machine >= machineSaturated && s.cpu >= ownPart
	switch {
	case len(s.short) > 0:
		v := s.short[0]
		return say(crawl.BottleneckDisk, "only %d MiB are free at %s: free some space there, it goes on at %d MiB", v.free>>20, v.path, 2*lowDiskBytes>>20)
	case s.queued == 0 && s.inFlight == 0:
		return say(crawl.BottleneckNone, "nothing is queued: more seeds or a wider scope would bring work")
	case s.leaving > 0:
		return say(crawl.BottleneckHandoff, "%d of %d partitions are still on their way to other nodes: it gets faster by itself when they are there", s.leaving, max(s.moves, s.leaving))
	case s.paused != "":
		return say(crawl.BottleneckNone, "nothing is fetched, although %d URLs are queued: %s", s.queued, s.paused)
	case s.diskWait >= diskSaturated && !computing:
		help := "a faster disk for --data-dir would help"
		if s.syncing {
			help += ", or to do without --sync"
		}
		return say(crawl.BottleneckDisk, "the disk is waited for in %.0f %% of the time: %s", 100*s.diskWait, help)
	case computing:
		return say(crawl.BottleneckCPU, "%s: more processors or another machine would help", s.processorsText())
	case s.busy >= s.fetchers && h.Ready > 0:
		return say(crawl.BottleneckFetchers, "all %d fetchers are busy and %d more hosts could be asked: raise --fetchers", s.fetchers, h.Ready)
	case h.Ready == 0 && s.dnsDown:
		return say(crawl.BottleneckDNS, "no name server answers, and none of %d hosts with queued URLs has a known address that may be asked now: look at --dns", h.Waiting+h.Backoff+h.Frozen)
	case h.Ready == 0 && s.lookups > 0 && 2*int64(s.lookups) >= h.Waiting+h.Backoff:
		return say(crawl.BottleneckDNS, "%d host names are being looked up and no other host may be asked now: a faster name server (--dns) would help", s.lookups)
	case h.Ready == 0 && h.OverShare > h.Waiting:
		return say(crawl.BottleneckFetchers, "%d hosts are held back by their domain's share of the fetchers, of which %d of %d are free: more domains would help, and health names those that fail",
			h.OverShare, s.fetchers-min(s.busy, s.fetchers), s.fetchers)
	case h.Ready == 0 && s.queued > s.inFlight:
		return say(crawl.BottleneckPoliteness, "%s: more hosts or a smaller --delay would be faster", waitingText(h))
	case h.Ready > 0:
		return say(crawl.BottleneckCPU, "%d hosts could be asked at once and %d of %d fetchers are free, while %s: more processors would help",
			h.Ready, s.fetchers-min(s.busy, s.fetchers), s.fetchers, s.processorsText())
	}
	return say(crawl.BottleneckNone, "the fetchers keep up with what is queued: %d of %d are busy", min(s.busy, s.fetchers), s.fetchers)
}

func (s *strain) processorsText() string {
	text := fmt.Sprintf("this process keeps %d processors busy to %.0f %%", s.processors, 100*s.cpu)
	if s.machine > 0 {
		text += fmt.Sprintf(" (the whole machine: %.0f %%)", 100*s.machine)
	}
	return text
}

// waitingText says what the hosts with queued URLs wait for.
func waitingText(h *crawl.HostCounts) string {
	text := fmt.Sprintf("%d hosts with queued URLs wait for their delay, %d are being asked", h.Waiting, h.InFlight)
	if h.Waiting == 1 {
		text = fmt.Sprintf("one host with queued URLs waits for its delay, %d are being asked", h.InFlight)
	}
	if h.OverShare > 0 {
		text += fmt.Sprintf(", %d are held back by their domain's share", h.OverShare)
	}
	if away := h.Backoff + h.Frozen; away > 0 {
		text += fmt.Sprintf(", %d rest after errors", away)
	}
	return text
}

// bottleneck reads the strain off this node and its block.
func (n *Node) bottleneck(b *crawl.NodeBlock) crawl.BottleneckStatus {
	s := strain{queued: b.Counters.QueuedTotal(), inFlight: b.InFlight, hosts: b.Hosts, busy: *b.Node.Fetchers.Busy, fetchers: *b.Node.Fetchers.Max,
		processors: runtime.GOMAXPROCS(0), syncing: n.cfg.Sync, short: n.disk.short(), paused: n.pausedReason(b.NoLease)}
	s.cpu, s.machine, s.diskWait = n.meter.strain()
	s.cpu /= float64(s.processors)
	s.dnsDown = slices.ContainsFunc(b.Reasons, func(r crawl.HealthReason) bool { return r.Code == crawl.ReasonDNSDown })
	if b.Handoff.Active {
		s.moves, s.leaving = b.Handoff.PartitionsTotal, max(b.Handoff.PartitionsTotal-b.Handoff.PartitionsDone, 1)
	}
	if e := n.engine.Load(); e != nil {
		s.lookups = e.dispatcher.Lookups()
	}
	return bottleneckOf(&s)
}

// processorTime is the processors' time that was used so far: by this process in
// microseconds, and by everybody and in all in ticks; 0 where the system does not tell.
func processorTime() (own, busy, all int64) {
	var r syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &r) == nil {
		own = (r.Utime.Nano() + r.Stime.Nano()) / 1000
	}
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return own, 0, 0
	}
	busy, all = parseProcStat(string(text))
	return own, busy, all
}

// parseProcStat reads the first line of /proc/stat, the sum over all processors.
func parseProcStat(text string) (busy, all int64) {
	const idle, wait, guests = 3, 4, 8 // fields behind "cpu"; guests are counted among the users
	line, _, _ := strings.Cut(text, "\n")
	fields := strings.Fields(line)
	if len(fields) < 5 || fields[0] != "cpu" {
		return 0, 0
	}
	for i, f := range fields[1:min(len(fields), guests+1)] {
		var v int64
		if _, err := fmt.Sscan(f, &v); err != nil {
			return 0, 0
		}
		all += v
		if i != idle && i != wait {
			busy += v
		}
	}
	return busy, all
}
