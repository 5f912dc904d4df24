package simweb

import (
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// class is the purpose of a request.
type class uint8

const (
	classPage class = iota
	classRobots
	classSitemap
	classUnknown // a path that nothing links to
)

// visit is one request, for the judge.
type visit struct {
	host       int
	class      class
	page       uint32 // with classPage
	forbidden  bool   // by robots.txt
	delay      time.Duration
	crawlDelay time.Duration // of the host, when its robots.txt names one
	url        string        // path and query
	who        string
	start, end time.Time
	status     int
	// In a web that changes: what the page is at the start, whether the request was conditional, and
	// the payload's bytes, sent or spared.
	held         version
	conditional  bool
	bytes, saved int
}

// isFinal reports whether a URL with this status leaves the queue: 429 and 503 ask to
// come again.
func isFinal(status int) bool { return status != 429 && status != 503 }

// judge notes what the server saw. A host's lock also guards its pages'
// counters, so requests to different hosts do not meet.
type judge struct {
	hosts    []hostLog
	asked    []uint8      // by page: requests; stays at 255
	answered []uint8      // by page: final answers; stays at 255
	distinct atomic.Int64 // pages with an answer
	visits   [][]logged   // by page; nil in a web that does not change
	changing time.Time    // Changes.Start

	mu       sync.Mutex // guards what follows
	unknown  int
	examples []string // of unknown URLs, at most maxExamples
}

// hostLog is the judge's record of one host. Its lock is never held across I/O.
type hostLog struct {
	mu          sync.Mutex
	open        int           // requests begun and not ended
	ended       bool          // lastEnd is set
	lastEnd     time.Time     // of the request that ended last
	sinceRobots int           // requests begun since robots.txt was last asked for
	robots      int           // final answers of robots.txt
	requests    int           // all
	smallest    time.Duration // gap from an end to the next start; none yet: MaxInt64
	overlaps    int           // requests begun while another was open
	tooSoon     int           // gaps below the promised delay
	forbidden   int           // requests that robots.txt forbids
	lateRobots  int           // pages asked for before any robots.txt
	who         []string      // clients, in the order of their first request
}

func newJudge(hosts int, pages uint32) *judge {
	j := &judge{
		hosts:    make([]hostLog, hosts),
		asked:    make([]uint8, pages),
		answered: make([]uint8, pages),
	}
	for i := range j.hosts {
		j.hosts[i].smallest = math.MaxInt64
	}
	return j
}

// begin notes the start of v and returns how often its page has been asked for,
// this time included.
func (j *judge) begin(v *visit) (asked int) {
	h := &j.hosts[v.host]
	h.mu.Lock()
	defer h.mu.Unlock()
	h.requests++
	h.judgeGapLocked(v)
	h.open++
	h.sinceRobots++
	if v.who != "" && !slices.Contains(h.who, v.who) {
		h.who = append(h.who, v.who)
	}
	switch v.class {
	case classRobots:
		h.sinceRobots = 0
	case classPage:
		if v.forbidden {
			h.forbidden++
		}
		if h.robots == 0 {
			h.lateRobots++
		}
		return raise(j.asked, v.page)
	}
	return 0
}

// judgeGapLocked compares v's start with the end before it. A Crawl-delay
// counts from the second request after robots.txt on.
func (h *hostLog) judgeGapLocked(v *visit) {
	if h.open > 0 {
		h.overlaps++
		return
	}
	if !h.ended {
		return
	}
	gap := v.start.Sub(h.lastEnd)
	h.smallest = min(h.smallest, gap)
	promised := v.delay
	if h.sinceRobots > 0 && v.class != classRobots {
		promised = max(promised, v.crawlDelay)
	}
	if gap < promised {
		h.tooSoon++
	}
}

// end notes that the last bytes of v's answer are about to be sent.
func (j *judge) end(v *visit) {
	h := &j.hosts[v.host]
	h.mu.Lock()
	defer h.mu.Unlock()
	h.open--
	h.ended, h.lastEnd = true, v.end
	if v.class == classRobots && isFinal(v.status) {
		h.robots++
	}
	if v.class == classPage && isFinal(v.status) {
		j.noteLocked(v)
		if raise(j.answered, v.page) == 1 {
			j.distinct.Add(1)
		}
	}
}

// unsent takes back an answer that the client did not wait for.
func (j *judge) unsent(v *visit) {
	h := &j.hosts[v.host]
	h.mu.Lock()
	defer h.mu.Unlock()
	if v.class != classPage || !isFinal(v.status) {
		return
	}
	j.forgetLocked(v)
	if j.answered[v.page] < math.MaxUint8 {
		j.answered[v.page]--
		if j.answered[v.page] == 0 {
			j.distinct.Add(-1)
		}
	}
}

// strange notes a URL that this web does not have.
func (j *judge) strange(url string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.unknown++
	if len(j.examples) < maxExamples {
		j.examples = append(j.examples, url)
	}
}

// raise counts in one byte, up to 255.
func raise(counts []uint8, page uint32) int {
	if counts[page] < math.MaxUint8 {
		counts[page]++
	}
	return int(counts[page])
}
