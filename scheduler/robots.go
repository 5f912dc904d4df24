package scheduler

import (
	"time"

	"crawlnode/crawl"
	"crawlnode/web/urlnorm"
)

// This file has the robots fetches (robotsfetches.go) for other goroutines.

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
