package integration

import (
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"
)

// simJudge stands at the web's side and sees every request. All that it knows of the crawler is
// which node sent a request.
//
//   - I1: while a request to a host is open no other begins, and the next begins at
//     least the delay after the end, whoever asks, across everything that happens. A
//     Crawl-delay counts from the second request after robots.txt on.
//   - I4: at the end every page has been answered (503 is no answer); a second
//     answer needs an excuse, see excused, or a node that could not know that it
//     had stood still.
//   - I7, half of it: nobody calls the crawl ended while a page is missing. That it
//     ends at all is asked of the nodes.
//   - With --ip-delay: requests to one address, whatever host and node, begin at least that far
//     from each other.
//   - robots.txt comes first at each host, and nothing that it forbids is asked for.
type simJudge struct {
	web   *treeWeb
	hosts map[*treeHost]*hostVerdict

	mu      sync.Mutex // guards what follows
	verdict []string   // at most maxVerdicts
	broken  int        // all of them
	pages   int        // distinct answered pages
	spare   int        // of these, on spare hosts
	spaced  time.Duration
	least   time.Duration              // between two visits of a page; 0: there is only one
	last    map[netip.Addr]*simRequest // by address
	blind   []trouble                  // times in which a node cannot know that time has passed
}

const maxVerdicts = 12

// hostVerdict is what happened at one host.
type hostVerdict struct {
	mu   sync.Mutex // guards log; never held together with another lock
	log  []*simRequest
	page map[string]int // requests by path
}

// simRequest is one request as the web saw it.
type simRequest struct {
	path, who  string
	start, end time.Time // end is zero while it is open
	status     int
	asked      int  // requests for this path so far, this one included
	blind      bool // its node could not know that time had passed: nobody is to blame
}

func (r *simRequest) String() string {
	return fmt.Sprintf("%s %s at %s, %d", r.who, r.path, r.start.Format("04:05.000"), r.status)
}

func (r *simRequest) answered() bool {
	return !r.end.IsZero() && r.status != http.StatusServiceUnavailable && r.status != statusGone &&
		r.page()
}

// page reports whether a path is a page, and not a file that a crawler reads for itself.
func (r *simRequest) page() bool { return r.path != "/robots.txt" && r.path != "/sitemap.xml" }

func newSimJudge(w *treeWeb) *simJudge {
	j := &simJudge{web: w, hosts: map[*treeHost]*hostVerdict{}, last: map[netip.Addr]*simRequest{}}
	for _, h := range w.hosts {
		j.hosts[h] = &hostVerdict{page: map[string]int{}}
	}
	return j
}

// blame notes that something is wrong.
func (j *simJudge) blame(format string, args ...any) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.broken++
	if len(j.verdict) < maxVerdicts {
		j.verdict = append(j.verdict, fmt.Sprintf(format, args...))
	}
}

// begin checks and notes the start of a request.
func (j *simJudge) begin(h *treeHost, who, path string) *simRequest {
	now := time.Now()
	blind := j.isBlind(who, now)
	v := j.hosts[h]
	v.mu.Lock()
	v.page[path]++
	r := &simRequest{path: path, who: who, start: now, asked: v.page[path], blind: blind}
	why := v.wrongLocked(h, r)
	before := ""
	if why != "" {
		before = v.tailLocked(4)
	}
	v.log = append(v.log, r)
	v.mu.Unlock()
	if why != "" {
		j.blame("%s: %v: %s; before it: %s", h.name, r, why, before)
	}
	j.judgeAddress(h, r)
	return r
}

// judgeAddress compares a request with the one before at its address.
func (j *simJudge) judgeAddress(h *treeHost, r *simRequest) {
	if r.blind { // its node could not know, and neither could the next one
		return
	}
	j.mu.Lock()
	last := j.last[h.addr]
	j.last[h.addr] = r
	j.mu.Unlock()
	if last == nil || j.spaced == 0 {
		return
	}
	// Times are cut to milliseconds where they travel.
	if gap := r.start.Sub(last.start); gap < j.spaced-time.Millisecond {
		j.blame("%s at %v: %s begins %v after %s, want %v", h.name, h.addr, r, gap, last, j.spaced)
	}
}

// early notes that a machine was paused: from is when, and until when its node could not know of
// it.
func (j *simJudge) early(who string, from, to time.Time) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.blind = slices.DeleteFunc(j.blind,
		func(t trouble) bool { return t.node == who && t.from.Equal(from) })
	j.blind = append(j.blind, trouble{who, from, to})
}

func (j *simJudge) isBlind(who string, now time.Time) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.ContainsFunc(j.blind,
		func(t trouble) bool { return t.node == who && !now.Before(t.from) && now.Before(t.to) })
}

// wrongLocked says what is wrong with a request that begins now.
func (v *hostVerdict) wrongLocked(h *treeHost, r *simRequest) string {
	var last time.Time
	gap, sinceRobots := simGap, 0
	for _, old := range v.log {
		if sinceRobots++; old.path == "/robots.txt" {
			sinceRobots = 0
		}
		if old.blind {
			continue
		}
		if old.end.IsZero() {
			if r.blind {
				continue // its node could not know
			}
			return "I1: another request is open"
		}
		if old.end.After(last) {
			last = old.end
		}
	}
	if sinceRobots > 0 && r.path != "/robots.txt" {
		gap = max(gap, h.delay-time.Millisecond)
	}
	_, known := h.page(r.path)
	switch {
	case r.blind:
	case !last.IsZero() && r.start.Sub(last) < gap:
		return fmt.Sprintf("I1: %v after the last one", r.start.Sub(last))
	case r.path != "/robots.txt" && v.page["/robots.txt"] == 0:
		return "robots.txt was not asked for before"
	case strings.HasPrefix(r.path, "/private/"):
		return "robots.txt forbids it"
	case !known && r.page():
		return "nothing leads there"
	}
	return ""
}

// tailLocked shows the last requests.
func (v *hostVerdict) tailLocked(n int) string {
	var lines []string
	for _, r := range v.log[max(0, len(v.log)-n):] {
		lines = append(lines, r.String())
	}
	return strings.Join(lines, "; ")
}

// end notes that the answer is about to leave.
func (j *simJudge) end(h *treeHost, r *simRequest, status int) {
	v := j.hosts[h]
	v.mu.Lock()
	first := !slices.ContainsFunc(v.log,
		func(o *simRequest) bool { return o != r && o.path == r.path && o.answered() })
	r.end, r.status = time.Now(), status
	// its client closed the connection, and this host hears of it as late as its link may be
	if status == statusGone {
		r.end = r.end.Add(-webLink.Jitter)
	}
	first = first && r.answered()
	v.mu.Unlock()
	j.mu.Lock()
	defer j.mu.Unlock()
	if first {
		j.pages++
		if h.spare {
			j.spare++
		}
	}
}

// progress is the number of pages answered so far.
func (j *simJudge) progress() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.pages
}

// unfetched is how many pages are still to come without any further seed.
func (j *simJudge) unfetched() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.web.size() - j.web.spareSize() - (j.pages - j.spare)
}

// incomplete lists the hosts of which pages are still to come without any further
// seed.
func (j *simJudge) incomplete() []string {
	var names []string
	for _, h := range j.web.hosts {
		v := j.hosts[h]
		v.mu.Lock()
		done := map[string]bool{}
		for _, r := range v.log {
			if r.answered() {
				done[r.path] = true
			}
		}
		v.mu.Unlock()
		if !h.spare && len(done) < len(h.pages) {
			names = append(names, h.name)
		}
	}
	return names
}

// trouble is a time in which a node's completions may get lost.
type trouble struct {
	node     string
	from, to time.Time
}

const (
	// uncopied is how long before a fault an answered page may still be without a
	// completion that survives it: a fetch, its links' acknowledgements (500 ms), a
	// commit, and the second within which completions are copied or synced.
	uncopied = 2500 * time.Millisecond
	// leftover is how long after a cut or a stop has begun or ended a node may still
	// fetch what others fetch again: its lease.
	leftover = 10 * time.Second
	// copyAgain is how long a partition that has lost a replica may take until another
	// one has everything, in the simulated clusters.
	copyAgain = 30 * time.Second
)

// freezeGrace is how long an open request may go on when its partition moves. One
// that is answered at the moment when it is given up is asked again.
const freezeGrace = 300 * time.Millisecond

// during reports whether r was answered in the trouble or in the time after it, or so
// shortly before that its completion was not copied yet.
func (t *trouble) during(r *simRequest, after time.Duration) bool {
	return !r.end.Before(t.from.Add(-uncopied)) && !r.start.After(t.to.Add(after))
}

// excused reports whether r may have been asked again. Its completion may have been
// lost: its node was in trouble when r ended or soon after; or another was, which may
// have been the replica, and r's own node got into trouble before there was another
// copy. Or r was given up: it was so slow that a move may have ended it, or its node
// lost its lease for a while, because others were in trouble.
func excused(r, again *simRequest, troubles []trouble) bool {
	if r.end.Sub(r.start) >= freezeGrace-50*time.Millisecond {
		return true
	}
	for _, t := range troubles {
		switch {
		case t.node == r.who:
			if t.during(r, 0) {
				return true
			}
		case again.who == r.who && t.during(r, leftover):
			return true
		case t.during(r, copyAgain) && slices.ContainsFunc(troubles, func(own trouble) bool {
			return own.node == r.who && !own.from.Before(r.end) && own.from.Before(t.to.Add(copyAgain))
		}):
			return true
		}
	}
	return false
}

// coverage judges the end: what is missing, and what came twice without excuse.
// It returns how many answers were repeats.
func (j *simJudge) coverage(troubles []trouble) (repeats int) {
	missing := 0
	for _, h := range j.web.hosts {
		v := j.hosts[h]
		v.mu.Lock()
		last := map[string]*simRequest{}
		var lines []string
		for _, r := range v.log {
			if old := last[r.path]; old != nil && r.answered() {
				if !j.due(old, r) {
					repeats++
				}
				if !r.blind && !j.due(old, r) && !excused(old, r, troubles) {
					lines = append(lines, fmt.Sprintf("I4: %s: %v: fetched again: %v", h.name, old, r))
				}
			}
			if r.answered() {
				last[r.path] = r
			}
		}
		for i := range h.pages {
			if last[treePath(i)] == nil {
				missing++
				lines = append(lines, fmt.Sprintf("I4: %s%s was never fetched; the host's last requests: %s",
					h.name, treePath(i), v.tailLocked(3)))
				break // the rest of the host hangs on it
			}
		}
		v.mu.Unlock()
		for _, line := range lines {
			j.blame("%s", line)
		}
	}
	if missing > 0 {
		j.blame("I4: %d of %d hosts are incomplete: %d of %d pages were fetched", missing,
			len(j.web.hosts), j.progress(), j.web.size())
	}
	return repeats
}

// verdicts returns what was found wrong so far.
func (j *simJudge) verdicts() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	lines := slices.Clone(j.verdict)
	if more := j.broken - len(lines); more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", more))
	}
	return lines
}
