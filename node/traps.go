package node

import (
	"time"

	"crawlnode/crawl"
	"crawlnode/status/events"
	"crawlnode/web/traps"
	"crawlnode/web/urlnorm"
)

// trapWatch passes the pages of this node's hosts to the detector, and reports what it finds.
type trapWatch struct{ node *Node }

// Observe takes a page that was fetched.
func (w trapWatch) Observe(p *traps.Page) {
	n := w.node
	t := n.traps.Observe(time.Now(), p)
	if t == nil || n.doc.Current().Rules.Excludes(p.URL) {
		return
	}
	s := n.trapStatus(t)
	n.events.Add(events.Trap(t.Since, n.name, &s))
	n.log.Warn("a site makes pages without end", "host", t.Host, "pattern", t.Pattern,
		"pages", t.Pages, "example", t.Example)
}

// Contains reports whether a URL belongs to a known trap.
func (w trapWatch) Contains(u urlnorm.URL) bool { return w.node.traps.Contains(u) }

// foundTraps are the traps that the crawl does not exclude, those with the most pages first.
func (n *Node) foundTraps() []crawl.TrapStatus {
	var all []crawl.TrapStatus
	for _, t := range n.traps.Traps(n.doc.Current().Rules) {
		all = append(all, n.trapStatus(&t))
	}
	return all
}

// trapStatus is a trap in the words of the status, with what leaves it out of this crawl.
func (n *Node) trapStatus(t *traps.Trap) crawl.TrapStatus {
	var changes []string
	for _, e := range n.settings().Exclude {
		changes = append(changes, "exclude="+e)
	}
	return crawl.TrapStatus{Host: t.Host, Exclude: t.Pattern, Example: t.Example, Pages: t.Pages,
		Since: t.Since.UTC(), Node: n.name,
		Command: n.cfg.ChangeCommand(append(changes, "exclude="+t.Pattern), n.http.Addr().String())}
}
