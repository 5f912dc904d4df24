package consensus

import (
	"maps"
	"math"
	"slices"
	"time"

	"crawlnode/crawl"
)

// LeaseTime is how long a lease lasts from the sending of the oldest request that it
// depends on.
const LeaseTime = 8 * time.Second

// Fence is how long a new owner waits from its own install of a view, before it may do
// what a removed member had the right to do: the lease, 5 % for the drift between clocks,
// and a second. The host's delay is added to it.
const Fence = LeaseTime + LeaseTime/20 + time.Second

const (
	never  = time.Duration(math.MinInt64 / 4)
	always = time.Duration(math.MaxInt64 / 4)
)

// Lease computes until when one boot of one node may fetch. It is pure: all
// times are arguments, on the node's own clock that counts through sleep. It
// is not safe for concurrent use.
//
// A lease needs grants of at least half of the installed view, the node's own
// included, and the node's boot listed there. The own grant is renewed at every moment
// until the node accepts a successor of the view; then the last one stays. Grants of the
// view before remain valid across an install until they run out, unless the new view, or
// one between them, dropped this id or boot.
type Lease struct {
	id   crawl.NodeID
	boot crawl.Boot

	number  crawl.Epoch // installed view; 0 for none
	members []crawl.NodeID
	need    int                            // grants of others
	notSent time.Duration                  // requests sent earlier do not count
	grants  map[crawl.NodeID]time.Duration // newest counted request, by granter
	terms   Terms
}

// Terms is all that the end of a lease depends on, except the time.
type Terms struct {
	listed  bool          // the installed view lists this boot
	free    bool          // no grants are needed: the quorum is off
	live    bool          // the own grant is now
	own     time.Duration // the last own grant, unless live
	others  time.Duration // sending of the oldest counted request to others
	carried time.Duration // end of what was granted in earlier views
}

// End returns when the lease ends as it stands at now, which is in the past if there is
// none.
func (s *Terms) End(now time.Duration) time.Duration {
	switch {
	case !s.listed:
		return never
	case s.free:
		return always
	}
	own := s.own
	if s.live {
		own = now
	}
	return max(min(own, s.others)+LeaseTime, s.carried)
}

// NewLease returns the lease of a boot that has no view yet. With free set it
// needs no grants.
func NewLease(id crawl.NodeID, boot crawl.Boot, free bool) *Lease {
	l := &Lease{id: id, boot: boot, notSent: never}
	l.terms = Terms{free: free, own: never, others: never, carried: never}
	return l
}

// Install replaces the view. accepted says that a successor of it is accepted already,
// which can be after a restart.
func (l *Lease) Install(v *View, accepted bool, now time.Duration) {
	carried := l.terms.End(now)
	me, _ := v.Member(l.id)
	if l.number == 0 || me.Boot != l.boot || me.Since > l.number {
		carried = never
	}
	l.number, l.members, l.grants = v.Number, nil, map[crawl.NodeID]time.Duration{}
	for _, m := range v.Members {
		l.members = append(l.members, m.ID)
	}
	l.need = (len(v.Members)+1)/2 - 1
	l.terms.listed, l.terms.carried = me.Boot == l.boot, carried
	l.terms.live, l.terms.own = !accepted, never
	l.count()
}

// Accept notes that the node has accepted a successor of its view: it grants no leases any
// more, not even its own.
func (l *Lease) Accept(now time.Duration) {
	if l.terms.live {
		l.terms.live, l.terms.own = false, now
	}
}

// Grant counts the grant of another member for a request sent at sent.
func (l *Lease) Grant(view crawl.Epoch, from crawl.NodeID, sent, now time.Duration) {
	if view != l.number || from == l.id || sent > now || sent < l.notSent ||
		!slices.Contains(l.members, from) {
		return
	}
	if old, ok := l.grants[from]; !ok || old < sent {
		l.grants[from] = sent
		l.count()
	}
}

// End drops all grants, and those that will come for requests sent before now.
func (l *Lease) End(now time.Duration) {
	clear(l.grants)
	l.notSent, l.terms.own, l.terms.carried = now, never, never
	l.count()
}

// Terms returns what the lease depends on now.
func (l *Lease) Terms() Terms { return l.terms }

// Until returns when the lease ends as it stands at now. It is not after now if there is
// no lease.
func (l *Lease) Until(now time.Duration) time.Duration { return l.terms.End(now) }

// count finds the oldest of the newest grants that are needed for a lease.
func (l *Lease) count() {
	l.terms.others = never
	if l.need == 0 {
		l.terms.others = always
	} else if len(l.grants) >= l.need {
		sent := slices.Sorted(maps.Values(l.grants))
		l.terms.others = sent[len(sent)-l.need]
	}
}
