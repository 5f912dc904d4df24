package dispatch

import (
	"time"

	"crawlnode/crawl"
	"crawlnode/web/urlnorm"
)

// This file gives robots fetches (robotsfetches.go) a place in their hosts' turns. They are in no
// queue on disk: the loop offers each to its host until a visit takes it, so a host may leave
// memory at any time.

// RobotsFile returns the result of one request for u, made in the turn of its host, whose partition
// p is held here. False: not yet, or p is no longer held. Any goroutine may call it; it does not
// block.
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

// RobotsDone reports the result of the visit of a robots fetch; nil: it was cancelled. It is called
// once per visit, before Completed.
func (d *Dispatcher) RobotsDone(v crawl.Visit, a *crawl.RobotsAnswer) {
	d.robots.end(v.ID, v.Item.URL, a, time.Now())
}

// runRobotsFetches offers waiting fetches to their hosts, and loads those hosts.
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

// offerRobotsFetches gives a loaded host its robots fetches.
func (l *loop) offerRobotsFetches(now time.Time, host crawl.Host) {
	for _, e := range l.d.robots.waiting(host, now) {
		l.core.RobotsFetch(now, host, crawl.Item{URL: e.url})
	}
}

// beginRobotsFetch reports whether v is not a robots fetch, or one that is still wanted. An
// unwanted fetch ends here.
func (l *loop) beginRobotsFetch(now time.Time, v crawl.Visit) bool {
	if v.Item.Via != crawl.ViaRobots || l.d.robots.begin(v.Item.URL, v.ID) {
		return true
	}
	l.core.Release(now, v.ID, crawl.Response{Kind: crawl.Aborted})
	l.core.Completed(now, v.ID)
	return false
}
