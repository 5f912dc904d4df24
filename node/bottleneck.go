package node

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"crawlnode/crawl"
	"crawlnode/node/status"
)

// bottleneck reads the strain off this node and its block.
func (n *Node) bottleneck(b *crawl.NodeBlock) crawl.BottleneckStatus {
	s := status.Strain{Queued: b.Counters.QueuedTotal(), InFlight: b.InFlight, Hosts: b.Hosts, Busy: *b.Node.Fetchers.Busy, Fetchers: *b.Node.Fetchers.Max,
		Processors: runtime.GOMAXPROCS(0), Syncing: n.cfg.Sync, GoesOn: 2 * lowDiskBytes, Paused: n.pausedReason(b.NoLease)}
	for _, v := range n.disk.short() {
		s.Short = append(s.Short, status.Volume{Path: v.path, Free: v.free})
	}
	s.CPU, s.Machine, s.DiskWait = n.meter.Strain()
	s.CPU /= float64(s.Processors)
	s.DNSDown = slices.ContainsFunc(b.Reasons, func(r crawl.HealthReason) bool { return r.Code == crawl.ReasonDNSDown })
	if b.Handoff.Active {
		s.Moves, s.Leaving = b.Handoff.PartitionsTotal, max(b.Handoff.PartitionsTotal-b.Handoff.PartitionsDone, 1)
	}
	if e := n.engine.Load(); e != nil {
		s.Lookups = e.dispatcher.Lookups()
	}
	return status.BottleneckOf(&s)
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
