package node

import (
	"fmt"
	"strings"
	"time"

	"crawlnode/crawl"
	"crawlnode/membership"
	"crawlnode/store/archive"
)

// memberEvent says what a view changed for one member, with what is known of what
// it did. tellMembers adds the rest.
func memberEvent(code, name string, w lastWord) crawl.Event {
	e := crawl.Event{Level: crawl.EventInfo, Code: code, Node: name,
		Fields: map[string]any{"fetches_queued_again": w.inFlight, "partitions_held": w.held}}
	switch code {
	case crawl.EventJoined:
		e.Message = name + " takes part"
	case crawl.EventDraining:
		e.Message = name + " hands its partitions over and leaves"
	case crawl.EventLeft:
		e.Message = name + " has left"
	case crawl.EventFailed:
		e.Level = crawl.EventWarn
		e.Message = fmt.Sprintf("%s has failed: %d partitions are taken over, %d open fetches are queued again", name, w.held, w.inFlight)
	}
	return e
}

// tellMembers adds the events of a view; of the first that this process knows,
// that it takes part itself.
func (n *Node) tellMembers(v *membership.View, events []crawl.Event) {
	if n.events.joinedFirst() {
		events = []crawl.Event{memberEvent(crawl.EventJoined, n.name, lastWord{})}
	}
	for _, e := range events {
		e.Time, e.Fields["view"], e.Fields["members"] = time.Now(), v.Number, len(v.Members)
		n.events.add(e)
	}
}

// servedEvent ends a change of members.
func servedEvent(now time.Time, c crawl.ChangeStatus, passed int) crawl.Event {
	e := crawl.Event{Time: now, Level: crawl.EventInfo, Code: crawl.EventServed, Node: *c.Node,
		Fields: map[string]any{"cause": *c.Cause, "takeover_seconds": *c.TakeoverSeconds, "partitions_passed_on": passed,
			"fetches_queued_again": *c.InflightRequeued, "partitions_lost": *c.PartitionsLost},
		Message: fmt.Sprintf("every partition is served again, %.1f s after %s of %s", *c.TakeoverSeconds, changeNoun(*c.Cause), *c.Node)}
	if lost := *c.PartitionsLost; lost > 0 {
		e.Level = crawl.EventError
		e.Message += fmt.Sprintf("; %d partitions were lost", lost)
	}
	return e
}

// changeNoun is a cause in a sentence.
func changeNoun(cause string) string {
	switch cause {
	case crawl.CauseJoin:
		return "the arrival"
	case crawl.CauseLeave:
		return "the departure"
	}
	return "the failure"
}

// damageEvent says that the store had lost something.
func damageEvent(now time.Time, node string, partitions int) crawl.Event {
	return crawl.Event{Time: now, Level: crawl.EventError, Code: crawl.EventStoreDamaged, Node: node, Fields: map[string]any{"partitions": partitions},
		Message: fmt.Sprintf("part of the store of %s is lost: %d partitions are rebuilt from their other copies", node, partitions)}
}

// repairEvent says that an archive file was repaired at the start.
func repairEvent(now time.Time, node string, r archive.Repair) crawl.Event {
	e := crawl.Event{Time: now, Level: crawl.EventInfo, Code: crawl.EventArchiveRepaired, Node: node,
		Fields:  map[string]any{"file": r.File, "kept_bytes": r.Kept, "cut_bytes": r.Cut, "captures_indexed": r.Captures, "removed": r.Removed},
		Message: r.File + ", which was not closed properly, is whole again"}
	if r.Cut > 0 {
		e.Level = crawl.EventWarn
		e.Message += fmt.Sprintf("; %d bytes of a record that was not whole were cut: %s", r.Cut, strings.TrimSpace(r.Reason))
	}
	return e
}
