package node

import (
	"context"
	"fmt"
	"strings"
	"time"

	"crawlnode/crawl"
	"crawlnode/membership"
	"crawlnode/node/heartbeat"
)

// This file is who waits for the exchange: seeds for a majority, orders for every member,
// a node that has started for what the others have, links for what this node lacks.

const (
	// silence makes a member one that nobody waits for, as in the status.
	silence = 2 * heartbeat.Every
	// stragglers is how long seeds wait, once a majority has their scope entries, for
	// members that answer and do not have them yet. Who is told later than this has been
	// silent, or hears nobody itself and judges nothing (heardLately).
	stragglers = silence
	// judgePatience bounds how long links wait to be judged. Then they are put aside: a
	// member that has what is missing and does not send it has fallen silent.
	judgePatience = silence
)

// changes returns a channel that is closed when the next call has ended.
func (s *spreader) changes() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.moved
}

// without names the other members that do not have what is wanted, and of these those
// that still answer.
func (s *spreader) without(w *wanted) (all, answering []membership.Member) {
	members, view := s.node.others(), s.node.viewNumber()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range members {
		c := s.peers[m.ID]
		if c != nil && c.told.has(w, view) {
			continue
		}
		all = append(all, m)
		if (c == nil || c.failed.IsZero()) && s.node.peers.SilentFor(m.ID, time.Now()) < silence {
			answering = append(answering, m)
		}
	}
	return all, answering
}

// reach returns when more than half of the members, this node among them, have what
// is here now, and no longer than stragglers later. A member that is silent is not
// waited for; it hears before it gets a lease again, since who grants it that is one
// of a majority as well.
func (s *spreader) reach(ctx context.Context) error {
	w := s.all()
	var late <-chan time.Time
	for {
		changed := s.changes()
		missing, answering := s.without(w)
		members := len(s.node.others()) + 1
		enough, done := toldEnough(members, len(missing), len(answering))
		switch {
		case done:
			return nil
		case enough && late == nil:
			late = time.After(stragglers)
		}
		s.soon()
		select {
		case <-ctx.Done():
			return fmt.Errorf("scope and settings are on %d of %d members, more than half are needed; silent or late: %s",
				members-len(missing), members, namesOf(missing))
		case <-changed:
		case <-time.After(spreadRest): // the view may have changed, or a member have fallen silent
		case <-late:
			return nil
		}
	}
}

func namesOf(members []membership.Member) string {
	var names []string
	for _, m := range members {
		names = append(names, m.Name)
	}
	return strings.Join(names, ", ")
}

// tell sends the document to every other member until each has it or ctx ends, and
// returns those that have not.
func (s *spreader) tell(ctx context.Context) []membership.Member {
	w := &wanted{document: s.node.doc.Current().Doc}
	for {
		changed := s.changes()
		missing, _ := s.without(w)
		if len(missing) == 0 {
			return nil
		}
		s.soon()
		select {
		case <-ctx.Done():
			return missing
		case <-changed:
		case <-time.After(spreadRest): // the view may have changed
		}
	}
}

// hearAll asks the other members what they have, until so many have told it whole
// that each entry which a majority has is among that. A node that is alone has all
// there is. False: ctx has ended.
func (s *spreader) hearAll(ctx context.Context) bool {
	s.mu.Lock()
	for id, c := range s.peers {
		c.heard = false
		s.askLocked(id)
	}
	s.mu.Unlock()
	for {
		changed := s.changes()
		if s.heardEnough() {
			return true
		}
		s.soon()
		select {
		case <-ctx.Done():
			return false
		case <-changed:
		case <-time.After(spreadRest): // the view may have changed
		}
	}
}

// heardEnough reports whether so many members have told what they have since hearAll asked.
func (s *spreader) heardEnough() bool {
	v := s.node.members.Snapshot().View
	s.mu.Lock()
	defer s.mu.Unlock()
	return heardEnough(v, s.node.id, s.node.doc.Fresh, func(id crawl.NodeID) bool {
		c := s.peers[id]
		return c != nil && c.heard
	})
}

// complete reports whether this node has every scope entry that it may need to judge a
// link: it has heard all from each member that had something else, and heard lately from
// one at least of every majority. An entry that it does not know then was acknowledged to
// nobody when it was asked.
func (s *spreader) complete(now time.Time) bool {
	return s.lacking.Load() == 0 && s.heardLately(now)
}

// heardLately reports whether so many members have renewed of late, with what rules they
// judge by, that one of them is in each majority that this node is not in.
func (s *spreader) heardLately(now time.Time) bool {
	others := s.node.others()
	heard := 0
	for _, m := range others {
		if s.node.peers.SilentFor(m.ID, now) < silence {
			heard++
		}
	}
	return inEachMajority(heard, len(others)+1)
}

// behindPatience is how long a member may keep this node waiting before a person is told.
const behindPatience = 5 * time.Second

// behind names the members that have long had something else than this node and have
// not told what it is, and since when.
func (s *spreader) behind(now time.Time) (members []membership.Member, since time.Time) {
	others := s.node.others()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range others {
		c := s.peers[m.ID]
		if c == nil || !c.ask || now.Sub(c.since) < behindPatience {
			continue
		}
		if members = append(members, m); since.IsZero() || c.since.Before(since) {
			since = c.since
		}
	}
	return members, since
}

// caughtUp waits until this node has every entry that it needed when it was called, and
// reports whether it has: what it hears of meanwhile it need not have. It waits for
// nobody who does not answer, and not for long.
func (s *spreader) caughtUp(ctx context.Context) bool {
	if s.complete(time.Now()) {
		return true
	}
	asks := s.asked()
	ctx, cancel := context.WithTimeout(ctx, judgePatience)
	defer cancel()
	for {
		changed := s.changes()
		now := time.Now()
		owing, answer := s.owing(asks, now)
		if owing == 0 && s.heardLately(now) {
			return true
		}
		if !answer {
			return false
		}
		select {
		case <-ctx.Done():
			return false
		case <-changed:
		case <-time.After(spreadRest): // a renewal may have come, or a member have fallen silent
		}
	}
}

// asked are the questions to each member whose answers this node does not have.
func (s *spreader) asked() map[crawl.NodeID]uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	asks := make(map[crawl.NodeID]uint64, len(s.peers))
	for id, c := range s.peers {
		if c.ask {
			asks[id] = c.asks
		}
	}
	return asks
}

// owing counts those of the questions that members have not answered. answer: all of
// these may still do so soon.
func (s *spreader) owing(asks map[crawl.NodeID]uint64, now time.Time) (count int, answer bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	answer = true
	for id, ask := range asks {
		c := s.peers[id]
		if c == nil || c.heardTo >= ask {
			continue // it has left the view, or has answered
		}
		count++
		if !c.failed.IsZero() || s.node.peers.SilentFor(id, now) >= silence {
			answer = false
		}
	}
	return count, answer
}
