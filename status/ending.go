package status

import (
	"fmt"
	"strings"

	"crawlnode/crawl"
)

// endWaits is what prevents a running crawl without work from ending; "" while there is work. An
// empty queue is not the end: links may be on their way, and a partition without a holder may have
// URLs that are not counted.
func endWaits(s *crawl.Status, p *Picture) string {
	if s.Crawl.State != crawl.CrawlRunning || s.Frontier.Queued > 0 || p.strain(s).InFlight > 0 || !p.Joined || p.Alone {
		return ""
	}
	r := &s.Ring
	silent := strings.Join(p.silent(), ", ")
	switch missing := r.Partitions - r.Served; {
	case p.Minority:
		return "it is unknown whether the crawl has ended: " + minorityText(p)
	case r.Offline > 0:
		text := fmt.Sprintf("the crawl cannot end, because %d partitions and their URLs have no usable copy on a reachable node", r.Offline)
		if s.Frontier.Outbox > 0 {
			text += fmt.Sprintf(", and %d links wait for them", s.Frontier.Outbox)
		}
		return text + ": " + whatToStart(p)
	case missing > 0 && silent != "":
		return fmt.Sprintf("the end waits until %d partitions are taken over from silent members: %s", missing, silent)
	case missing > 0:
		return fmt.Sprintf("the end waits until %d partitions have a holder again", missing)
	case silent != "":
		return "the end waits for silent members: " + silent
	case r.Handoff.Active:
		return "the end waits until all moving partitions have arrived"
	case s.Frontier.Outbox > 0:
		return fmt.Sprintf("the end waits until %d links in outboxes have reached the holders of their hosts", s.Frontier.Outbox)
	}
	for i := range p.Nodes {
		if n := &p.Nodes[i]; n.Counts && n.Block.WhyNotIdle != "" {
			return fmt.Sprintf("the end waits for %s: %s", n.title(), n.Block.WhyNotIdle)
		}
	}
	return "the members are asked whether all work is done"
}

// fillEnd puts the reason why the crawl does not end where people look for it.
func fillEnd(s *crawl.Status, p *Picture) {
	why := endWaits(s, p)
	if why == "" {
		return
	}
	s.Crawl.Message = "nothing is queued; " + why
	s.Bottleneck = crawl.BottleneckStatus{Cause: crawl.BottleneckNone, Message: s.Crawl.Message}
	if s.Ring.Offline == 0 && (s.Ring.Served < s.Ring.Partitions || s.Ring.Handoff.Active) {
		s.Bottleneck.Cause = crawl.BottleneckHandoff
	}
}
