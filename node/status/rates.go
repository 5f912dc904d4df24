package status

import (
	"sync"
	"time"

	"crawlnode/crawl"
)

// rateSpan is how many one-second samples a rate keeps.
const rateSpan = 60

// rateNow is how many seconds "now" covers.
const rateNow = 5

// rate turns a rising total, sampled once a second, into speeds. A total that falls and returns
// within rateSpan samples counts as a pause: while partitions are taken over, no node reports them.
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

// Meter samples this node's and the cluster's Totals once a second.
type Meter struct {
	mu                 sync.Mutex // guards the rest
	pages, bytes       rate       // of this node's own fetches
	allPages, allBytes rate       // of all members, from their last blocks
	moved              rate       // bytes of partitions sent and received
	written, records   rate       // bytes and captures written to this node's archive
	cpu                rate       // processor microseconds of this process
	busyTicks          rate       // of all processors, by all processes
	allTicks           rate
	diskWait           rate // microseconds in which acknowledgements waited for the disk
	unsummed           int  // seconds in which the cluster's Totals were not known yet
}

// Totals are the input of a Meter.
type Totals struct {
	Pages, Bytes, AllPages, AllBytes, Moved, Written, Records int64
	CPU, BusyTicks, AllTicks, DiskWait                        int64
	Partial                                                   bool // AllPages and AllBytes lack some partitions
}

// Sample adds the totals of one moment, once a second.
func (m *Meter) Sample(at time.Time, t Totals) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.pages.sample(t.Pages, at)
	m.bytes.sample(t.Bytes, at)
	m.sampleClusterLocked(at, &t)
	m.moved.sample(t.Moved, at)
	m.written.sample(t.Written, at)
	m.records.sample(t.Records, at)
	m.cpu.sample(t.CPU, at)
	m.busyTicks.sample(t.BusyTicks, at)
	m.allTicks.sample(t.AllTicks, at)
	m.diskWait.sample(t.DiskWait, at)
}

// sampleClusterLocked starts when every partition's counters are there, or should be. After a
// restart they arrive within seconds, with the other members' first blocks and with partitions that
// are taken over; pages fetched long ago must not count as speed.
func (m *Meter) sampleClusterLocked(at time.Time, t *Totals) {
	if m.allPages.at.IsZero() && t.Partial && m.unsummed < rateSpan {
		m.unsummed++
		return
	}
	m.allPages.sample(t.AllPages, at)
	m.allBytes.sample(t.AllBytes, at)
}

// Strain is the number of processors that this process uses, the share of all processors in use by
// all processes (0: unknown), and the share of the time in which acknowledgements wait for the
// disk.
func (m *Meter) Strain() (processors, machine, disk float64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if all := m.allTicks.over(rateNow); all > 0 {
		machine = m.busyTicks.over(rateNow) / all
	}
	return m.cpu.over(rateNow) / 1e6, machine, min(m.diskWait.over(rateNow)/1e6, 1)
}

// Archive is how fast this node's archive grows.
func (m *Meter) Archive() (bytes, records float64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.written.over(rateNow), m.records.over(rateNow)
}

// Own is this node's speeds: pages and bytes fetched, bytes of partitions moved, per second.
func (m *Meter) Own() (pages, bytes, moved float64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.pages.over(rateNow), m.bytes.over(rateNow), m.moved.over(rateNow)
}

// Cluster is the speeds of all members together.
func (m *Meter) Cluster() Rates {
	m.mu.Lock()
	defer m.mu.Unlock()
	return Rates{Pages: m.allPages.read(), Bytes: m.allBytes.read()}
}
