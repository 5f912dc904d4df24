package dispatch

import (
	"sync"
	"time"

	"crawlnode/crawl"
	"crawlnode/fairshare"
	"crawlnode/web/urlnorm"
)

// An errand is one request of a host held here for a file to which another host's
// robots.txt redirects. It waits in memory for the host's turn and keeps its
// answer for a while, so that all who ask for one file share one request. What is
// lost with the process is asked for again.

const (
	// maxErrands bounds the files that wait or were fetched; further askers are told
	// to ask again.
	maxErrands = 1024
	// maxHostErrands bounds those of one host, so that a slow one does not take the
	// places of all others.
	maxHostErrands = 16
	// maxDomainErrands bounds those of one registered domain once half of all places
	// are taken, an eighth of them as fair shares begin.
	maxDomainErrands = maxErrands / 8
	// maxErrandBytes bounds the files that were fetched.
	maxErrandBytes = 16 << 20
	// errandPatience is how long a file is wanted after the last question for it.
	errandPatience = 30 * time.Second
	// errandLife is how long an answer is given again; errandFailedLife, when the
	// server failed: those who ask count that against their own host and wait.
	errandLife       = 10 * time.Minute
	errandFailedLife = 3 * time.Second
)

// errand is one file. The errands' lock guards it.
type errand struct {
	partition crawl.Partition
	host      crawl.Host
	domain    string // its registered domain
	url       urlnorm.URL
	wanted    time.Time // when it was last asked for
	visit     uint64    // that fetches it now; 0: none
	answer    *crawl.RobotsAnswer
	until     time.Time // the answer's end
}

// errands are those of one dispatcher. It is asked from any goroutine, for moments.
type errands struct {
	mu       sync.Mutex // guards all below
	byURL    map[urlnorm.URL]*errand
	byHost   map[crawl.Host]int // how many of them
	byDomain map[string]int
	fresh    bool // one was asked for since the loop looked
	bytes    int  // of the answers' bodies
}

// ask returns the answer for u, or has it fetched. begun says that the loop has
// to look.
func (e *errands) ask(p crawl.Partition, u urlnorm.URL, now time.Time) (a *crawl.RobotsAnswer, begun bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	r := e.byURL[u]
	if r != nil && r.answer != nil && now.After(r.until) {
		e.removeLocked(r)
		r = nil
	}
	if r == nil {
		r = &errand{partition: p, host: crawl.Host(u.Host()), domain: fairshare.Domain(u.Host()), url: u}
		if !e.roomLocked(now, r) {
			return nil, false
		}
		if e.byURL == nil {
			e.byURL, e.byHost, e.byDomain = make(map[urlnorm.URL]*errand), make(map[crawl.Host]int), make(map[string]int)
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
func (e *errands) roomLocked(now time.Time, r *errand) bool {
	switch {
	case e.byHost[r.host] >= maxHostErrands:
		return e.makeRoomLocked(now, func(o *errand) bool { return o.host == r.host })
	case len(e.byURL) >= maxErrands/2 && e.byDomain[r.domain] >= maxDomainErrands:
		return e.makeRoomLocked(now, func(o *errand) bool { return o.domain == r.domain })
	case len(e.byURL) >= maxErrands:
		return e.makeRoomLocked(now, func(*errand) bool { return true })
	}
	return true
}

// makeRoomLocked forgets what nobody needs any more, else the oldest answer, among
// those that may go. False: there is none.
func (e *errands) makeRoomLocked(now time.Time, mayGo func(*errand) bool) bool {
	var oldest *errand
	before := len(e.byURL)
	for _, r := range e.byURL {
		switch {
		case r.visit != 0 || !mayGo(r):
		case now.Sub(r.wanted) > errandPatience:
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

func (e *errands) removeLocked(r *errand) {
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

// waiting returns the errands that nothing is done for, those of one host or, for
// "", of all; what nobody asks for any more is forgotten.
func (e *errands) waiting(host crawl.Host, now time.Time) []errand {
	e.mu.Lock()
	defer e.mu.Unlock()
	if host == "" {
		e.fresh = false
	} else if e.byHost[host] == 0 {
		return nil
	}
	var out []errand
	for _, r := range e.byURL {
		switch {
		case r.answer != nil || r.visit != 0 || host != "" && r.host != host:
		case now.Sub(r.wanted) > errandPatience:
			e.removeLocked(r)
		default:
			out = append(out, *r)
		}
	}
	return out
}

// wants reports whether something is to be fetched of a host.
func (e *errands) wants(host crawl.Host) bool {
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

// news reports whether an errand was asked for since waiting looked.
func (e *errands) news() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.fresh
}

// begin says that a visit fetches u. False: nobody wants it any more.
func (e *errands) begin(u urlnorm.URL, visit uint64) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	r := e.byURL[u]
	if r == nil || r.answer != nil || r.visit != 0 {
		return false
	}
	r.visit = visit
	return true
}

// end says that a visit is over. Without an answer the errand waits for another.
func (e *errands) end(visit uint64, u urlnorm.URL, a *crawl.RobotsAnswer, now time.Time) {
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
	r.answer, r.until = a, now.Add(errandLife)
	if a.Status == 0 || a.Status == 429 || a.Status >= 500 {
		r.until = now.Add(errandFailedLife)
	}
	e.bytes += len(a.Body)
	for e.bytes > maxErrandBytes {
		e.dropLargestLocked(r)
	}
}

// dropLargestLocked forgets the largest answer but keep's.
func (e *errands) dropLargestLocked(keep *errand) {
	var largest *errand
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
