package crawl

import "time"

// Event is something that happened to the cluster or to a node, as the answering node saw it.
// Events are for people: no decision depends on them, and a node keeps only the newest.
type Event struct {
	// ID orders the events of one node, from 1, across its restarts. Ids of different nodes are
	// unrelated. It stays below 2^53.
	ID uint64 `json:"id"`
	// UID is the same in each copy of an event, and no other event of any node has it: the id of the
	// node that reports it, '-', and ID. A receiver of webhooks tells repeats by it.
	UID     string    `json:"uid"`
	Time    time.Time `json:"time"`
	Level   string    `json:"level"`   // EventInfo, EventWarn or EventError
	Code    string    `json:"code"`    // stable, for programs: EventJoined...
	Message string    `json:"message"` // one sentence for a person
	// Node is the human name of the node that the event is about; "" is the cluster.
	Node string `json:"node"`
	// Fields are the figures of the message: strings, numbers, booleans and lists of strings. The
	// code determines which ones.
	Fields map[string]any `json:"fields"`
}

// The levels of an event (Event.Level).
const (
	EventInfo  = "info"
	EventWarn  = "warn"  // may need attention
	EventError = "error" // something does not work while it lasts
)

// The codes of events (Event.Code).
const (
	EventJoined   = "node_joined"   // a view lists a new node, or a node with a new boot
	EventPlaced   = "node_placed"   // a view gives a node another weight or zone
	EventDraining = "node_draining" // a node started to hand over its partitions
	EventLeft     = "node_left"     // a node left after a drain
	EventFailed   = "node_failed"   // a node was excluded
	// EventServed ends a change of members: every partition is served again.
	EventServed = "partitions_served"

	EventHandoffBegan = "handoff_began" // partitions started to move to new owners
	EventHandoffEnded = "handoff_ended"

	EventStarted  = "crawl_started"  // with the first seeds, or with new ones after its end
	EventPaused   = "crawl_paused"   // by a person
	EventResumed  = "crawl_resumed"  // by a person
	EventFinished = "crawl_finished" // the reason is in the fields
	EventSettings = "settings_changed"
	EventSeeds    = "seeds_added" // reported by the node that accepted them

	EventTrap = "trap_found" // a site makes pages without end

	// this node's store had lost data; it is rebuilt from copies
	EventStoreDamaged    = "store_damaged"
	EventArchiveRepaired = "archive_repaired" // a file that a crash had left open is repaired

	// EventTrouble and EventTroubleOver report that a reason of the cluster's health
	// (HealthReason.Code, in the field "reason") appeared, and that it disappeared.
	EventTrouble     = "trouble"
	EventTroubleOver = "trouble_over"
)
