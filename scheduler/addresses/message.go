package addresses

import (
	"net/netip"
	"time"

	"crawlnode/crawl"
)

// The times of turns. All nodes of a cluster must have the same: a new keeper waits for the
// turns of the one before.
const (
	// Validity is how long a turn lasts after the sending of the ask for it.
	Validity = 4 * time.Second
	// Slack is how much longer the keeper counts a turn, beside a twentieth: a request
	// needs time from its last check to the server.
	Slack = 500 * time.Millisecond
	// Length is how long a node that makes requests keeps its turn while others wait.
	Length = 2 * time.Second
	// MaxLength is how long the keeper extends a turn while others wait: a connection may
	// take its time.
	MaxLength = 15 * time.Second
	// Unused is how long a turn is kept in which no visit was handed out, while others wait.
	Unused = time.Second
	// Every is the interval of Tick.
	Every = 200 * time.Millisecond

	// askAgain is how often a node repeats an ask.
	askAgain = 500 * time.Millisecond
	// pause is how long nobody asks a keeper again that gives no turn to anybody.
	pause = 2 * time.Second
	// stale is how old the last ask of a waiting node may be when it gets the turn.
	stale = 2 * time.Second
	// ahead is how long before its first request a turn may be given.
	ahead = time.Second
	// slowAnswer is how long after the start of a request its address is given back without its
	// end being known.
	slowAnswer = 2 * time.Second
	// maxRest bounds what a message may ask for, if the gap is not longer.
	maxRest = time.Hour
	// maxQueued bounds the messages that wait for one node.
	maxQueued = 1 << 16
	// maxWaiting bounds the nodes that wait for one address.
	maxWaiting = 4096
	// MaxKept bounds the addresses that a node keeps.
	MaxKept = 1 << 17
)

// Member is a process of the cluster.
type Member struct {
	ID   crawl.NodeID
	Boot crawl.Boot
}

// Kind says what a message is.
type Kind uint8

// The kinds of message.
const (
	// Ask is an asker's: it needs the turn, or goes on needing it.
	Ask Kind = 1 + iota
	// Return is an asker's: its turn is over.
	Return
	// Grant is a keeper's: it is the asker's turn.
	Grant
	// Wait is a keeper's: it has heard, and it is not the asker's turn.
	Wait
	// Call is a keeper's to whose turn it is: others wait.
	Call
)

// Message is what askers and keepers tell each other.
type Message struct {
	Kind Kind
	Addr netip.Addr
	// Stamp is the asker's clock at the sending of an Ask or a Return, and in a Grant or Wait that of
	// the Ask which it answers. No two stamps of an asker are equal.
	Stamp time.Duration
	// Rest is how long after the receipt of a Grant or a Return no request may start, and after that
	// of a Wait no ask is of use.
	Rest time.Duration
	// Tenure numbers the time for which the keeper has kept the address. In an Ask it is a
	// claim: the asker's turn lasts, and it had this number before it asked.
	Tenure uint64
	// Others says, in a Grant, that other nodes wait.
	Others bool
}

// longer is what a duration of another clock may be by one's own: clocks run within a twentieth
// of each other.
func longer(d time.Duration) time.Duration { return d + d/20 }
