package dispatch

import (
	"time"

	"crawlnode/crawl"
	"crawlnode/web/urlnorm"
)

// This file brings errands (errands.go) into their hosts' turns. They are items
// that stand in no queue on disk: the loop offers each to its host until a visit
// takes it, so it does not matter when a host leaves memory.

// Errand returns what one request for u brought, made in the turn of its host,
// whose partition p is held here; false: not yet, or it is not held any more. Any
// goroutine; it does not block.
func (d *Dispatcher) Errand(p crawl.Partition, u urlnorm.URL) (crawl.RobotsAnswer, bool) {
	a, begun := d.errands.ask(p, u, time.Now())
	if begun {
		d.signal()
	}
	if a == nil {
		return crawl.RobotsAnswer{}, false
	}
	return *a, true
}

// ErrandDone tells what a visit of an errand brought; nil: it was taken back. Once
// per visit, before Settled.
func (d *Dispatcher) ErrandDone(v crawl.Visit, a *crawl.RobotsAnswer) {
	d.errands.end(v.ID, v.Item.URL, a, time.Now())
}

// runErrands offers what waits to its hosts, and brings those into memory.
func (l *loop) runErrands(now time.Time) {
	for _, e := range l.d.errands.waiting("", now) {
		h := l.held[e.partition]
		if h == nil || h.frozen || l.core.Errand(now, e.host, crawl.Item{URL: e.url}) {
			continue
		}
		if _, loading := l.loading[e.host]; !loading && !l.leaving[e.host] && l.room() > 0 {
			l.load(h, e.host)
		}
	}
}

// offerErrands gives a host that has come into memory its errands.
func (l *loop) offerErrands(now time.Time, host crawl.Host) {
	for _, e := range l.d.errands.waiting(host, now) {
		l.core.Errand(now, host, crawl.Item{URL: e.url})
	}
}

// beginErrand reports whether v is no errand, or one that is wanted still. One that
// is not ends here.
func (l *loop) beginErrand(now time.Time, v crawl.Visit) bool {
	if v.Item.Via != crawl.ViaRobots || l.d.errands.begin(v.Item.URL, v.ID) {
		return true
	}
	l.core.Release(now, v.ID, crawl.Response{Kind: crawl.Aborted})
	l.core.Settled(now, v.ID)
	return false
}
