package revisits

import (
	"context"
	"errors"
	"time"

	"crawlnode/crawl"
	"crawlnode/frontier"
	"crawlnode/recrawl"
)

// sweepOf is how many records one turn of the sweep looks at.
const sweepOf = 512

// sweptWithin is how long after a change of the settings a partition that comes is planned anew.
const sweptWithin = time.Hour

// sweep plans known pages for the first time, which were done before pages were visited again, and
// plans all anew when the settings of revisits have changed. It goes through the held partitions one after
// the other. The Keeper's goroutine owns it.
type sweep struct {
	pages Pages
	held  map[crawl.Partition]crawl.Epoch
	rules recrawl.Rules
	known bool      // rules are those of an earlier turn
	since time.Time // when they changed; zero: not in this process

	unplanned, planned walk
}

// walk is a way through partitions.
type walk struct {
	left  []crawl.Partition
	after frontier.DueCursor
}

func (w *walk) drop(gone crawl.Partition) {
	for i, p := range w.left {
		if p == gone {
			if i == 0 {
				w.after = ""
			}
			w.left = append(w.left[:i], w.left[i+1:]...)
			return
		}
	}
}

// next ends the first partition.
func (w *walk) next() { w.left, w.after = w.left[1:], "" }

func (s *sweep) holds(p crawl.Partition) bool { _, ok := s.held[p]; return ok }

// busy reports whether something is left to do.
func (s *sweep) busy() bool { return len(s.unplanned.left) > 0 || len(s.planned.left) > 0 }

// followHoldings takes over which partitions are held. Those that came may have pages without a plan.
func (s *sweep) followHoldings(held map[crawl.Partition]crawl.Epoch, now time.Time) (came, gone []crawl.Partition) {
	for p, epoch := range s.held {
		if held[p] != epoch {
			gone = append(gone, p)
			s.unplanned.drop(p)
			s.planned.drop(p)
		}
	}
	for p, epoch := range held {
		if s.held[p] != epoch {
			came = append(came, p)
			s.unplanned.left = append(s.unplanned.left, p)
			if !s.since.IsZero() && now.Sub(s.since) < sweptWithin {
				s.planned.left = append(s.planned.left, p) // the last holder may not have come to it
			}
		}
	}
	s.held = held
	return came, gone
}

// follow starts a walk over all planned pages when the settings have changed.
func (s *sweep) follow(set *crawl.Settings, now time.Time) {
	rules := rulesOf(set)
	rules.Compare = 0 // it acts with the next visit
	if s.known && s.rules != rules {
		s.planned, s.since = walk{}, now
		for p := range s.held {
			s.planned.left = append(s.planned.left, p)
		}
	}
	s.rules, s.known = rules, true
}

// turn does a piece. It moves nothing: what is due by the new plan is the mover's.
func (s *sweep) turn(ctx context.Context) error {
	for looked := 0; looked < sweepOf && len(s.unplanned.left) > 0; looked++ {
		p := s.unplanned.left[0]
		pages, next, done, err := s.pages.Unplanned(p, s.unplanned.after, sweepOf)
		if err == nil && len(pages) > 0 {
			_, err = s.pages.PlanFirst(ctx, pages)
		}
		if err != nil && !errors.Is(err, frontier.ErrNotHolder) {
			return err
		}
		if s.unplanned.after = next; done || err != nil {
			s.unplanned.next()
		}
		if looked += len(pages); !done {
			looked += sweepOf
		}
	}
	for looked := 0; looked < sweepOf && len(s.planned.left) > 0; looked++ {
		n, err := s.replan(ctx)
		if err != nil {
			return err
		}
		looked += n
	}
	return nil
}

// replan plans the next pages of a partition anew.
func (s *sweep) replan(ctx context.Context) (looked int, err error) {
	p := s.planned.left[0]
	pages, next, done, err := s.pages.Planned(p, s.planned.after, sweepOf)
	if err == nil && len(pages) > 0 {
		_, err = s.pages.Replan(ctx, pages)
	}
	if err != nil && !errors.Is(err, frontier.ErrNotHolder) {
		return 0, err
	}
	if s.planned.after = next; err != nil || done {
		s.planned.next()
	}
	if !done {
		return sweepOf, nil
	}
	return len(pages), nil
}
