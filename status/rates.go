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
// within rateSpan samples counts as a pause.
type rate struct {
	ring  [rateSpan]int64 // increments
	times [rateSpan]time.Duration
	n     int
	last  int64
	at    time.Time
	low   int // samples below last
}

// restart forgets the samples so far: what comes is not averaged with them.
func (r *rate) restart() { r.n = 0 }

func (r *rate) sample(total int64, at time.Time) {
	if !r.at.IsZero() {
		i := r.n % rateSpan
		r.ring[i], r.times[i] = max(total-r.last, 0), at.Sub(r.at)
		r.n++
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

// speed remembers a speed that is known at each sample: its mean over that part of the last minute
// in which the crawl ran, and its peak.
type speed struct {
	ring  [rateSpan]float64
	times [rateSpan]time.Duration // 0 where the crawl did not run
	n     int
	at    time.Time
	peak  float64
}

// sample adds the speed now; runs says that the crawl has run since the sample before. average is
// that of the whole crawl, which was reached at some time: so it is no more than the peak,
// although this process may not have run then.
func (s *speed) sample(now, average float64, runs bool, at time.Time) {
	if !s.at.IsZero() {
		i := s.n % rateSpan
		s.ring[i], s.times[i] = now, 0
		if runs {
			s.times[i] = at.Sub(s.at)
		}
		s.n++
	}
	s.at, s.peak = at, max(s.peak, now, average)
}

func (s *speed) read() crawl.Rate {
	var sum, span float64
	for i := range min(s.n, rateSpan) {
		sec := s.times[i].Seconds()
		sum, span = sum+s.ring[i]*sec, span+sec
	}
	r := crawl.Rate{Peak: s.peak}
	if s.n > 0 {
		r.Now = s.ring[(s.n-1)%rateSpan]
	}
	if span > 0 {
		r.Avg1m = sum / span
	}
	return r
}

// Meter samples this node's and the cluster's Totals once a second.
type Meter struct {
	mu                 sync.Mutex // guards the rest
	pages, bytes       rate       // of this node's own fetches
	ownPages, ownBytes speed      // the same, without the time in which the crawl did not run
	allPages, allBytes speed      // of all members: the sum of what each says of itself
	moved              rate       // bytes of partitions sent and received
	written, records   rate       // bytes and captures written to this node's archive
	cpu                rate       // processor microseconds of this process
	busyTicks          rate       // of all processors, by all processes
	allTicks           rate
	diskWait           rate // microseconds in which acknowledgements waited for the disk
	runs               bool // whether the crawl ran at the last sample
}

// Totals are the input of a Meter. The speed of the cluster is the sum of its members' own, and not
// made from the cluster's totals: these fall and leap while partitions change hands.
type Totals struct {
	Pages, Bytes, Moved, Written, Records int64
	CPU, BusyTicks, AllTicks, DiskWait    int64
	Runs                                  bool   // the crawl: it has begun, and is not paused
	Others                                Speeds // of the other members
	Average                               Speeds // of the whole crawl since it began
}

// Speeds are pages and bytes per second.
type Speeds struct{ Pages, Bytes float64 }

// Sample adds the totals of one moment, once a second. Time in which the crawl did not run is not
// counted: neither before its first seed, nor while it was paused.
func (m *Meter) Sample(at time.Time, t Totals) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if t.Runs && !m.runs {
		m.pages.restart()
		m.bytes.restart()
	}
	ran := t.Runs || m.runs // in the second before its end, too
	m.runs = t.Runs
	m.pages.sample(t.Pages, at)
	m.bytes.sample(t.Bytes, at)
	m.ownPages.sample(m.pages.over(rateNow), 0, ran, at)
	m.ownBytes.sample(m.bytes.over(rateNow), 0, ran, at)
	m.allPages.sample(m.pages.over(rateNow)+t.Others.Pages, t.Average.Pages, ran, at)
	m.allBytes.sample(m.bytes.over(rateNow)+t.Others.Bytes, t.Average.Bytes, ran, at)
	m.moved.sample(t.Moved, at)
	m.written.sample(t.Written, at)
	m.records.sample(t.Records, at)
	m.cpu.sample(t.CPU, at)
	m.busyTicks.sample(t.BusyTicks, at)
	m.allTicks.sample(t.AllTicks, at)
	m.diskWait.sample(t.DiskWait, at)
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

// Alone is the speeds of this node, as Cluster is that of all.
func (m *Meter) Alone() Rates {
	m.mu.Lock()
	defer m.mu.Unlock()
	return Rates{Pages: m.ownPages.read(), Bytes: m.ownBytes.read()}
}

// Cluster is the speeds of all members together.
func (m *Meter) Cluster() Rates {
	m.mu.Lock()
	defer m.mu.Unlock()
	return Rates{Pages: m.allPages.read(), Bytes: m.allBytes.read()}
}

// Peaks are the highest speeds of all members together.
func (m *Meter) Peaks() crawl.Peaks {
	m.mu.Lock()
	defer m.mu.Unlock()
	return crawl.Peaks{Pages: m.allPages.peak, Bytes: m.allBytes.peak}
}
