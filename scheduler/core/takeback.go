package core

import (
	"cmp"
	"hash/fnv"
	"slices"
	"time"

	"crawlnode/crawl"
	fairshare "crawlnode/scheduler/shares"
)

// This file takes back requests that a failing domain has beyond its share while other hosts
// wait for the fetchers.

const (
	// enoughCuts is how often a URL's request is taken back before it may finish.
	enoughCuts = 2
	// maxCuts bounds the URLs whose taking back is remembered. With 256 fetchers it takes at
	// least 20 minutes to reach so many.
	maxCuts = 65_536
)

// cuts counts how often URLs were taken back, by a hash: of two with the same hash, one may
// finish sooner.
type cuts struct {
	n     map[uint64]int
	order []uint64 // in the order of insertion, a ring of maxCuts; some are gone
	next  int
}

func newCuts() cuts { return cuts{n: make(map[uint64]int)} }

func cutKey(it *crawl.Item) uint64 {
	f := fnv.New64a()
	_, _ = f.Write([]byte(it.URL.String())) // a hash takes all
	return f.Sum64()
}

// of returns how often it was taken back.
func (c *cuts) of(it *crawl.Item) int {
	if len(c.n) == 0 {
		return 0
	}
	return c.n[cutKey(it)]
}

// completed counts a visit that was taken back, and forgets a URL whose visit was not.
func (c *cuts) completed(it *crawl.Item, back bool) {
	if !back && len(c.n) == 0 {
		return
	}
	k := cutKey(it)
	switch {
	case !back:
		delete(c.n, k)
	case c.n[k] > 0:
		c.n[k]++
	case len(c.order) < maxCuts:
		c.order, c.n[k] = append(c.order, k), 1
	default:
		delete(c.n, c.order[c.next])
		c.order[c.next], c.n[k] = k, 1
		c.next = (c.next + 1) % maxCuts
	}
}

// waits counts the hosts that wait for a fetcher of another domain, by domain.
type waits struct {
	of  map[*domain]int
	all int
}

// but returns how many waiting hosts are not of d.
func (w *waits) but(d *domain) int { return w.all - w.of[d] }

func (w *waits) add(d *domain, n int) {
	w.of[d] += n
	w.all += n
}

// waiting counts the hosts that would get a free fetcher. Hosts held back by their own
// domain's or block's share do not wait for others.
func (c *Core) waiting() waits {
	w := waits{of: make(map[*domain]int)}
	if len(c.visits) >= c.cfg.Fetchers {
		for b := range c.ready.rounds {
			for l := c.ready.rounds[b].first; l != nil; l = l.behind {
				if l.first != nil {
					d := l.first.domain
					w.add(d, min(l.n, max(c.shares.book.Room(d.Claimant, fairshare.Fetchers)-w.of[d], 0)))
				}
			}
		}
	}
	for _, s := range c.shares.full {
		// a reserve keeps it back, if it has room
		if s.held.n > 0 && !s.prefix.IsValid() && s.Class() != fairshare.Poor {
			d := s.held.first.domain
			w.add(d, min(s.held.n, max(c.shares.book.Room(d.Claimant, fairshare.Fetchers)-w.of[d], 0)))
		}
	}
	return w
}

// lookAtVisits counts requests that are open for long at less than dripRate against their
// domains, until their answer is better, and takes back those that are too many while
// other hosts wait.
func (c *Core) lookAtVisits(now time.Time) {
	if c.shares.lateAt.IsZero() || now.Before(c.shares.lateAt) {
		return
	}
	open, late := c.openVisits(now)
	if len(late) == 0 {
		return
	}
	w := c.waiting()
	of := make(map[*domain]bool)
	for _, v := range late {
		of[v.host.domain] = true
		v.dear = v.dear || w.but(v.host.domain) > 0
		if !v.late {
			v.late = true
			c.noteVisit(now, v, fairshare.Bad)
		}
	}
	c.takeBack(open, of)
}

// openVisits lists the visits that may be taken back, in the order of takeBack, and those
// that are late. A useful one, overdue at dripRate or more, is in neither list. It sets the
// time of the next look.
func (c *Core) openVisits(now time.Time) (open, late []*visit) {
	c.shares.lateAt = time.Time{}
	open = make([]*visit, 0, len(c.visits))
	look := func(at time.Time) {
		if c.shares.lateAt.IsZero() || at.Before(c.shares.lateAt) {
			c.shares.lateAt = at
		}
	}
	for _, v := range c.visits {
		age := now.Sub(v.begun)
		switch {
		case !v.open:
			continue
		case age < overdue:
			look(v.begun.Add(overdue))
		case float64(c.cfg.Dispatcher.Received(v.id)) < dripRate*age.Seconds():
			look(now.Add(relook))
			late = append(late, v)
		default:
			look(now.Add(relook))
			if !v.over {
				continue
			}
		}
		open = append(open, v)
	}
	inOrder := func(a, b *visit) int {
		return cmp.Or(cmp.Compare(a.cuts, b.cuts), cmp.Compare(b.id, a.id))
	}
	slices.SortFunc(open, inOrder)
	slices.SortFunc(late, inOrder)
	return open, late
}

// takeBack frees fetchers for the hosts that wait. It takes back visits of domains that fail,
// hold more than their share and have a late request: the newest ones, so that the oldest,
// within the share, can finish. URLs that were taken back before come last, and from
// enoughCuts on they may finish, in up to a quarter of the fetchers. open is in this order.
func (c *Core) takeBack(open []*visit, late map[*domain]bool) {
	w := c.waiting()
	if w.all == 0 {
		return
	}
	taken, going, spared := 0, make(map[*domain]int), 0
	for _, v := range open {
		if v.over { // it is ending already
			taken++
			going[v.host.domain]++
		} else if v.cuts >= enoughCuts {
			spared++
		}
	}
	surplus := spared - max(c.cfg.Fetchers/4, 1) // of those that could be spared
	for _, v := range open {
		d := v.host.domain
		if v.over || !late[d] || d.Class() != fairshare.Poor || w.but(d) <= taken {
			continue
		}
		over := c.shares.book.Over(d.Claimant, fairshare.Fetchers) > going[d]
		if !over && c.shares.book.Excess(fairshare.Fetchers) <= taken {
			continue
		}
		if v.cuts >= enoughCuts {
			if surplus <= 0 {
				continue
			}
			surplus--
		}
		v.over = true
		taken++
		going[d]++
		c.emit(Action{Kind: TakeBack, Partition: v.host.part, Host: v.host.name, Visit: v.id})
	}
}
