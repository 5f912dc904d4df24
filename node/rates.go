package node

import (
	"sync"
	"time"

	"crawlnode/crawl"
	"crawlnode/node/status"
)

// rateSpan is how many one-second samples a rate remembers.
const rateSpan = 60

// rateNow is how many seconds "now" covers.
const rateNow = 5

// rate turns a rising total, sampled once a second, into speeds. A total that falls
// and comes back within rateSpan samples (partitions are taken over, and nobody tells
// of them meanwhile) counts as a pause, and its return as nothing.
type rate struct {
	ring  [rateSpan]int64 // increments
	times [rateSpan]time.Duration
	n     int
	last  int64
	at    time.Time
	low   int // samples below last
	peak  float64
}

func (r *rate) sample(total int64, at time.Time) {
	if !r.at.IsZero() {
		i := r.n % rateSpan
		r.ring[i], r.times[i] = max(total-r.last, 0), at.Sub(r.at)
		r.n++
		r.peak = max(r.peak, r.over(rateNow))
	}
	if r.at = at; total < r.last && r.low < rateSpan {
		r.low++
		return
	}
	r.last, r.low = total, 0
}

// over is the speed over the last k samples.
func (r *rate) over(k int) float64 {
	var sum int64
	var span time.Duration
	for i := max(r.n-k, 0); i < r.n; i++ {
		if r.n-i > rateSpan {
			continue
		}
		sum += r.ring[i%rateSpan]
		span += r.times[i%rateSpan]
	}
	if span <= 0 {
		return 0
	}
	return float64(sum) / span.Seconds()
}

func (r *rate) read() crawl.Rate {
	return crawl.Rate{Now: r.over(rateNow), Avg1m: r.over(rateSpan), Peak: r.peak}
}

// meter samples this node's and the cluster's totals once a second.
type meter struct {
	mu                 sync.Mutex // guards the rest
	pages, bytes       rate       // of this node's own fetches
	allPages, allBytes rate       // of all members, from the last blocks
	moved              rate       // bytes of partitions sent and received
	written, records   rate       // bytes and captures written to this node's archive
	cpu                rate       // microseconds of processors that this process used
	busyTicks          rate       // of all processors, by everybody
	allTicks           rate
	diskWait           rate // microseconds in which acknowledgements waited for the disk
	unsummed           int  // seconds in which the cluster's totals were not known yet
}

// totals are what a meter samples.
type totals struct {
	pages, bytes, allPages, allBytes, moved, written, records int64
	cpu, busyTicks, allTicks, diskWait                        int64
	partial                                                   bool // some partitions are in no total of allPages and allBytes
}

func (m *meter) sample(at time.Time, t totals) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.pages.sample(t.pages, at)
	m.bytes.sample(t.bytes, at)
	m.sampleClusterLocked(at, &t)
	m.moved.sample(t.moved, at)
	m.written.sample(t.written, at)
	m.records.sample(t.records, at)
	m.cpu.sample(t.cpu, at)
	m.busyTicks.sample(t.busyTicks, at)
	m.allTicks.sample(t.allTicks, at)
	m.diskWait.sample(t.diskWait, at)
}

// sampleClusterLocked begins when every partition's counters are there, or would have
// been: after a restart they come within seconds, with the other members' first blocks
// and with what is taken over, and what was fetched long ago is no speed.
func (m *meter) sampleClusterLocked(at time.Time, t *totals) {
	if m.allPages.at.IsZero() && t.partial && m.unsummed < rateSpan {
		m.unsummed++
		return
	}
	m.allPages.sample(t.allPages, at)
	m.allBytes.sample(t.allBytes, at)
}

// strain is how many processors this process keeps busy, the share of all that
// everybody does (0: not known), and the share of the time in which the disk is
// waited for.
func (m *meter) strain() (processors, machine, disk float64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if all := m.allTicks.over(rateNow); all > 0 {
		machine = m.busyTicks.over(rateNow) / all
	}
	return m.cpu.over(rateNow) / 1e6, machine, min(m.diskWait.over(rateNow)/1e6, 1)
}

// archive is how fast this node's archive grows.
func (m *meter) archive() (bytes, records float64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.written.over(rateNow), m.records.over(rateNow)
}

func (m *meter) own() (pages, bytes, moved float64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.pages.over(rateNow), m.bytes.over(rateNow), m.moved.over(rateNow)
}

func (m *meter) cluster() status.Rates {
	m.mu.Lock()
	defer m.mu.Unlock()
	return status.Rates{Pages: m.allPages.read(), Bytes: m.allBytes.read()}
}
