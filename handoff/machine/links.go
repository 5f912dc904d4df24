package machine

import (
	"maps"
	"slices"

	"crawlnode/crawl"
)

// linkState is how far a replica is.
type linkState uint8

const (
	opening   linkState = iota // what does it have?
	copying                    // a snapshot is on its way; its copy counts no more
	following                  // it has the copy and follows; it must acknowledge from here on
	up                         // it also has all that was acknowledged before
)

// link is one replica in the making, or made.
type link struct {
	attempt uint64
	state   linkState
}

// linked lists the nodes with links, in order.
func (p *part) linked() []crawl.NodeID { return slices.Sorted(maps.Keys(p.links)) }

func (p *part) isUp(id crawl.NodeID) bool {
	l := p.links[id]
	return l != nil && l.state == up
}

// targets are the nodes that should have a copy of what is held here: the
// table's replicas, and its owner.
func (m *Machine) targets(i crawl.Partition) []crawl.NodeID {
	if m.table == nil {
		return nil
	}
	ts := make([]crawl.NodeID, 0, 3)
	if owner := m.table.Owner(i); owner != m.self {
		ts = append(ts, owner)
	}
	for _, id := range m.table.Replicas(i) {
		if id != m.self {
			ts = append(ts, id)
		}
	}
	return ts
}

// tend brings links and in-sync set of a held partition in line with table and
// members. It does nothing when they are.
func (m *Machine) tend(i crawl.Partition, p *part) {
	if !p.held() || m.view == 0 || !m.listed {
		return
	}
	targets := m.targets(i)
	m.tendLinks(i, p, targets)
	if p.state == Released {
		return
	}
	m.tendSet(i, p, targets)
	m.tellAcks(i, p)
	p.atRest = p.proposed == nil && m.complete(p, targets)
}

func (m *Machine) tendLinks(i crawl.Partition, p *part, targets []crawl.NodeID) {
	for _, id := range p.linked() {
		if !m.member(id) || p.state != Released && !slices.Contains(targets, id) && !p.inSets(id) {
			m.closeLink(i, p, id)
		}
	}
	if p.state == Released {
		if p.needCopy && p.links[p.to] == nil && m.member(p.to) && !m.backingOff(p.to) {
			m.openLink(p, OpenLink{P: i, Node: p.to})
		}
		return
	}
	for _, id := range targets {
		if p.links[id] == nil && !m.backingOff(id) {
			m.openLink(p, OpenLink{P: i, Node: id})
		}
	}
	// After a restart the members of the recorded set are looked at again, also
	// those that the table does not name any more.
	for _, id := range p.set.Members {
		if id != m.self && p.links[id] == nil && m.member(id) && !m.backingOff(id) &&
			p.proposed == nil && !m.complete(p, targets) {
			m.openLink(p, OpenLink{P: i, Node: id})
		}
	}
}

// inSets reports whether a node's copy counts, by the recorded set or the one
// that is being recorded.
func (p *part) inSets(id crawl.NodeID) bool {
	return slices.Contains(p.set.Members, id) ||
		p.proposed != nil && slices.Contains(p.proposed.Members, id)
}

// complete reports whether every target is in the recorded set and follows: then
// no other copy is needed.
func (m *Machine) complete(p *part, targets []crawl.NodeID) bool {
	for _, id := range targets {
		if !slices.Contains(p.set.Members, id) || !p.isUp(id) {
			return false
		}
	}
	return true
}

// tendSet proposes a new in-sync set when the recorded one is not what the links
// say. A member whose link is being opened stays: it has all that was
// acknowledged. One that must be copied anew leaves, so that no caller waits for it.
func (m *Machine) tendSet(i crawl.Partition, p *part, targets []crawl.NodeID) {
	if p.proposed != nil {
		return
	}
	complete := m.complete(p, targets)
	want := []crawl.NodeID{m.self}
	for _, id := range p.linked() {
		l := p.links[id]
		target := slices.Contains(targets, id)
		inSet := slices.Contains(p.set.Members, id)
		if l.state == copying || l.state != up && !inSet || !target && complete {
			continue
		}
		want = append(want, id)
	}
	slices.Sort(want)
	// The set on the disk may be a proposal that no other node knows.
	if p.sure && slices.Equal(want, p.set.Members) {
		return
	}
	m.propose(i, p, want)
}

func (m *Machine) propose(i crawl.Partition, p *part, members []crawl.NodeID) {
	last := p.set
	if p.proposed != nil {
		last = *p.proposed
	}
	next := Set{Epoch: p.epoch, Version: versionIn(m.view, 0), Members: members}
	if last.Epoch == p.epoch {
		next.Version = versionIn(m.view, last.Version)
	}
	p.proposed = &next
	m.do(Record{P: i, Set: next})
}

// proposeAgain lets more than half of a newer view know the set, not only of the
// one before. A release is not recorded anew: its receiver, or the owner that asks, does that.
func (m *Machine) proposeAgain(i crawl.Partition, p *part) {
	switch {
	case p.state == Released:
	case p.proposed != nil:
		m.propose(i, p, p.proposed.Members)
	case p.sure:
		m.propose(i, p, p.set.Members)
	}
}

// onRecorded makes the proposed set the recorded one, and drops the copies of
// those that left it and are not wanted.
func (m *Machine) onRecorded(e Recorded) {
	p := &m.parts[e.P]
	if !p.held() || p.proposed == nil || p.proposed.Epoch != e.Epoch ||
		p.proposed.Version != e.Version {
		return
	}
	before := p.set.Members
	p.set, p.proposed, p.sure = *p.proposed, nil, true
	if p.state == Released {
		return
	}
	targets := m.targets(e.P)
	for _, id := range before {
		if id == m.self || slices.Contains(p.set.Members, id) || slices.Contains(targets, id) ||
			!m.member(id) {
			continue
		}
		m.closeLink(e.P, p, id)
		if m.leaves(id) {
			continue // when it returns, its copy goes on from where it is
		}
		m.attempt++
		m.do(DropCopy{P: e.P, Node: id, Epoch: p.epoch, Attempt: m.attempt})
	}
	m.tend(e.P, p)
	m.fill()
}

// tellAcks tells which nodes must acknowledge, when that has changed: those of the
// recorded set, of the one that is being recorded, and all that follow. The
// last, so that a replica that enters the set lacks nothing that was
// acknowledged while it was on its way.
func (m *Machine) tellAcks(i crawl.Partition, p *part) {
	need := slices.Clone(p.set.Members)
	if p.proposed != nil {
		need = append(need, p.proposed.Members...)
	}
	for id, l := range p.links {
		if l.state >= following {
			need = append(need, id)
		}
	}
	slices.Sort(need)
	need = slices.DeleteFunc(slices.Compact(need), func(id crawl.NodeID) bool { return id == m.self })
	full, unsure := m.isFull(p), !p.sure
	if p.acksTold && full == p.full && unsure == p.unsure && slices.Equal(need, p.acks) {
		return
	}
	p.acks, p.full, p.unsure, p.acksTold = need, full, unsure, true
	m.do(SetAcks{P: i, Epoch: p.epoch, Nodes: need, Full: full, Unsure: unsure})
}

// isFull reports whether the recorded set has as many living members as factor
// and cluster allow.
func (m *Machine) isFull(p *part) bool {
	return p.sure && m.copies(p) >= min(m.factor, m.active)
}

// isSingle reports whether this node's copy is the only one that is known to have all
// that was acknowledged, although factor and cluster allow another.
func (m *Machine) isSingle(p *part) bool {
	return m.copies(p) <= 1 && !m.isLone()
}

// isLone reports whether factor and cluster allow no copy but this node's.
func (m *Machine) isLone() bool { return min(m.factor, m.active) <= 1 }

// copies counts the living members of the recorded set.
func (m *Machine) copies(p *part) int {
	n := 0
	for _, id := range p.set.Members {
		// A smaller set that is being recorded may be the one that counts after a death.
		if (id == m.self || p.isUp(id)) &&
			(p.proposed == nil || slices.Contains(p.proposed.Members, id)) {
			n++
		}
	}
	return n
}

func (m *Machine) openLink(p *part, a OpenLink) {
	m.attempt++
	a.Attempt, a.Epoch = m.attempt, p.epoch
	p.links[a.Node] = &link{attempt: m.attempt}
	m.do(a)
}

func (m *Machine) closeLink(i crawl.Partition, p *part, id crawl.NodeID) {
	if l := p.links[id]; l != nil {
		m.do(CloseLink{P: i, Node: id, Attempt: l.attempt, Leaves: m.leaves(id)})
		delete(p.links, id)
	}
}

// onLink notes how far a replica is.
func (m *Machine) onLink(i crawl.Partition, id crawl.NodeID, attempt uint64, s linkState) {
	p := &m.parts[i]
	l := p.links[id]
	if l == nil || l.attempt != attempt {
		return
	}
	if p.state == Released && s == following {
		s = up // nothing can change any more
	}
	l.state = s
	if s == up {
		delete(m.backoffs, id)
		if p.state == Released && id == p.to {
			p.needCopy = false
		}
	}
	m.tend(i, p)
	if s == following {
		m.do(ConfirmLink{P: i, Node: id, Attempt: attempt})
	}
	m.fill()
}

func (m *Machine) onLinkDown(e LinkDown) {
	p := &m.parts[e.P]
	l := p.links[e.Node]
	if l == nil || l.attempt != e.Attempt {
		return
	}
	delete(p.links, e.Node)
	m.backOff(e.Node)
	if p.state == Freezing && p.to == e.Node {
		m.callOff(e.P, p)
	}
	m.tend(e.P, p)
}

// onLinkAhead: a replica has mutations of this tenure that this node has not, so
// this node's store has lost what it had acknowledged. It yields; the copies
// decide.
func (m *Machine) onLinkAhead(e LinkAhead) {
	p := &m.parts[e.P]
	l := p.links[e.Node]
	if l == nil || l.attempt != e.Attempt || p.state == Released {
		return
	}
	if p.state == Freezing {
		m.callOff(e.P, p)
	}
	m.yield(e.P, p, true)
	m.startAsk()
}
