package machine

import (
	"fmt"
	"slices"

	"crawlnode/crawl"
)

// This file is what other packages may read of the machine.

// Standing is how a partition stands on this node.
type Standing struct {
	State State
	// Attempt names the running freeze or token; events of older ones are ignored.
	Attempt uint64
	// Set is the recorded in-sync set as far as it is known here. It must not be changed.
	Set Set
	// Sure: a set of this tenure was recorded since this process has the partition.
	Sure bool
	// Recording: a newer set is being recorded.
	Recording bool
	// Full: the recorded set has as many living members as factor and cluster allow.
	Full bool
	// Lone: factor and cluster allow no copy but this node's.
	Lone bool
	// Single: this node's copy is the only one that is known to have all that was
	// acknowledged, although factor and cluster allow another.
	Single bool
	// Reason is why an Absent partition that this node owns is not here; "" when
	// that is not known. Away: a node must come back, or be forgotten.
	Reason string
	Away   bool
}

// Held reports whether this node has something to keep or to pass on.
func (s Standing) Held() bool { return s.State != Absent }

// Standing tells how a partition stands.
func (m *Machine) Standing(p crawl.Partition) Standing {
	x := &m.parts[p]
	return Standing{
		State: x.state, Attempt: x.attempt, Set: x.set, Sure: x.sure, Recording: x.proposed != nil,
		Full: x.held() && m.isFull(x), Lone: m.isLone(), Single: x.held() && m.isSingle(x),
		Reason: x.offline, Away: x.away,
	}
}

// Ownership is what this node answers to a member that asks about a partition. unsealed:
// it was released to a node that is no member any more, so the release must be sealed on
// the disk before this node answers that it holds nothing.
func (m *Machine) Ownership(p crawl.Partition) (holds, unsealed bool) {
	x := &m.parts[p]
	return x.held(), x.state == Released && !m.member(x.to)
}

// View is the number of the view that the machine has installed.
func (m *Machine) View() crawl.Epoch { return m.view }

// Listed reports whether that view lists this node's boot.
func (m *Machine) Listed() bool { return m.listed }

// Owner is the owner of a partition by the table; "" while no node may hold anything.
func (m *Machine) Owner(p crawl.Partition) crawl.NodeID { return m.ownerOf(p) }

// Past returns the views that the machine remembers.
func (m *Machine) Past() []PastView { return slices.Clone(m.past) }

// Lost counts the partitions whose last copies were forgotten.
func (m *Machine) Lost() int { return m.lost }

// UnansweredRounds is the number of consecutive rounds of questions about partitions without a
// holder.
func (m *Machine) UnansweredRounds() int { return m.ask.rounds }

// Waits reports whether something waits for a next Retry. It is about the last event, and only a
// Retry makes it false: what any other event has changed is for the next Retry to look at. While it
// is false, a Retry orders nothing but a sweep, each SweepEvery.
func (m *Machine) Waits() bool { return m.waiting }

// Describe shows all that the machine knows of a partition in one line, for logs.
func (m *Machine) Describe(p crawl.Partition) string {
	x := &m.parts[p]
	s := fmt.Sprintf("%v set %v proposed %v sure %v needCopy %v to %s notUntil %d offline %q links",
		x.state, x.set, x.proposed, x.sure, x.needCopy, x.to, x.notUntil, x.offline)
	for _, id := range x.linked() {
		s += fmt.Sprintf(" %s %d (%d)", id, x.links[id].state, x.links[id].attempt)
	}
	return s
}

// PartStatus is a partition that this node holds, is passing on, or should hold
// by the table.
type PartStatus struct {
	P     crawl.Partition
	State State
	Epoch crawl.Epoch // of the tenure; 0 when Absent
	// InSync is the newest recorded set that is known here, sorted; while a change
	// of it is being recorded, the set before. nil: none is known.
	InSync []crawl.NodeID
	// Away: an Absent partition cannot be had until a node comes back or
	// is forgotten; Reason, why it is not here. "": nothing is known against it.
	Away   bool
	Reason string
}

func (m *Machine) onListAsked(e ListAsked) {
	var out []PartStatus
	for i := range m.parts {
		p, x := crawl.Partition(i), &m.parts[i]
		if !x.held() && m.ownerOf(p) != m.self {
			continue
		}
		out = append(out, PartStatus{
			P:      p,
			State:  x.state,
			Epoch:  x.epoch,
			InSync: slices.Clone(x.set.Members),
			Away:   x.away,
			Reason: x.offline,
		})
	}
	m.do(TellList{Parts: out, Reply: e.Reply})
}

// Check holds the machine's own books against its states. Tests call it after
// each step.
func (m *Machine) Check() error {
	out := 0
	for i := range m.parts {
		p := &m.parts[i]
		if p.running {
			out++
		}
		switch {
		case p.state == Freezing && !p.running:
			return fmt.Errorf("partition %d is freezing and nothing runs", i)
		case p.running && p.state != Freezing && p.state != Released:
			return fmt.Errorf("a move of partition %d runs, which is %v", i, p.state)
		case p.state == Absent && (len(p.links) > 0 || p.proposed != nil):
			return fmt.Errorf("partition %d is not here and has links %v, a proposal %v", i, p.linked(),
				p.proposed)
		case p.proposed != nil && !p.proposed.Newer(p.set):
			return fmt.Errorf("partition %d: %v is proposed over %v", i, *p.proposed, p.set)
		}
	}
	if out != m.out || out > m.limits.Out {
		return fmt.Errorf("the machine counts %d moves, its states say %d, the limit is %d", m.out, out,
			m.limits.Out)
	}
	return nil
}
