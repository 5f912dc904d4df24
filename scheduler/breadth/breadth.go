package breadth

import "sync/atomic"

const (
	// busyProcess and busyMachine are the shares of the processors, used by this process and by all,
	// from which more fetches would only wait for a processor. They are below what counts as the
	// bottleneck: the shares are means of five seconds, in which the number grows.
	busyProcess, busyMachine = 0.70, 0.90
	// littleProcess is the share below which this process has not got its part of a machine that
	// others keep busy: they may well give way to it.
	littleProcess = 0.35
	// growLooks is how many looks are between two steps up: the shares must show what the last step
	// did.
	growLooks = 2
	// shrinkLooks is how many looks in a row less than half must be in use before a step down.
	shrinkLooks = 10
	// fetchBytes is what a fetch may keep in memory before its payload is spooled. All together take
	// at most a quarter of --memory.
	fetchBytes = 256 << 10
	// most is beyond what two hundred milliseconds a page and the processors of one machine can use.
	most = 4096
	// baseFiles are open beside connections to hosts, as `doctor` counts: the store and the peers.
	baseFiles = 512
	// otherFiles are open beside the fetches: kept connections, and baseFiles.
	otherFiles = 1024 + baseFiles
	// keptBytes is the part of --memory for a kept connection. One with TLS has some 35 KB of buffers.
	keptBytes = 256 << 10
)

// Most is the largest number for a node with so much --memory, which may open so many files (0:
// unknown). It is not below fetchers, the number at the start.
func Most(fetchers int, memory int64, files uint64) int {
	n := min(memory/4/fetchBytes, most)
	if files > 0 {
		n = min(n, int64(min(files, 1<<20))-otherFiles)
	}
	return max(int(n), fetchers)
}

// keptWith is how many idle connections are kept for the next page of their hosts: four for each
// fetcher that a node begins with, and up to 16 as memory and files allow. With more hosts under
// way than that, the connection that is closed is the one that is needed next, and each page makes
// one anew. most are the fetchers that there may be.
func keptWith(fetchers, most int, memory int64, files uint64) int {
	n := max(4*fetchers, min(16*fetchers, int(memory/keptBytes)))
	if files > 0 {
		n = min(n, int(min(files, 1<<20))-baseFiles-most)
	}
	return max(n, fetchers)
}

// Load is what a node does at a moment.
type Load struct {
	Busy         int     // fetches under way
	Ready        int64   // hosts that could be fetched from now
	CPU, Machine float64 // shares of the processors in use: by this process, by all; 0: unknown
}

// free reports whether processors are free for more fetches.
func (l *Load) free() bool {
	return l.CPU < littleProcess || l.CPU < busyProcess && l.Machine < busyMachine
}

// Breadth is the number of fetches at a time. New makes it.
type Breadth struct {
	now         atomic.Int64
	least, most int
	kept        int
	grew, idle  int // looks since the last step up, and in a row with little to do
}

// New makes a Breadth that begins with the least number. With most no larger it stays there.
func New(least, most int) *Breadth {
	b := &Breadth{least: least, most: max(most, least)}
	b.now.Store(int64(least))
	return b
}

// For makes the Breadth of a node: follow says that --fetchers was not given. files returns how
// many files it may open.
func For(fetchers int, follow bool, memory int64, files func() uint64) *Breadth {
	most, open := fetchers, files()
	if follow {
		most = Most(fetchers, memory, open)
	}
	b := New(fetchers, most)
	b.kept = keptWith(fetchers, b.most, memory, open)
	return b
}

// Now is the number of fetches at a time.
func (b *Breadth) Now() int { return int(b.now.Load()) }

// Most is what Now never exceeds.
func (b *Breadth) Most() int { return b.most }

// Kept is how many connections without a fetch are kept at most.
func (b *Breadth) Kept() int { return b.kept }

// Look takes in what the node does now. It is called once a second.
func (b *Breadth) Look(l Load) {
	now := b.Now()
	b.grew++
	if b.idle++; 2*l.Busy >= now {
		b.idle = 0
	}
	next := now
	switch {
	case b.grew >= growLooks && 16*l.Busy >= 15*now && l.Ready > 0 && l.free():
		next, b.grew = min(now+max(now/4, 1), b.most), 0
	case b.idle >= shrinkLooks:
		next, b.idle = max(now-now/8, b.least), 0
	}
	b.now.Store(int64(next))
}
