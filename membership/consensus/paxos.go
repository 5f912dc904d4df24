package consensus

import (
	"slices"

	"crawlnode/crawl"
)

// This file is single-decree Paxos for view n+1 among the members of view n,
// all roles in one node. A ballot is persisted as promised by its own proposer
// before it is used, so no restart uses one twice. quorum.go counts the votes.

// proposal is one attempt of this node.
type proposal struct {
	ballot   Ballot
	promises map[crawl.NodeID]crawl.Boot // the boot that promised
	accepts  map[crawl.NodeID]crawl.Boot
	silent   map[crawl.NodeID][]crawl.NodeID // which nodes each promising member finds silent, sorted
	started  int                             // tick
	denied   bool                            // a quorum did not support the change
	// best is the highest ballot under which a promising member had accepted a
	// view, and value is that view; once proposed, value is what is proposed.
	best     Ballot
	value    *View
	delta    *Delta // value, told by what it changes in the installed view, once proposed
	proposed bool
}

// prepare starts an attempt with a ballot above all known ones.
func (c *Core) prepare() []Action {
	ballot := Ballot{Round: max(c.state.Promised.Round, c.round) + 1, Node: c.self}
	c.state.Promised = ballot
	c.proposal = &proposal{
		ballot: ballot, started: c.ticks,
		promises: map[crawl.NodeID]crawl.Boot{}, accepts: map[crawl.NodeID]crawl.Boot{}, silent: map[crawl.NodeID][]crawl.NodeID{},
	}
	out := []Action{Persist{c.state}}
	out = append(out, c.toMembers(Message{Kind: KindPrepare, Ballot: ballot})...)
	return append(out, c.promised(c.promise(c.self, ballot))...)
}

// vote handles the messages between members with the same view. A forgotten node has left
// the electorate.
func (c *Core) vote(m Message) []Action {
	if c.IsForgotten(m.From) {
		return nil
	}
	switch m.Kind {
	case KindPrepare:
		return c.onPrepare(m)
	case KindAccept:
		return c.onAccept(m)
	case KindNack:
		c.round = max(c.round, m.Accepted.Round)
		return nil
	}
	if c.proposal == nil || m.Ballot != c.proposal.ballot {
		return nil // an answer to an earlier attempt
	}
	switch m.Kind {
	case KindPromise:
		return c.promised(m)
	case KindAccepted:
		return c.accepted(m.From, m.Boot)
	}
	return nil
}

// onPrepare promises to ignore lower ballots. A repeated prepare is answered again: the
// first answer may be lost.
func (c *Core) onPrepare(m Message) []Action {
	if m.Ballot.compare(c.state.Promised) < 0 {
		return c.refuse(m)
	}
	var out []Action
	if m.Ballot != c.state.Promised {
		c.state.Promised = m.Ballot
		out = append(out, Persist{c.state})
	}
	return append(out, Send{c.promise(m.From, m.Ballot)})
}

// promise is the answer with the view that this node accepted and the nodes that it finds
// silent.
func (c *Core) promise(to crawl.NodeID, ballot Ballot) Message {
	return c.send(to, Message{
		Kind: KindPromise, Ballot: ballot, Accepted: c.state.Accepted, View: c.state.AcceptedView, Silent: c.silent(),
	}).Message
}

func (c *Core) onAccept(m Message) []Action {
	if m.View.Number != c.number()+1 {
		return nil // the proposer has a bug
	}
	if m.Ballot.compare(c.state.Promised) < 0 {
		return c.refuse(m)
	}
	var out []Action
	if m.Ballot != c.state.Accepted {
		c.state.Promised, c.state.Accepted, c.state.AcceptedView = m.Ballot, m.Ballot, m.View
		out = append(out, Persist{c.state})
	}
	return append(out, c.send(m.From, Message{Kind: KindAccepted, Ballot: m.Ballot}))
}

func (c *Core) refuse(m Message) []Action {
	return []Action{c.send(m.From, Message{Kind: KindNack, Ballot: m.Ballot, Accepted: c.state.Promised})}
}

// promised counts a promise. With a quorum of them it proposes the view that may have been
// decided already, or else those of this node's own changes that the voters support. If
// they support none, the attempt stays open for more promises until the next one begins.
func (c *Core) promised(m Message) []Action {
	p := c.proposal
	if p.proposed {
		return nil
	}
	p.promises[m.From], p.silent[m.From] = m.Boot, m.Silent
	if m.View != nil && m.View.Number == c.number()+1 && m.Accepted.compare(p.best) > 0 {
		p.best, p.value = m.Accepted, m.View
	}
	if !c.decides(p.promises) {
		return nil
	}
	// If this node itself has promised a higher ballot meanwhile, its own attempt is
	// over.
	if p.ballot.compare(c.state.Promised) < 0 {
		c.proposal = nil
		return nil
	}
	if p.value == nil {
		p.value = c.agreed(p)
	}
	if p.value == nil {
		if !c.deny(p) {
			c.proposal = nil // no change is wanted any more
		}
		return nil
	}
	p.proposed, p.delta = true, deltaOf(c.state.View, p.value)
	c.state.Accepted, c.state.AcceptedView = p.ballot, p.value
	out := []Action{Persist{c.state}}
	for _, to := range c.state.View.Others(c.self) {
		out = append(out, c.tell(to.ID, Message{Kind: KindAccept, Ballot: p.ballot}, c.state.View, p.value, p.delta))
	}
	return append(out, c.accepted(c.self, c.boot)...)
}

// accepted counts an acceptance. With a quorum of them the view is decided:
// it is installed here and sent to all members of the old view and the new one.
func (c *Core) accepted(from crawl.NodeID, boot crawl.Boot) []Action {
	p := c.proposal
	if !p.proposed {
		return nil
	}
	p.accepts[from] = boot
	if !c.decides(p.accepts) {
		return nil
	}
	old, decided := c.state.View, p.value
	out := c.install(decided)
	c.delta = p.delta
	tell := slices.Concat(old.Members, decided.Members)
	slices.SortStableFunc(tell, compareIDs)
	tell = slices.CompactFunc(tell, func(a, b Member) bool { return a.ID == b.ID })
	for _, m := range tell {
		if m.ID != c.self {
			out = append(out, c.tell(m.ID, Message{Kind: KindDecided}, old, decided, p.delta))
		}
	}
	return out
}

// toMembers addresses a message to every other member.
func (c *Core) toMembers(m Message) []Action {
	var out []Action
	for _, member := range c.state.View.Members {
		if member.ID != c.self {
			out = append(out, c.send(member.ID, m))
		}
	}
	return out
}
