package dispatch

import (
	"time"

	"crawlnode/crawl"
	"crawlnode/web/urlnorm"
)

// This file brings robots fetches (robotsfetches.go) into their hosts' turns. They are
// items of no queue on disk: the loop offers each to its host until a visit takes it, so it
// does not matter when a host leaves memory.

// RobotsFile returns what one request for u brought, made in the turn of its host,
// whose partition p is held here; false: not yet, or it is not held any more. Any
// goroutine; it does not block.
func (d *Dispatcher) RobotsFile(p crawl.Partition, u urlnorm.URL) (crawl.RobotsAnswer, bool) {
	a, begun := d.robots.ask(p, u, time.Now())
	if begun {
		d.signal()
	}
	if a == nil {
		return crawl.RobotsAnswer{}, false
	}
	return *a, true
}

// RobotsDone says what the visit of a robots fetch brought; nil: it was taken back. Once
// per visit, before Settled.
func (d *Dispatcher) RobotsDone(v crawl.Visit, a *crawl.RobotsAnswer) {
	d.robots.end(v.ID, v.Item.URL, a, time.Now())
}

// runRobotsFetches offers what waits to its hosts, and brings those into memory.
func (l *loop) runRobotsFetches(now time.Time) {
	for _, e := range l.d.robots.waiting("", now) {
		h := l.held[e.partition]
		if h == nil || h.frozen || l.core.RobotsFetch(now, e.host, crawl.Item{URL: e.url}) {
			continue
		}
		if _, loading := l.loading[e.host]; !loading && !l.leaving[e.host] && l.room() > 0 {
			l.load(h, e.host)
		}
	}
}

// offerRobotsFetches gives a host that has come into memory its robots fetches.
func (l *loop) offerRobotsFetches(now time.Time, host crawl.Host) {
	for _, e := range l.d.robots.waiting(host, now) {
		l.core.RobotsFetch(now, host, crawl.Item{URL: e.url})
	}
}

// beginRobotsFetch reports whether v is no robots fetch, or one that is wanted still. A fetch
// that is not wanted ends here.
func (l *loop) beginRobotsFetch(now time.Time, v crawl.Visit) bool {
	if v.Item.Via != crawl.ViaRobots || l.d.robots.begin(v.Item.URL, v.ID) {
		return true
	}
	l.core.Release(now, v.ID, crawl.Response{Kind: crawl.Aborted})
	l.core.Completed(now, v.ID)
	return false
}
