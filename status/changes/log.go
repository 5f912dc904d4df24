package changes

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"crawlnode/crawl"
	"crawlnode/membership"
	"crawlnode/status"
	"crawlnode/status/events"
)

// Log keeps the last change of the members. The zero value has seen no view.
type Log struct {
	mu      sync.Mutex // guards the rest
	members map[crawl.NodeID]membership.Member
	gone    map[crawl.NodeID]Departed // members of earlier views that no view took back
	last    crawl.ChangeStatus
	began   time.Time // of a change that has not ended; zero: there is none
	passing int       // partitions that the departed held, by their last reports
	lost    int       // partitions that were lost when the change began

	moves, repairs progress
	paused         time.Time // since when there is no lease and no majority; zero: there is
}

// Departed is a former member, and how it left: its state is crawl.NodeLeft, or NodeFailed when it was excluded.
type Departed struct {
	Member    membership.Member
	Departure status.Departure
}

// Report is what counts of the last report of a node that is gone.
type Report struct {
	InFlight int64 // fetches, which are queued again
	Held     int   // partitions
}

// Change is what one view has changed.
type Change struct {
	Cause string   // crawl.CauseJoin...; "" is no change
	Names []string // of the members that it is about

	sum    Report
	events []crawl.Event // one for each name
}

// add takes a member in; code is its event's.
func (c *Change) add(cause, code, name string, r Report) {
	c.Cause = cause
	c.Names = append(c.Names, name)
	c.sum.InFlight += r.InFlight
	c.sum.Held += r.Held
	c.events = append(c.events, events.Member(code, name, r.InFlight, r.Held))
}

// Last is the last change.
func (l *Log) Last() crawl.ChangeStatus {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last
}

// Departed are the former members that no view has taken back.
func (l *Log) Departed() map[crawl.NodeID]Departed {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.gone)
}

// Note compares a view with the one before. report gives a node's last report,
// lost is how many partitions have been lost so far. It returns the change that
// counts, and the events of all changes; the first view of a process makes neither.
func (l *Log) Note(v *membership.View, now time.Time, report func(membership.Member) Report, lost int) (Change, []crawl.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	first := l.members == nil
	c, all := l.compareLocked(v, now, report)
	l.members = make(map[crawl.NodeID]membership.Member, len(v.Members))
	for _, m := range v.Members {
		l.members[m.ID] = m
		delete(l.gone, m.ID)
	}
	if first {
		return Change{}, nil
	}
	if c.Cause == "" {
		return Change{}, all
	}
	l.keepLocked(c, now, lost)
	return c, all
}

// keepLocked makes a change the last one. A failure stays the last until it has
// ended: another one joins it, and what else changes meanwhile, such as the
// failed node's return, is not kept.
func (l *Log) keepLocked(c Change, now time.Time, lost int) {
	name := strings.Join(c.Names, ", ")
	if !l.began.IsZero() && *l.last.Cause == crawl.CauseFailed {
		if c.Cause == crawl.CauseFailed {
			name, requeued := *l.last.Node+", "+name, *l.last.InflightRequeued+c.sum.InFlight
			l.last.Node, l.last.InflightRequeued = &name, &requeued
			l.passing += c.sum.Held
		}
		return
	}
	at, none := now.UTC(), 0
	l.last = crawl.ChangeStatus{Cause: &c.Cause, Node: &name, At: &at, PartitionsLost: &none, InflightRequeued: &c.sum.InFlight}
	l.began, l.passing, l.lost = now, c.sum.Held, lost
}

// compareLocked finds what the view changes. Of several changes a failure counts before a leave,
// and a leave before a join; the events of all are returned.
func (l *Log) compareLocked(v *membership.View, now time.Time, report func(membership.Member) Report) (Change, []crawl.Event) {
	var joined, left, failed Change
	var placed []crawl.Event
	for _, m := range v.Members {
		old, ok := l.members[m.ID]
		switch {
		case !ok:
			joined.add(crawl.CauseJoin, crawl.EventJoined, m.Name, Report{})
		case old.Boot != m.Boot: // the open fetches of its former process are queued again
			joined.add(crawl.CauseJoin, crawl.EventJoined, m.Name, Report{InFlight: report(old).InFlight})
		case m.Draining && !old.Draining:
			left.add(crawl.CauseLeave, crawl.EventDraining, m.Name, Report{})
		case m.Share() != old.Share() || m.Zone != old.Zone: // no change of the members
			placed = append(placed, events.Placed(m.Name, m.Share(), m.Zone))
		}
	}
	for _, id := range slices.Sorted(maps.Keys(l.members)) {
		m := l.members[id]
		if _, ok := v.Member(id); ok {
			continue
		}
		d := status.Departure{Boot: m.Boot, State: crawl.NodeFailed, At: now}
		if slices.Contains(v.Left, membership.Departure{ID: id, Boot: m.Boot}) {
			d.State = crawl.NodeLeft
			left.add(crawl.CauseLeave, crawl.EventLeft, m.Name, report(m))
		} else {
			failed.add(crawl.CauseFailed, crawl.EventFailed, m.Name, report(m))
		}
		if l.gone == nil {
			l.gone = map[crawl.NodeID]Departed{}
		}
		l.gone[id] = Departed{Member: m, Departure: d}
	}
	worst := joined
	for _, c := range []Change{left, failed} {
		if c.Cause != "" {
			worst = c
		}
	}
	return worst, slices.Concat(failed.events, left.events, joined.events, placed)
}

// Pending reports whether the last change has not ended.
func (l *Log) Pending() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.began.IsZero()
}

// End ends the last change, because the cluster serves every partition again; lost is how many
// have been lost so far. It returns the whole change, and how many partitions the
// departed had held; ok is false when no change was pending.
func (l *Log) End(now time.Time, lost int) (last crawl.ChangeStatus, passed int, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.began.IsZero() {
		return crawl.ChangeStatus{}, 0, false
	}
	sec, more := now.Sub(l.began).Seconds(), max(lost-l.lost, 0)
	l.began = time.Time{}
	l.last.TakeoverSeconds, l.last.PartitionsLost = &sec, &more
	return l.last, l.passing, true
}
