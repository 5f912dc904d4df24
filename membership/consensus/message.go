package consensus

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"

	"crawlnode/crawl"
)

// Ballot orders the proposals for one view number: by round, then by proposer.
// The zero Ballot is below all others.
type Ballot struct {
	Round uint64       `json:"round"` // from 1
	Node  crawl.NodeID `json:"node"`  // who proposes
}

func (b Ballot) compare(other Ballot) int {
	return cmp.Or(cmp.Compare(b.Round, other.Round), cmp.Compare(b.Node, other.Node))
}

// Kind says what a Message is.
type Kind string

// The kinds of message. The first five are single-decree Paxos for view
// Number+1 among the members of view Number (Lamport, "Paxos Made Simple",
// 2001, section 2.2); the last three bring all nodes to the newest view and show that a
// node is not silent.
const (
	KindPrepare  Kind = "prepare"  // proposer: asks for a promise of Ballot
	KindPromise  Kind = "promise"  // acceptor: yes; Accepted and View are what it accepted before
	KindAccept   Kind = "accept"   // proposer: accept View under Ballot
	KindAccepted Kind = "accepted" // acceptor: done
	KindNack     Kind = "nack"     // acceptor: Ballot is too low, Accepted is what it promised
	KindDecided  Kind = "decided"  // View is decided; a receiver that is behind installs it
	KindHello    Kind = "hello"    // the sender's newest view is Number; always answered
	KindHere     Kind = "here"     // the same, in answer to a hello by a node with the same view, and to a decided view
)

// Message is sent from one core to another. It may be lost, duplicated, delayed and
// reordered.
type Message struct {
	Kind    Kind         `json:"kind"`
	Cluster ClusterID    `json:"cluster"` // "" from a node that has not joined yet
	From    crawl.NodeID `json:"from"`
	Boot    crawl.Boot   `json:"boot"` // the sender's
	To      crawl.NodeID `json:"to"`
	// Number is the view that the sender has installed; 0 for none.
	Number   crawl.Epoch `json:"number"`
	Ballot   Ballot      `json:"ballot,omitzero"`
	Accepted Ballot      `json:"accepted,omitzero"`
	View     *View       `json:"view,omitempty"`
	// Delta tells the view of an accept or a decided message instead of View, to a boot that reads
	// deltas.
	Delta *Delta `json:"delta,omitempty"`
	// ReadsDeltas says that the sender does. Earlier releases do not.
	ReadsDeltas bool `json:"deltas,omitempty"`
	// Forgotten are the ids of the sender's forget requests that its view does not bar
	// yet, sorted.
	Forgotten []crawl.NodeID `json:"forgotten,omitempty"`
	// Silent are the nodes that the sender of a promise finds silent, sorted.
	Silent []crawl.NodeID `json:"silent,omitempty"`
	// Mark is the mark of the process that answers a hello of its own id.
	Mark string `json:"mark,omitempty"`
	// Digest names the sender's view; only sent with the quorum off, where two
	// views may have one number.
	Digest string `json:"digest,omitempty"`
}

// Bounds of a payload, which carries one or several messages.
const (
	maxPayloadBytes    = 1 << 20
	maxPayloadMessages = 64
	maxDigestBytes     = 16
)

// ErrPayload is returned for bytes from a peer that are no messages.
var ErrPayload = errors.New("membership: a peer sent something that is no membership message")

// Encode makes a payload: a JSON array of messages.
func Encode(ms []Message) []byte {
	out, err := json.Marshal(ms)
	if err != nil {
		panic("BUG: a message cannot be encoded: " + err.Error())
	}
	return out
}

// Decode reads a payload and checks everything that does not depend on the receiver's
// state. An empty payload holds no messages.
func Decode(payload []byte) ([]Message, error) {
	if len(payload) == 0 {
		return nil, nil
	}
	if len(payload) > maxPayloadBytes {
		return nil, fmt.Errorf("%w: %d bytes, at most %d are read", ErrPayload, len(payload), maxPayloadBytes)
	}
	var ms []Message
	if err := json.Unmarshal(payload, &ms); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrPayload, err)
	}
	if len(ms) > maxPayloadMessages {
		return nil, fmt.Errorf("%w: %d messages at once, at most %d are read", ErrPayload, len(ms), maxPayloadMessages)
	}
	for i := range ms {
		if err := ms[i].validate(); err != nil {
			return nil, fmt.Errorf("%w: %s: %w", ErrPayload, ms[i].Kind, err)
		}
	}
	return ms, nil
}

func (m *Message) validate() error {
	if err := errors.Join(ValidateID(m.From), ValidateID(m.To), ValidateIDs(m.Forgotten), ValidateIDs(m.Silent), ValidateText("digest", m.Digest, maxDigestBytes)); err != nil {
		return err
	}
	if m.Boot < 1 || m.Boot > MaxNumber {
		return fmt.Errorf("boot %d is out of range", m.Boot)
	}
	if m.Cluster != "" {
		if err := m.Cluster.Validate(); err != nil {
			return err
		}
	}
	if m.Number > MaxNumber || m.Ballot.Round > MaxNumber || m.Accepted.Round > MaxNumber {
		return errors.New("a number is out of range")
	}
	wantView, wantBallot := false, true
	switch m.Kind {
	case KindPrepare, KindAccepted, KindNack:
	case KindPromise:
		wantView = m.Accepted != Ballot{}
	case KindAccept:
		wantView = true
	case KindDecided:
		wantView, wantBallot = true, false
	case KindHello, KindHere:
		wantBallot = false
	default:
		return fmt.Errorf("unknown kind %q", m.Kind)
	}
	if wantBallot && (m.Ballot.Round == 0 || ValidateID(m.Ballot.Node) != nil) {
		return errors.New("no ballot")
	}
	if m.Delta != nil {
		if m.View != nil || m.Kind != KindAccept && m.Kind != KindDecided {
			return errors.New("the change of a view is superfluous")
		}
		return m.Delta.validate()
	}
	if wantView != (m.View != nil) {
		return errors.New("a view is missing or superfluous")
	}
	if m.View == nil {
		return nil
	}
	if m.View.Cluster.ID != m.Cluster {
		return errors.New("the view is of another cluster than the message")
	}
	return m.View.Validate()
}
