package scheduler

import (
	"sync"
	"time"

	"crawlnode/crawl"
	"crawlnode/scheduler/shares"
	"crawlnode/web/urlnorm"
)

// A robots fetch is one request to a host held here for a file to which another host's robots.txt
// redirects. It waits in memory for the host's turn and keeps its answer for a while, so that all
// requests for the same file share one fetch. If the process ends, callers ask again.

const (
	// maxRobotsFetches bounds the waiting and fetched files; further callers are told to ask again.
	maxRobotsFetches = 1024
	// maxHostFetches bounds the files of one host, so that a slow host does not take all places.
	maxHostFetches = 16
	// maxDomainFetches bounds the files of one registered domain once half of all places are taken:
	// an eighth of them, as in package shares.
	maxDomainFetches = maxRobotsFetches / 8
	// maxRobotsBytes bounds the size of the fetched files.
	maxRobotsBytes = 16 << 20
	// robotsPatience is how long a file is wanted after the last request for it.
	robotsPatience = 30 * time.Second
	// robotsLife is how long an answer is reused; robotsFailedLife applies when the server failed:
	// the callers count that against their own hosts and wait.
	robotsLife       = 10 * time.Minute
	robotsFailedLife = 3 * time.Second
)

// robotsFetch is one file. The lock of robotsFetches guards it.
type robotsFetch struct {
	partition crawl.Partition
	host      crawl.Host
	domain    string // its registered domain
	url       urlnorm.URL
	wanted    time.Time // last request for it
	visit     uint64    // the visit that fetches it now; 0: none
	answer    *crawl.RobotsAnswer
	until     time.Time // expiry of the answer
}

// robotsFetches is the table of one dispatcher. Its methods may be called from any goroutine.
type robotsFetches struct {
	mu       sync.Mutex // guards all below
	byURL    map[urlnorm.URL]*robotsFetch
	byHost   map[crawl.Host]int // number of files per host
	byDomain map[string]int
	fresh    bool // there is a new one since the loop's last check
	bytes    int  // of the answers' bodies
}

// ask returns the answer for u, or starts its fetch. begun says that the loop must check the table.
func (e *robotsFetches) ask(
	p crawl.Partition,
	u urlnorm.URL,
	now time.Time,
) (a *crawl.RobotsAnswer, begun bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	r := e.byURL[u]
	if r != nil && r.answer != nil && now.After(r.until) {
		e.removeLocked(r)
		r = nil
	}
	if r == nil {
		r = &robotsFetch{
			partition: p,
			host:      crawl.Host(u.Host()),
			domain:    shares.Domain(u.Host()),
			url:       u,
		}
		if !e.roomLocked(now, r) {
			return nil, false
		}
		if e.byURL == nil {
			e.byURL, e.byHost, e.byDomain = make(map[urlnorm.URL]*robotsFetch), make(map[crawl.Host]int),
				make(map[string]int)
		}
		e.byURL[u] = r
		e.byHost[r.host]++
		e.byDomain[r.domain]++
		e.fresh, begun = true, true
	}
	r.wanted = now
	return r.answer, begun
}

// roomLocked reports whether there is a place for r, or makes one, within the bounds of its host,
// its domain and the table.
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

// makeRoomLocked drops an unwanted file, or else the oldest answer, among those that mayGo allows.
// False: there is none.
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

// Waiting returns the fetches that no visit has started, those of one host or, for "", of all.
// Unwanted ones are dropped.
func (e *robotsFetches) Waiting(host crawl.Host, now time.Time) []Errand {
	e.mu.Lock()
	defer e.mu.Unlock()
	if host == "" {
		e.fresh = false
	} else if e.byHost[host] == 0 {
		return nil
	}
	var out []Errand
	for _, r := range e.byURL {
		switch {
		case r.answer != nil || r.visit != 0 || host != "" && r.host != host:
		case now.Sub(r.wanted) > robotsPatience:
			e.removeLocked(r)
		default:
			out = append(out, Errand{Partition: r.partition, Host: r.host, URL: r.url})
		}
	}
	return out
}

// Wants reports whether a file of the host is to be fetched.
func (e *robotsFetches) Wants(host crawl.Host) bool {
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

// News reports whether a file was requested since the last call of Waiting for all.
func (e *robotsFetches) News() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.fresh
}

// Begin notes that a visit fetches u. False: u is no longer wanted.
func (e *robotsFetches) Begin(u urlnorm.URL, visit uint64) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	r := e.byURL[u]
	if r == nil || r.answer != nil || r.visit != 0 {
		return false
	}
	r.visit = visit
	return true
}

// Ended notes the result of a visit.
func (e *robotsFetches) Ended(v *crawl.Visit, o *crawl.Outcome) {
	var a *crawl.RobotsAnswer
	if o != nil && o.Kind != crawl.Aborted {
		if a = o.Answer; a == nil { // no request was made
			a = &crawl.RobotsAnswer{At: o.FetchedAt, Failure: o.Reason}
		}
	}
	e.end(v.ID, v.Item.URL, a, time.Now())
}

// end notes that a visit is over. Without an answer the fetch waits for another visit.
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

// dropLargestLocked drops the largest answer except keep's.
func (e *robotsFetches) dropLargestLocked(keep *robotsFetch) {
	var largest *robotsFetch
	for _, r := range e.byURL {
		if r != keep && r.answer != nil &&
			(largest == nil || len(r.answer.Body) > len(largest.answer.Body)) {
			largest = r
		}
	}
	if largest == nil {
		largest = keep
	}
	e.removeLocked(largest)
}
