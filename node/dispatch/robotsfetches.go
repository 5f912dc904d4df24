package dispatch

import (
	"sync"
	"time"

	"crawlnode/crawl"
	"crawlnode/fairshare"
	"crawlnode/web/urlnorm"
)

// A robots fetch is one request of a host held here for a file to which another host's
// robots.txt redirects. It waits in memory for the host's turn and keeps its
// answer for a while, so that all who ask for one file share one request. What is
// lost with the process is asked for again.

const (
	// maxRobotsFetches bounds the files that wait or were fetched; further askers are told
	// to ask again.
	maxRobotsFetches = 1024
	// maxHostFetches bounds those of one host, so that a slow one does not take the
	// places of all others.
	maxHostFetches = 16
	// maxDomainFetches bounds those of one registered domain once half of all places
	// are taken, an eighth of them as fair shares begin.
	maxDomainFetches = maxRobotsFetches / 8
	// maxRobotsBytes bounds the files that were fetched.
	maxRobotsBytes = 16 << 20
	// robotsPatience is how long a file is wanted after the last question for it.
	robotsPatience = 30 * time.Second
	// robotsLife is how long an answer is given again; robotsFailedLife, when the
	// server failed: those who ask count that against their own host and wait.
	robotsLife       = 10 * time.Minute
	robotsFailedLife = 3 * time.Second
)

// robotsFetch is one file. The lock of robotsFetches guards it.
type robotsFetch struct {
	partition crawl.Partition
	host      crawl.Host
	domain    string // its registered domain
	url       urlnorm.URL
	wanted    time.Time // when it was last asked for
	visit     uint64    // that fetches it now; 0: none
	answer    *crawl.RobotsAnswer
	until     time.Time // the answer's end
}

// robotsFetches are those of one dispatcher. Its methods may be called from any goroutine.
type robotsFetches struct {
	mu       sync.Mutex // guards all below
	byURL    map[urlnorm.URL]*robotsFetch
	byHost   map[crawl.Host]int // how many of them
	byDomain map[string]int
	fresh    bool // one was asked for since the loop looked
	bytes    int  // of the answers' bodies
}

// ask returns the answer for u, or has it fetched. begun says that the loop has
// to look.
func (e *robotsFetches) ask(p crawl.Partition, u urlnorm.URL, now time.Time) (a *crawl.RobotsAnswer, begun bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	r := e.byURL[u]
	if r != nil && r.answer != nil && now.After(r.until) {
		e.removeLocked(r)
		r = nil
	}
	if r == nil {
		r = &robotsFetch{partition: p, host: crawl.Host(u.Host()), domain: fairshare.Domain(u.Host()), url: u}
		if !e.roomLocked(now, r) {
			return nil, false
		}
		if e.byURL == nil {
			e.byURL, e.byHost, e.byDomain = make(map[urlnorm.URL]*robotsFetch), make(map[crawl.Host]int), make(map[string]int)
		}
		e.byURL[u] = r
		e.byHost[r.host]++
		e.byDomain[r.domain]++
		e.fresh, begun = true, true
	}
	r.wanted = now
	return r.answer, begun
}

// roomLocked reports whether there is a place for r, or makes one: of its host's, its
// domain's, or all.
func (e *robotsFetches) roomLocked(now time.Time, r *robotsFetch) bool {
	switch {
	case e.byHost[r.host] >= maxHostFetches:
		return e.makeRoomLocked(now, func(o *robotsFetch) bool { return o.host == r.host })
	case len(e.byURL) >= maxRobotsFetches/2 && e.byDomain[r.domain] >= maxDomainFetches:
		return e.makeRoomLocked(now, func(o *robotsFetch) bool { return o.domain == r.domain })
	case len(e.byURL) >= maxRobotsFetches:
		return e.makeRoomLocked(now, func(*robotsFetch) bool { return true })
	}
	return true
}

// makeRoomLocked forgets what nobody needs any more, else the oldest answer, among
// those that may go. False: there is none.
func (e *robotsFetches) makeRoomLocked(now time.Time, mayGo func(*robotsFetch) bool) bool {
	var oldest *robotsFetch
	before := len(e.byURL)
	for _, r := range e.byURL {
		switch {
		case r.visit != 0 || !mayGo(r):
		case now.Sub(r.wanted) > robotsPatience:
			e.removeLocked(r)
		case r.answer != nil && (oldest == nil || r.until.Before(oldest.until)):
			oldest = r
		}
	}
	if len(e.byURL) == before && oldest != nil {
		e.removeLocked(oldest)
	}
	return len(e.byURL) < before
}

func (e *robotsFetches) removeLocked(r *robotsFetch) {
	if r.answer != nil {
		e.bytes -= len(r.answer.Body)
	}
	delete(e.byURL, r.url)
	if e.byHost[r.host]--; e.byHost[r.host] == 0 {
		delete(e.byHost, r.host)
	}
	if e.byDomain[r.domain]--; e.byDomain[r.domain] == 0 {
		delete(e.byDomain, r.domain)
	}
}

// waiting returns the fetches that no visit has begun, those of one host or, for "", of all.
// What nobody asks for any more is forgotten.
func (e *robotsFetches) waiting(host crawl.Host, now time.Time) []robotsFetch {
	e.mu.Lock()
	defer e.mu.Unlock()
	if host == "" {
		e.fresh = false
	} else if e.byHost[host] == 0 {
		return nil
	}
	var out []robotsFetch
	for _, r := range e.byURL {
		switch {
		case r.answer != nil || r.visit != 0 || host != "" && r.host != host:
		case now.Sub(r.wanted) > robotsPatience:
			e.removeLocked(r)
		default:
			out = append(out, *r)
		}
	}
	return out
}

// wants reports whether something is to be fetched of a host.
func (e *robotsFetches) wants(host crawl.Host) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.byHost[host] == 0 {
		return false
	}
	for _, r := range e.byURL {
		if r.host == host && r.answer == nil {
			return true
		}
	}
	return false
}

// news reports whether a file was asked for since waiting looked.
func (e *robotsFetches) news() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.fresh
}

// begin says that a visit fetches u. False: nobody wants it any more.
func (e *robotsFetches) begin(u urlnorm.URL, visit uint64) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	r := e.byURL[u]
	if r == nil || r.answer != nil || r.visit != 0 {
		return false
	}
	r.visit = visit
	return true
}

// end says that a visit is over. Without an answer the fetch waits for another.
func (e *robotsFetches) end(visit uint64, u urlnorm.URL, a *crawl.RobotsAnswer, now time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	r := e.byURL[u]
	if r == nil || r.visit != visit {
		return
	}
	r.visit = 0
	if a == nil || r.answer != nil {
		return
	}
	r.answer, r.until = a, now.Add(robotsLife)
	if a.Status == 0 || a.Status == 429 || a.Status >= 500 {
		r.until = now.Add(robotsFailedLife)
	}
	e.bytes += len(a.Body)
	for e.bytes > maxRobotsBytes {
		e.dropLargestLocked(r)
	}
}

// dropLargestLocked forgets the largest answer but keep's.
func (e *robotsFetches) dropLargestLocked(keep *robotsFetch) {
	var largest *robotsFetch
	for _, r := range e.byURL {
		if r != keep && r.answer != nil && (largest == nil || len(r.answer.Body) > len(largest.answer.Body)) {
			largest = r
		}
	}
	if largest == nil {
		largest = keep
	}
	e.removeLocked(largest)
}
