package crawl

import "time"

// Event is something that happened to the cluster or to a node of it, as the node
// that answers saw it. Events are for people: nothing is decided by them, and a
// node forgets all but the newest.
type Event struct {
	// ID orders the events of one node, from 1, across its restarts. Another
	// node's ids say nothing about it. It stays below 2^53.
	ID      uint64    `json:"id"`
	Time    time.Time `json:"time"`
	Level   string    `json:"level"`   // EventInfo, EventWarn or EventError
	Code    string    `json:"code"`    // stable, for programs: EventJoined...
	Message string    `json:"message"` // one sentence for a person
	// Node is the human name of the node that it is about; "" is the cluster.
	Node string `json:"node"`
	// Fields are the figures of the message: strings, numbers, booleans and lists
	// of strings. Which there are depends on the code.
	Fields map[string]any `json:"fields"`
}

// The levels of an event (Event.Level).
const (
	EventInfo  = "info"
	EventWarn  = "warn"  // somebody may want to look
	EventError = "error" // something does not work until it ends
)

// The codes of events (Event.Code).
const (
	EventJoined   = "node_joined"   // a view lists a node that the one before did not, or a new life of it
	EventDraining = "node_draining" // a node began to hand its partitions over
	EventLeft     = "node_left"     // a node left politely
	EventFailed   = "node_failed"   // the others went on without a node
	// EventServed ends a change of members: every partition is served again.
	EventServed = "partitions_served"

	EventHandoffBegan = "handoff_began" // partitions are on their way to new owners
	EventHandoffEnded = "handoff_ended"

	EventStarted  = "crawl_started"  // with the first seeds, or with new ones after its end
	EventPaused   = "crawl_paused"   // by a person
	EventResumed  = "crawl_resumed"  // by a person
	EventFinished = "crawl_finished" // the reason is in the fields
	EventSettings = "settings_changed"
	EventSeeds    = "seeds_added" // by the node that took them

	EventStoreDamaged    = "store_damaged"    // this node's store had lost something; it is rebuilt from copies
	EventArchiveRepaired = "archive_repaired" // a file that a crash had left open is whole again

	// EventTrouble and EventTroubleOver tell of a reason of the cluster's health
	// (HealthReason.Code, in the field "reason") that came up, and that went away.
	EventTrouble     = "trouble"
	EventTroubleOver = "trouble_over"
)
