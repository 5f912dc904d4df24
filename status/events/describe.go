package events

import (
	"fmt"
	"strings"
	"time"

	"crawlnode/crawl"
	"crawlnode/output/archive"
)

// Member is what a view changed for one member; inFlight fetches are queued again, and held
// partitions it had. Log.View adds the rest.
func Member(code, name string, inFlight int64, held int) crawl.Event {
	e := crawl.Event{Level: crawl.EventInfo, Code: code, Node: name,
		Fields: map[string]any{"fetches_queued_again": inFlight, "partitions_held": held}}
	switch code {
	case crawl.EventJoined:
		e.Message = name + " has joined"
	case crawl.EventDraining:
		e.Message = name + " hands its partitions over and leaves"
	case crawl.EventLeft:
		e.Message = name + " has left"
	case crawl.EventFailed:
		e.Level = crawl.EventWarn
		e.Message = fmt.Sprintf("%s has failed: %d partitions are taken over, %d open fetches are queued again", name, held, inFlight)
	}
	return e
}

// Placed says that a view gives a member another weight or zone. Log.View adds the rest.
func Placed(name string, weight int, zone string) crawl.Event {
	return crawl.Event{Level: crawl.EventInfo, Code: crawl.EventPlaced, Node: name, Fields: map[string]any{"weight": weight, "zone": zone},
		Message: fmt.Sprintf("%s has weight %d and %s from now on: partitions and copies move", name, weight, crawl.ZoneText(zone))}
}

// Served ends a change of members; so many partitions were passed on.
func Served(now time.Time, c crawl.ChangeStatus, passed int) crawl.Event {
	e := crawl.Event{Time: now, Level: crawl.EventInfo, Code: crawl.EventServed, Node: *c.Node,
		Fields: map[string]any{"cause": *c.Cause, "takeover_seconds": *c.TakeoverSeconds, "partitions_passed_on": passed,
			"fetches_queued_again": *c.InflightRequeued, "partitions_lost": *c.PartitionsLost},
		Message: fmt.Sprintf("every partition is served again, %.1f s after %s of %s", *c.TakeoverSeconds, nounOf(*c.Cause), *c.Node)}
	if lost := *c.PartitionsLost; lost > 0 {
		e.Level = crawl.EventError
		e.Message += fmt.Sprintf("; %d partitions were lost", lost)
	}
	return e
}

// nounOf is the cause of a change in a sentence.
func nounOf(cause string) string {
	switch cause {
	case crawl.CauseJoin:
		return "the arrival"
	case crawl.CauseLeave:
		return "the departure"
	}
	return "the failure"
}

// Damage says that part of the store is lost.
func Damage(now time.Time, node string, partitions int) crawl.Event {
	return crawl.Event{Time: now, Level: crawl.EventError, Code: crawl.EventStoreDamaged, Node: node, Fields: map[string]any{"partitions": partitions},
		Message: fmt.Sprintf("part of the store of %s is lost: the best copies there are of %d partitions are used", node, partitions)}
}

// Trap says that a site makes pages without end.
func Trap(now time.Time, node string, t *crawl.TrapStatus) crawl.Event {
	return crawl.Event{Time: now, Level: crawl.EventWarn, Code: crawl.EventTrap, Node: node,
		Fields: map[string]any{"host": t.Host, "exclude": t.Exclude, "example": t.Example,
			"pages": t.Pages, "command": t.Command},
		Message: fmt.Sprintf("%s makes pages without end: %d of %s so far, which say hardly anything new; "+
			"to leave them out: %s", t.Host, t.Pages, t.Exclude, t.Command)}
}

// Repaired says that an archive file was repaired at the start.
func Repaired(now time.Time, node string, r archive.Repair) crawl.Event {
	e := crawl.Event{Time: now, Level: crawl.EventInfo, Code: crawl.EventArchiveRepaired, Node: node,
		Fields:  map[string]any{"file": r.File, "kept_bytes": r.Kept, "cut_bytes": r.Cut, "captures_indexed": r.Captures, "removed": r.Removed},
		Message: r.File + " was not closed, and was repaired"}
	if r.Cut > 0 {
		e.Level = crawl.EventWarn
		e.Message += fmt.Sprintf("; %d bytes of an incomplete record were cut: %s", r.Cut, strings.TrimSpace(r.Reason))
	}
	return e
}
