package integration

import (
	"fmt"
	"time"

	"crawlnode/simweb"
)

// This file kills nodes while queued URLs are moved to better bands
// (docs/decisions/0220-order-of-the-queue.md).

// forMoves makes a web whose crawl takes so long that links are counted and URLs are moved.
func forMoves(c *simweb.Config) {
	c.Delay = 300 * time.Millisecond
	c.Hosts = min(c.Hosts, 40)
	c.PagesPerHost = 32
}

// moved is how many URLs a node has moved since its start.
func (n *node) moved() int { return int(n.metric("crawlnode_urls_raised_total")) }

// killWhileMoving kills a node that is moving URLs, and starts it again; then one more, for good.
// What was moved is neither lost nor fetched twice.
func killWhileMoving(f *trial) {
	victim := f.c.nodes[0]
	until(f.T, time.Minute, func() string {
		for _, n := range f.c.nodes {
			if n.moved() > victim.moved() {
				victim = n
			}
		}
		if n := victim.moved(); n < 5 {
			return fmt.Sprintf("%s has moved %d URLs after %d pages", victim.name, n, f.web.Progress())
		}
		return ""
	})
	f.Logf("%s has moved %d URLs after %d pages", victim.name, victim.moved(), f.web.Progress())
	f.kill(victim)
	f.wait(0, time.Second)
	f.restart(victim)
	f.whole(time.Minute)
	f.destroy(f.c.nodes[(f.door(victim)+1)%3])
}
