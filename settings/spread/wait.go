package spread

import (
	"context"
	"fmt"
	"strings"
	"time"

	"crawlnode/crawl"
	"crawlnode/membership"
)

// judgePatience bounds how long links wait to be judged. Then they are put aside: a
// member that has what is missing and does not send it has fallen silent. So it is as
// long as Options.Silence.
func (s *Spreader) judgePatience() time.Duration { return s.o.Silence }

// stragglers is how long seeds wait, once a majority has their scope entries, for
// members that answer and do not have them yet. A member that gets them later has been
// silent, or receives from no member itself and judges nothing (heardLately).
func (s *Spreader) stragglers() time.Duration { return s.o.Silence }

// changes returns a channel that is closed when the next call has ended.
func (s *Spreader) changes() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.moved
}

// without lists the other members that do not have what is wanted, and of these those
// that still answer.
func (s *Spreader) without(w *wanted) (all, answering []membership.Member) {
	members, view := s.o.others(), s.o.viewNumber()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range members {
		c := s.peers[m.ID]
		if c != nil && c.last.has(w, view) {
			continue
		}
		all = append(all, m)
		if (c == nil || c.failed.IsZero()) && s.o.Cluster.SilentFor(m.ID, time.Now()) < s.o.Silence {
			answering = append(answering, m)
		}
	}
	return all, answering
}

// AwaitMajority returns when more than half of the members, this node among them, have what
// is here now, and waits at most stragglers longer for those that answer. It waits for no
// silent member: that one catches up before it gets a lease again, since a majority has to
// grant the lease.
func (s *Spreader) AwaitMajority(ctx context.Context) error {
	w := s.all()
	var late <-chan time.Time
	for {
		changed := s.changes()
		missing, answering := s.without(w)
		members := len(s.o.others()) + 1
		enough, done := storedEnough(members, len(missing), len(answering))
		switch {
		case done:
			return nil
		case enough && late == nil:
			late = time.After(s.stragglers())
		}
		s.Wake()
		select {
		case <-ctx.Done():
			return fmt.Errorf(
				"scope and settings are on %d of %d members, more than half are needed; silent or late: %s",
				members-len(missing), members, strings.Join(namesOf(missing), ", "))
		case <-changed:
		case <-time.After(rest): // the view may have changed, or a member have fallen silent
		case <-late:
			return nil
		}
	}
}

func namesOf(members []membership.Member) (names []string) {
	for _, m := range members {
		names = append(names, m.Name)
	}
	return names
}

// awaitAll waits until every other member has the document, or ctx ends, and returns the
// names of those that do not have it.
func (s *Spreader) awaitAll(ctx context.Context) (untold []string) {
	w := &wanted{document: s.o.document()}
	for {
		changed := s.changes()
		missing, _ := s.without(w)
		if len(missing) == 0 {
			return nil
		}
		s.Wake()
		select {
		case <-ctx.Done():
			return namesOf(missing)
		case <-changed:
		case <-time.After(rest): // the view may have changed
		}
	}
}

// CatchUp asks the other members for all that they have, until so many have answered
// whole that each entry which a majority stores is here. A node that is alone has all
// there is. False: ctx has ended.
func (s *Spreader) CatchUp(ctx context.Context) bool {
	s.mu.Lock()
	for id, c := range s.peers {
		c.fetched = false
		s.askLocked(id)
	}
	s.mu.Unlock()
	s.Wake() // also when it need not wait, as a founder: without the answers it is not complete
	for {
		changed := s.changes()
		if s.caughtUp() {
			return true
		}
		s.Wake()
		select {
		case <-ctx.Done():
			return false
		case <-changed:
		case <-time.After(rest): // the view may have changed
		}
	}
}

// caughtUp reports whether so many members have answered whole since CatchUp asked.
func (s *Spreader) caughtUp() bool {
	v := s.o.Cluster.View()
	s.mu.Lock()
	defer s.mu.Unlock()
	return fetchedEnough(v, s.o.Self, s.o.Document.Fresh, func(id crawl.NodeID) bool {
		c := s.peers[id]
		return c != nil && c.fetched
	})
}

// Complete reports whether this node has every scope entry that it may need to judge a
// link: it has fetched all from each member that had something else, and heard lately from
// at least one member of every majority. Any other entry was acknowledged to
// nobody when this was asked.
func (s *Spreader) Complete(now time.Time) bool {
	return s.lacking.Load() == 0 && s.heardLately(now)
}

// heardLately reports whether so many members have renewed lately, each with the stamp of
// its rules, that one of them is in each majority that this node is not in.
func (s *Spreader) heardLately(now time.Time) bool {
	view := s.o.Cluster.View()
	if view == nil {
		return inEachMajority(0, 1)
	}
	heard, others := 0, 0
	for i := range view.Members { // each page asks: nothing is copied
		id := view.Members[i].ID
		if id == s.o.Self {
			continue
		}
		others++
		if s.o.Cluster.SilentFor(id, now) < s.o.Silence {
			heard++
		}
	}
	return inEachMajority(heard, others+1)
}

// behindPatience is how long a member may keep this node waiting before the status shows it.
const behindPatience = 5 * time.Second

// Behind names the members that have long had something else than this node and have
// not sent it, and since when.
func (s *Spreader) Behind(now time.Time) (names []string, since time.Time) {
	others := s.o.others()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range others {
		c := s.peers[m.ID]
		if c == nil || !c.ask || now.Sub(c.since) < behindPatience {
			continue
		}
		if names = append(names, m.Name); since.IsZero() || c.since.Before(since) {
			since = c.since
		}
	}
	return names, since
}

// AwaitComplete waits until this node has every entry that it needed when it was called, and
// reports whether it has; entries that it hears of meanwhile do not count. It waits for no
// member that does not answer, and at most judgePatience.
func (s *Spreader) AwaitComplete(ctx context.Context) bool {
	if s.Complete(time.Now()) {
		return true
	}
	asks := s.asked()
	ctx, cancel := context.WithTimeout(ctx, s.judgePatience())
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
		case <-time.After(rest): // a renewal may have come, or a member have fallen silent
		}
	}
}

// asked are the last questions to each member that this node has no answer to.
func (s *Spreader) asked() map[crawl.NodeID]uint64 {
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

// owing counts those of the questions that have no answer yet. answer: all members that
// owe one may still answer soon.
func (s *Spreader) owing(asks map[crawl.NodeID]uint64, now time.Time) (count int, answer bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	answer = true
	for id, ask := range asks {
		c := s.peers[id]
		if c == nil || c.answered >= ask {
			continue // it has left the view, or has answered
		}
		count++
		if !c.failed.IsZero() || s.o.Cluster.SilentFor(id, now) >= s.o.Silence {
			answer = false
		}
	}
	return count, answer
}
