package layout

import (
	"time"

	"github.com/zeebo/xxh3"

	"crawlnode/crawl"
)

// Times in a partition's values (waits of hosts and URLs, the wake index, robots.txt)
// are on the partition's own timeline, not on any node's wall clock. It begins with the
// founder's time of day. From then on it advances by a clock that never jumps: at the
// holder between two mutations, in a copy since its last mutation, and after a restart
// during the same run of the machine. So it never runs ahead, and a wrong clock cannot
// cut a wait short. Otherwise it stands still, and the rest of a wait is waited in full.
//
// With each mutation the holder writes where the timeline stands, see stamp. Physical
// copies need no conversion: the same bytes mean the same on every node.

// Moment is one look at all clocks.
type Moment struct {
	Now  time.Time // with the monotonic reading
	Wall time.Time
	Boot time.Duration
}

// Stamp is what the holder's clocks said when it wrote a mutation.
type Stamp struct {
	at   time.Time     // on the partition's timeline; zero: written before there was one
	wall time.Time     // the holder's time of day
	Run  uint64        // names the run of its machine; 0: it has no name
	boot time.Duration // since that run's beginning
}

// Timeline is a partition's timeline as this process counts it: stood is where it
// stood at now.
type Timeline struct {
	stood, now time.Time
	// missed is how much more time may have passed before now than was counted.
	missed time.Duration
}

// Begin is the timeline of a partition whose last mutation has this stamp, when nothing
// is known of what has passed since. Values from before there were stamps are times of
// day.
func (s Stamp) Begin(m Moment) Timeline {
	if s.at.IsZero() {
		return Timeline{stood: m.Wall.UTC(), now: m.Now}
	}
	return Timeline{stood: s.at, now: m.Now, missed: max(m.Wall.Sub(s.wall), 0)}
}

// Resume is begin for a stamp that this machine may have written in its present run:
// then the time since is known.
func (s Stamp) Resume(run uint64, m Moment) Timeline {
	l := s.Begin(m)
	if passed := m.Boot - s.boot; !s.at.IsZero() && run != 0 && s.Run == run && passed >= 0 {
		l.stood, l.missed = l.stood.Add(passed), 0
	}
	return l
}

// Stamp says where the timeline stands at m.
func (l *Timeline) Stamp(run uint64, m Moment) Stamp {
	return Stamp{at: l.Write(m.Now), wall: m.Wall.UTC(), Run: run, boot: m.Boot}
}

// Write is a time of this process on the timeline; the zero time stays zero.
func (l *Timeline) Write(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return l.stood.Add(t.Sub(l.now))
}

// Read is a time of the timeline in this process.
func (l *Timeline) Read(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return l.now.Add(t.Sub(l.stood)).UTC()
}

// Elapsed is the time from a place on the timeline to a time of this process. blurred: more than
// half of it may be missing, because the timeline has stood still meanwhile.
func (l *Timeline) Elapsed(since, until time.Time) (d time.Duration, blurred bool) {
	d = l.Write(until).Sub(since)
	return d, since.Before(l.stood) && l.missed > d
}

// WriteHost returns a host's state with its times on the timeline.
func (l *Timeline) WriteHost(s crawl.HostState) crawl.HostState {
	s.NotBefore, s.FrozenUntil, s.HoldUntil = l.Write(s.NotBefore), l.Write(s.FrozenUntil),
		l.Write(s.HoldUntil)
	s.BlockedUntil, s.WalledSince = l.Write(s.BlockedUntil), l.Write(s.WalledSince)
	return s
}

// ReadHost returns a host's state with its times in this process.
func (l *Timeline) ReadHost(s crawl.HostState) crawl.HostState {
	s.NotBefore, s.FrozenUntil, s.HoldUntil = l.Read(s.NotBefore), l.Read(s.FrozenUntil),
		l.Read(s.HoldUntil)
	s.BlockedUntil, s.WalledSince = l.Read(s.BlockedUntil), l.Read(s.WalledSince)
	return s
}

// WriteRobots returns a robots entry with its times on the timeline.
func (l *Timeline) WriteRobots(r *crawl.Robots) *crawl.Robots {
	w := *r
	w.Fetched, w.Expires = l.Write(r.Fetched), l.Write(r.Expires)
	return &w
}

// ReadRobots makes an entry as old as it may be: rules that may be too old are fetched again.
func (l *Timeline) ReadRobots(r *crawl.Robots) *crawl.Robots {
	r.Fetched, r.Expires = l.Read(r.Fetched).Add(-l.missed), l.Read(r.Expires).Add(-l.missed)
	return r
}

// RunOf names a run of a machine in stamps.
func RunOf(machine string) uint64 {
	if machine == "" {
		return 0
	}
	return max(xxh3.HashString(machine), 1)
}
