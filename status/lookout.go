package status

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"crawlnode/crawl"
)

// Lookout finds events by comparing the status once a second: events that no single place of this
// node observes. It belongs to one goroutine.
type Lookout struct {
	moving   bool // partitions were moving
	since    time.Time
	troubles map[trouble]crawl.HealthReason
}

// trouble is a reason of the cluster's health, of a node or ("") of the whole cluster.
type trouble struct{ code, node string }

// ownEvents are reasons that are reported by other events, or by none.
var ownEvents = map[string]bool{crawl.ReasonNodeFailed: true, crawl.ReasonTakingOver: true, crawl.ReasonInsecure: true, crawl.ReasonTrap: true}

// Look returns the events between the last status and s, which was made from p.
func (o *Lookout) Look(p *Picture, s *crawl.Status) []crawl.Event {
	var events []crawl.Event
	h := &s.Ring.Handoff
	switch {
	case h.Active && !o.moving:
		o.since = p.Now
		events = append(events, crawl.Event{Time: p.Now, Level: crawl.EventInfo, Code: crawl.EventHandoffBegan,
			Message: fmt.Sprintf("%d partitions are moving to other nodes", h.PartitionsTotal-h.PartitionsDone),
			Fields:  map[string]any{"partitions": h.PartitionsTotal - h.PartitionsDone}})
	case !h.Active && o.moving:
		took := p.Now.Sub(o.since).Seconds()
		events = append(events, crawl.Event{Time: p.Now, Level: crawl.EventInfo, Code: crawl.EventHandoffEnded,
			Message: fmt.Sprintf("every partition is with its owner, after %.0f s", took), Fields: map[string]any{"seconds": took}})
	}
	o.moving = h.Active
	return append(events, o.lookForTrouble(p, s)...)
}

// lookForTrouble compares the reasons with those of the last status.
func (o *Lookout) lookForTrouble(p *Picture, s *crawl.Status) []crawl.Event {
	found := troublesOf(p, s)
	var events []crawl.Event
	for _, t := range sortedTroubles(found) {
		if _, ok := o.troubles[t]; ok {
			continue
		}
		level := crawl.EventWarn
		if Critical(t.code) {
			level = crawl.EventError
		}
		events = append(events, crawl.Event{Time: p.Now, Level: level, Code: crawl.EventTrouble, Message: found[t].Message, Node: t.node,
			Fields: map[string]any{"reason": t.code}})
	}
	for _, t := range sortedTroubles(o.troubles) {
		if _, ok := found[t]; ok {
			continue
		}
		r := o.troubles[t]
		events = append(events, crawl.Event{Time: p.Now, Level: crawl.EventInfo, Code: crawl.EventTroubleOver, Node: t.node,
			Message: "resolved: " + r.Message, Fields: map[string]any{"reason": t.code, "seconds": max(p.Now.Sub(r.Since).Seconds(), 0)}})
	}
	o.troubles = found
	return events
}

// troublesOf are the reasons in s that are reported as events here.
func troublesOf(p *Picture, s *crawl.Status) map[trouble]crawl.HealthReason {
	found, ofNodes := map[trouble]crawl.HealthReason{}, map[string]bool{}
	for i := range p.Nodes {
		n := &p.Nodes[i]
		if !n.Counts || !n.live() {
			continue
		}
		for _, r := range n.Block.Reasons {
			ofNodes[r.Code] = true
			if !ownEvents[r.Code] {
				found[trouble{r.Code, n.title()}] = r
			}
		}
	}
	for _, r := range s.Cluster.Health.Reasons {
		if !ofNodes[r.Code] && !ownEvents[r.Code] {
			found[trouble{r.Code, ""}] = r
		}
	}
	return found
}

func sortedTroubles(m map[trouble]crawl.HealthReason) []trouble {
	return slices.SortedFunc(maps.Keys(m), func(a, b trouble) int { return strings.Compare(a.code+"\x00"+a.node, b.code+"\x00"+b.node) })
}
