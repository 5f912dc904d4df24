package recrawl

import (
	"context"
	"errors"
	"slices"
	"time"

	"crawlnode/crawl"
	"crawlnode/frontier"
	"crawlnode/recrawl/visits"
	"crawlnode/settings/sites"
)

// sweepOf is how many records one turn of the sweep looks at.
const sweepOf = 512

// sweepRest is how long after a change of the settings the sweep begins. A visit that was judged by
// the old ones is committed by then, so that the sweep sees it.
const sweepRest = time.Second

// sweptWithin is how long after a change of the settings a partition that comes is planned anew.
const sweptWithin = time.Hour

// sweep plans known pages for the first time, which were done before pages were visited again, and
// plans all anew when the settings of revisits have changed, or those that say which URLs the crawl
// excludes. It goes through the held partitions one after the other. The Keeper's goroutine owns
// it.
type sweep struct {
	pages Pages
	held  map[crawl.Partition]crawl.Epoch
	rules visits.Rules
	sites *sites.File // whose fields were compared; nil: there were no rules for sites
	of    siteTexts
	scope scope
	known bool      // rules and scope are those of an earlier turn
	since time.Time // when they changed; zero: not in this process
	begin time.Time // nothing is done before

	unplanned, planned walk
}

// scope are the settings of which URLs are admitted. Excluded pages are parked: they have no plan.
type scope struct {
	mode             string
	include, exclude []string
	maxDepth         int
}

func scopeOf(s *crawl.Settings) scope { return scope{s.Scope, s.Include, s.Exclude, s.MaxDepth} }

func (s *scope) equal(o *scope) bool {
	return s.mode == o.mode && s.maxDepth == o.maxDepth &&
		slices.Equal(s.include, o.include) && slices.Equal(s.exclude, o.exclude)
}

// siteTexts are what the rules for sites say of revisits and of the scope: the texts of the rules
// that do, in their order. A rule that says neither does not change them.
type siteTexts struct{ revisits, scope string }

func siteTextsOf(f *sites.File) siteTexts {
	return siteTexts{
		revisits: f.Texts("recrawl-min", "recrawl-max", "recrawl-worth"),
		scope:    f.Texts("include", "exclude", "max-depth"),
	}
}

// walk is a way through partitions.
type walk []stretch

// stretch is what is left of a partition.
type stretch struct {
	p     crawl.Partition
	after frontier.DueCursor
}

func (w *walk) drop(gone crawl.Partition) {
	*w = slices.DeleteFunc(*w, func(s stretch) bool { return s.p == gone })
}

// advance goes on in the first partition behind a place, or ends it.
func (w walk) advance(after frontier.DueCursor, done bool) walk {
	if done {
		return w[1:]
	}
	w[0].after = after
	return w
}

// later puts the first partition behind the others: it refuses at the moment. When it is gone for
// good, it is dropped.
func (w walk) later() walk { return append(w[1:], w[0]) }

func (s *sweep) holds(p crawl.Partition) bool { _, ok := s.held[p]; return ok }

// busy reports whether something is left to do.
func (s *sweep) busy() bool { return len(s.unplanned) > 0 || len(s.planned) > 0 }

// followHoldings takes over which partitions are held. Those that came may have pages without a
// plan.
func (s *sweep) followHoldings(
	held map[crawl.Partition]crawl.Epoch,
	now time.Time,
) (came, gone []crawl.Partition) {
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
			s.unplanned = append(s.unplanned, stretch{p: p})
			if !s.since.IsZero() && now.Sub(s.since) < sweptWithin {
				s.planned = append(s.planned, stretch{p: p}) // the last holder may not have come to it
			}
		}
	}
	s.held = held
	return came, gone
}

// follow starts a walk over all planned pages when the settings have changed, and one over those
// without a plan when the scope has.
func (s *sweep) follow(set *crawl.Settings, table *sites.Table, now time.Time) {
	rules, scope := rulesOf(set), scopeOf(set)
	rules.Compare = 0 // it acts with the next visit
	of := s.followSites(table)
	moved := s.known && (!s.scope.equal(&scope) || s.of.scope != of.scope)
	if s.known && (s.rules != rules || s.of.revisits != of.revisits) || moved {
		s.planned, s.since, s.begin = s.all(), now, now.Add(sweepRest)
	}
	if moved {
		s.unplanned = s.all()
	}
	s.rules, s.of, s.scope, s.known = rules, of, scope, true
}

// followSites is what the rules for sites say now. The texts of a file are made once.
func (s *sweep) followSites(table *sites.Table) siteTexts {
	if table == nil {
		s.sites = nil
		return siteTexts{}
	}
	f := table.File()
	if f == s.sites {
		return s.of
	}
	s.sites = f
	return siteTextsOf(f)
}

// all is a walk through all that is held.
func (s *sweep) all() (w walk) {
	for p := range s.held {
		w = append(w, stretch{p: p})
	}
	return w
}

// turn does a piece. It moves nothing: what is due by the new plan is the mover's.
func (s *sweep) turn(ctx context.Context, now time.Time) (err error) {
	if now.Before(s.begin) {
		return nil
	}
	if s.unplanned, err = s.unplanned.turn(ctx, s.planFirst); err != nil {
		return err
	}
	s.planned, err = s.planned.turn(ctx, s.replan)
	return err
}

// piece does the next pages of a stretch: how many there were, where it has come to, and whether
// that is the end.
type piece func(context.Context, stretch) (n int, next frontier.DueCursor, done bool, err error)

// turn does pieces until one is not the end of its partition, or enough was looked at, and returns
// what is left.
func (w walk) turn(ctx context.Context, do piece) (walk, error) {
	looked := 0
	for range len(w) {
		n, next, done, err := do(ctx, w[0])
		switch {
		case errors.Is(err, frontier.ErrNotHolder):
			w = w.later()
		case err != nil:
			return w, err
		default:
			w = w.advance(next, done)
		}
		if looked += n + 1; looked >= sweepOf || err == nil && !done {
			break
		}
	}
	return w, nil
}

// planFirst plans the next pages of a partition that have no plan.
func (s *sweep) planFirst(
	ctx context.Context,
	at stretch,
) (n int, next frontier.DueCursor, done bool, err error) {
	pages, next, done, err := s.pages.Unplanned(at.p, at.after, sweepOf)
	if err == nil && len(pages) > 0 {
		_, err = s.pages.PlanFirst(ctx, pages)
	}
	return len(pages), next, done, err
}

// replan plans the next pages of a partition anew.
func (s *sweep) replan(
	ctx context.Context,
	at stretch,
) (n int, next frontier.DueCursor, done bool, err error) {
	pages, next, done, err := s.pages.Planned(at.p, at.after, sweepOf)
	if err == nil && len(pages) > 0 {
		_, err = s.pages.Replan(ctx, pages)
	}
	return len(pages), next, done, err
}
