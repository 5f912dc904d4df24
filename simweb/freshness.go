package simweb

import (
	"iter"
	"math"
	"slices"
	"time"
)

// Visit is one final answer to a request for a page, in a web that changes.
type Visit struct {
	At          time.Time // begin of the request; the answer has the page of this time
	Status      int
	Conditional bool // the request had validators
	Bytes       int  // of the payload
	Saved       int  // bytes of the payload that a 304 spared
}

// logged is a Visit in 32 bytes, with the version that the client has after it.
type logged struct {
	at           time.Duration // since Changes.Start
	held         version
	bytes, saved uint32
	status       uint16
	conditional  bool
}

// Conditions counts what a crawler's validators brought.
type Conditions struct {
	Conditional   int   // requests for pages with validators
	NotModified   int   // of these, answers 304
	Unconditional int   // requests without validators for pages whose earlier answer had some
	Bytes, Saved  int64 // of payloads sent, and of those that a 304 spared
	Misled        int   // answers 304 although the page had changed: the host lies
}

// Visits returns the final answers to requests for a page, oldest first; none in a web that does
// not change.
func (w *Web) Visits(url string) []Visit {
	page, ok := w.page(url)
	if !ok || !w.cfg.Changes.on() {
		return nil
	}
	var visits []Visit
	for _, v := range w.judge.visitsOf(w.hostOf(page), page) {
		visits = append(visits, Visit{
			At:          w.cfg.Changes.Start.Add(v.at),
			Status:      int(v.status),
			Conditional: v.conditional,
			Bytes:       int(v.bytes),
			Saved:       int(v.saved),
		})
	}
	return visits
}

// Interval is the mean interval between changes of a page at a time; 0 when it never changes.
func (w *Web) Interval(url string, at time.Time) time.Duration {
	page, ok := w.page(url)
	if !ok || !w.changes(page) {
		return 0
	}
	return w.meanInterval(page, at)
}

// Changed returns when a page changes from a time on and before another. Going away and coming back
// are no changes.
func (w *Web) Changed(url string, from, to time.Time) []time.Time {
	page, ok := w.page(url)
	if !ok || !w.changes(page) {
		return nil
	}
	var times []time.Time
	for _, at := range w.changesBetween(page, from.Sub(w.cfg.Changes.Start),
		to.Sub(w.cfg.Changes.Start)) {
		times = append(times, w.cfg.Changes.Start.Add(at))
	}
	return times
}

// Freshness is the mean share of the time from a moment to another in which a crawler's copy of a
// page is what the page then is, over the pages that a correct crawl requests and that can change.
// A page without a copy is not fresh. A copy is what the last final answer had, a 404 or 410
// included; a 304 changes no copy, be it true or not.
func (w *Web) Freshness(from, to time.Time) float64 {
	var sum float64
	n := 0
	for _, fresh := range w.PageFreshness(from, to) {
		sum += fresh
		n++
	}
	return sum / float64(max(n, 1))
}

// PageFreshness yields what Freshness is the mean of.
func (w *Web) PageFreshness(from, to time.Time) iter.Seq2[string, float64] {
	return func(yield func(string, float64) bool) {
		reachable := w.reach()
		for page := range w.pages {
			if !reachable.has(page) || !w.changes(page) {
				continue
			}
			if !yield(w.url(page), w.fresh(page, w.judge.visitsOf(w.hostOf(page), page), from, to)) {
				return
			}
		}
	}
}

// FreshnessIf is the freshness of a page that would be visited at certain times, in order, without
// validators.
func (w *Web) FreshnessIf(url string, visits []time.Time, from, to time.Time) float64 {
	page, ok := w.page(url)
	if !ok || !w.changes(page) {
		return 0
	}
	log := make([]logged, 0, len(visits))
	for _, at := range visits {
		log = append(log, logged{at: at.Sub(w.cfg.Changes.Start), held: w.versionAt(page, at)})
	}
	return w.fresh(page, log, from, to)
}

// changes reports whether a page can change at all: redirects and missing pages do not.
func (w *Web) changes(page uint32) bool {
	return w.cfg.Changes.on() && w.status(page) == 200
}

// fresh is the share of a time in which the version that was last visited is the current one.
func (w *Web) fresh(page uint32, visits []logged, from, to time.Time) float64 {
	begin, end := from.Sub(w.cfg.Changes.Start), to.Sub(w.cfg.Changes.Start)
	if begin >= end {
		return 0
	}
	edges := append(w.changesBetween(page, begin, end), begin, end)
	away, back := w.absence(page)
	for _, at := range [...]time.Duration{away, back} {
		if at > begin && at < end {
			edges = append(edges, at)
		}
	}
	next, held := 0, unknown
	for ; next < len(visits) && visits[next].at <= begin; next++ {
		held = visits[next].held
	}
	for _, v := range visits[next:] {
		if v.at < end {
			edges = append(edges, v.at)
		}
	}
	slices.Sort(edges)
	var sum time.Duration
	for i, at := range edges[:len(edges)-1] {
		for ; next < len(visits) && visits[next].at <= at; next++ {
			held = visits[next].held
		}
		if held == w.versionAt(page, w.cfg.Changes.Start.Add(at)) {
			sum += edges[i+1] - at
		}
	}
	return float64(sum) / float64(end-begin)
}

// changesBetween are the changes of a page from a time on and before another, since Changes.Start.
func (w *Web) changesBetween(page uint32, from, to time.Duration) []time.Duration {
	var all, some []time.Duration
	if from = max(from, 1); from >= to {
		return nil
	}
	for c := w.cellAt(page, from); ; c = w.after(page, c) {
		some = w.appendChanges(some[:0], page, c)
		for _, at := range some {
			if at >= from && at < to {
				all = append(all, at)
			}
		}
		if c.to >= to {
			return all
		}
	}
}

// Conditions returns what the crawler's validators brought so far.
func (w *Web) Conditions() Conditions {
	var c Conditions
	if !w.cfg.Changes.on() {
		return c
	}
	for page := range w.pages {
		w.countConditions(&c, page)
	}
	return c
}

func (w *Web) countConditions(c *Conditions, page uint32) {
	i := w.hostOf(page)
	offered := false
	for _, v := range w.judge.visitsOf(i, page) {
		c.Bytes += int64(v.bytes)
		c.Saved += int64(v.saved)
		if v.conditional {
			c.Conditional++
		} else if offered {
			c.Unconditional++
		}
		if v.status == 304 {
			c.NotModified++
			if v.held != w.versionAt(page, w.cfg.Changes.Start.Add(v.at)) {
				c.Misled++
			}
		}
		if v.status == 200 {
			offered = w.offers(i, page, v)
		}
	}
}

// offers reports whether an answer had a validator.
func (w *Web) offers(hostIndex int, page uint32, v logged) bool {
	says := &w.hosts[hostIndex].says
	_, dated := w.lastModified(says, v.held, w.cfg.Changes.Start.Add(v.at))
	return dated || w.etag(page, says.etags, v.held) != ""
}

// noteLocked notes a final answer to a request for a page, and what the client has after it.
func (j *judge) noteLocked(v *visit) {
	if j.visits == nil {
		return
	}
	l := logged{
		at:          v.start.Sub(j.changing),
		held:        v.held,
		bytes:       saturated(v.bytes),
		saved:       saturated(v.saved),
		status:      uint16(v.status),
		conditional: v.conditional,
	}
	log := &j.visits[v.page]
	if v.status == 304 {
		l.held = unknown
		if n := len(*log); n > 0 {
			l.held = (*log)[n-1].held
		}
	}
	*log = append(*log, l)
}

// forgetLocked takes the note back.
func (j *judge) forgetLocked(v *visit) {
	if j.visits == nil {
		return
	}
	log := &j.visits[v.page]
	at := v.start.Sub(j.changing)
	if i := slices.IndexFunc(*log, func(l logged) bool { return l.at == at }); i >= 0 {
		*log = slices.Delete(*log, i, i+1)
	}
}

// visitsOf is a copy of a page's log.
func (j *judge) visitsOf(hostIndex int, page uint32) []logged {
	if j.visits == nil {
		return nil
	}
	h := &j.hosts[hostIndex]
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(j.visits[page])
}

func saturated(n int) uint32 { return uint32(min(n, math.MaxUint32)) }
