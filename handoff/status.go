package handoff

import (
	"time"

	"crawlnode/crawl"
)

// Stuck is a partition that could not be had where it should be for longer than stuckAfter.
type Stuck struct {
	P        crawl.Partition
	From, To crawl.NodeID
	Reason   string
	Since    time.Time // from when on it could not be had
}

// maxStuck bounds the list of what is stuck.
const maxStuck = 20

// Status is the state of the driver and its partitions.
type Status struct {
	View            crawl.Epoch
	Moving          int // freezes and tokens on their way
	Outstanding     int // that must still leave or arrive, those on their way included
	Held            int
	UnderReplicated int // held, with fewer in-sync copies than factor and members allow
	// SingleCopy counts those of the under-replicated of which only this node is known to
	// have all that was acknowledged; SingleFor is how long the oldest of them has been so.
	SingleCopy int
	SingleFor  time.Duration
	Promoting  int // owned by this node, and held by no node that it knows of
	Offline    int // of these, those that no node can have now
	Lost       int // whose last copies a person has forgotten
	Stuck      []Stuck
	States     []State // by partition
	made       time.Duration
}

// staleAfter is how old a status may be when nothing happens.
const staleAfter = 500 * time.Millisecond

func (s *Status) stale(now time.Duration) bool { return now-s.made > staleAfter }

// Status returns the driver's state as of its last event.
func (d *Driver) Status() *Status { return d.status.Load() }

func (d *Driver) publish() {
	m := d.machine
	s := &Status{View: m.View(), Lost: m.Lost(), States: make([]State, d.opts.Partitions),
		made: d.now()}
	for i := range s.States {
		id := crawl.Partition(i)
		x, owner := m.Standing(id), m.Owner(id)
		s.States[i] = x.State
		if x.State != Holding && x.State != Freezing {
			delete(d.single, id)
		}
		mine := owner == d.opts.Self
		// its holder is passing it on, or about to be asked
		if !mine || x.State != Absent || x.Reason == "" {
			delete(d.absent, id)
		}
		switch x.State {
		case Holding, Freezing:
			s.Held++
			if !mine && owner != "" {
				s.Outstanding++
			}
			if x.State == Freezing {
				s.Moving++
			}
			// a set that is not recorded yet lacks no copy if there is no place for one
			if !x.Full && !x.Lone {
				s.UnderReplicated++
			}
			d.noteSingle(s, id, x.Single)
		case Released:
			s.Moving++
			s.Outstanding++
		case Absent:
			if !mine {
				continue
			}
			s.Outstanding++
			s.Promoting++
			if x.Away && x.Reason != "" && m.UnansweredRounds() > 1 {
				s.Offline++
			}
			if x.Reason != "" {
				d.noteAbsent(s, id, x.Reason)
			}
		}
	}
	d.status.Store(s)
	d.behind = false
}

// noteSingle keeps the time from which on a partition had one copy.
func (d *Driver) noteSingle(s *Status, p crawl.Partition, single bool) {
	if !single {
		delete(d.single, p)
		return
	}
	since, was := d.single[p]
	if !was {
		since = s.made
		d.single[p] = since
	}
	s.SingleCopy++
	s.SingleFor = max(s.SingleFor, s.made-since)
}

// stuckAfter is how long a partition may be on its way to its owner. An ordinary
// take-over is over before: some seconds until the view, the fence, and the questions.
const stuckAfter = 30 * time.Second

// absence is the time since which this node could not have a partition that is its own
// by the table.
type absence struct {
	since time.Duration // by the driver's clock
	at    time.Time     // for people
}

// noteAbsent keeps the time since which a partition cannot be had, and lists it when
// that is too long ago. The reason may change meanwhile.
func (d *Driver) noteAbsent(s *Status, id crawl.Partition, why string) {
	a, was := d.absent[id]
	if !was {
		a = absence{since: s.made, at: time.Now()}
		d.absent[id] = a
	}
	if s.made-a.since < stuckAfter || len(s.Stuck) == maxStuck {
		return
	}
	s.Stuck = append(s.Stuck, Stuck{P: id, To: d.opts.Self, Reason: why, Since: a.at})
}
