package status

import (
	"fmt"
	"strings"

	"crawlnode/crawl"
)

// endWaits says what keeps a running crawl without work from ending; "" while there is
// work. Nothing queued is no end: links may be on their way, and a partition that nobody
// holds may have URLs that nobody counts.
func endWaits(s *crawl.Status, p *Picture) string {
	if s.Crawl.State != crawl.CrawlRunning || s.Frontier.Queued > 0 || s.Frontier.InFlight > 0 || !p.Joined || p.Alone {
		return ""
	}
	r := &s.Ring
	silent := strings.Join(p.silent(), ", ")
	switch missing := r.Partitions - r.Served; {
	case p.Minority:
		return "whether the crawl has ended cannot be told: " + minorityText(p)
	case r.Offline > 0:
		text := fmt.Sprintf("the crawl cannot end, because %d partitions and their URLs are away with every copy that may be used", r.Offline)
		if s.Frontier.Outbox > 0 {
			text += fmt.Sprintf(", and %d links wait for them", s.Frontier.Outbox)
		}
		return text + ": " + whatToStart(p)
	case missing > 0 && silent != "":
		return fmt.Sprintf("the end waits until %d partitions are taken over from members that say nothing: %s", missing, silent)
	case missing > 0:
		return fmt.Sprintf("the end waits until %d partitions have a holder again", missing)
	case silent != "":
		return "the end waits for the word of members that say nothing: " + silent
	case r.Handoff.Active:
		return "the end waits until the partitions that are on their way have arrived"
	case s.Frontier.Outbox > 0:
		return fmt.Sprintf("the end waits until %d links in outboxes have reached the nodes that hold their hosts", s.Frontier.Outbox)
	}
	for i := range p.Nodes {
		if n := &p.Nodes[i]; n.Counts && n.Block.WhyNotIdle != "" {
			return fmt.Sprintf("the end waits for %s: %s", n.title(), n.Block.WhyNotIdle)
		}
	}
	return "the members are asked whether all is done"
}

// fillEnd puts what the end waits for where a person looks.
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
