package frontier

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

// moment is one look at all clocks.
type moment struct {
	now  time.Time // with the monotonic reading
	wall time.Time
	boot time.Duration
}

// stamp is what the holder's clocks said when it wrote a mutation.
type stamp struct {
	at   time.Time     // on the partition's timeline; zero: written before there was one
	wall time.Time     // the holder's time of day
	run  uint64        // names the run of its machine; 0: it has no name
	boot time.Duration // since that run's beginning
}

// timeline is a partition's timeline as this process counts it: stood is where it
// stood at now.
type timeline struct {
	stood, now time.Time
	// missed is how much more time may have passed before now than was counted.
	missed time.Duration
}

// begin is the timeline of a partition whose last mutation has this stamp, when nothing
// is known of what has passed since. Values from before there were stamps are times of
// day.
func (s stamp) begin(m moment) timeline {
	if s.at.IsZero() {
		return timeline{stood: m.wall.UTC(), now: m.now}
	}
	return timeline{stood: s.at, now: m.now, missed: max(m.wall.Sub(s.wall), 0)}
}

// resume is begin for a stamp that this machine may have written in its present run:
// then the time since is known.
func (s stamp) resume(run uint64, m moment) timeline {
	l := s.begin(m)
	if passed := m.boot - s.boot; !s.at.IsZero() && run != 0 && s.run == run && passed >= 0 {
		l.stood, l.missed = l.stood.Add(passed), 0
	}
	return l
}

// stamp says where the timeline stands at m.
func (l *timeline) stamp(run uint64, m moment) stamp {
	return stamp{at: l.write(m.now), wall: m.wall.UTC(), run: run, boot: m.boot}
}

// write is a time of this process on the timeline; the zero time stays zero.
func (l *timeline) write(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return l.stood.Add(t.Sub(l.now))
}

// read is a time of the timeline in this process.
func (l *timeline) read(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return l.now.Add(t.Sub(l.stood)).UTC()
}

func (l *timeline) writeHost(s crawl.HostState) crawl.HostState {
	s.NotBefore, s.FrozenUntil, s.HoldUntil = l.write(s.NotBefore), l.write(s.FrozenUntil), l.write(s.HoldUntil)
	return s
}

func (l *timeline) readHost(s crawl.HostState) crawl.HostState {
	s.NotBefore, s.FrozenUntil, s.HoldUntil = l.read(s.NotBefore), l.read(s.FrozenUntil), l.read(s.HoldUntil)
	return s
}

func (l *timeline) writeRobots(r *crawl.Robots) *crawl.Robots {
	w := *r
	w.Fetched, w.Expires = l.write(r.Fetched), l.write(r.Expires)
	return &w
}

// readRobots makes an entry as old as it may be: rules that may be too old are fetched again.
func (l *timeline) readRobots(r *crawl.Robots) *crawl.Robots {
	r.Fetched, r.Expires = l.read(r.Fetched).Add(-l.missed), l.read(r.Expires).Add(-l.missed)
	return r
}

// runOf names a run of a machine in stamps.
func runOf(machine string) uint64 {
	if machine == "" {
		return 0
	}
	return max(xxh3.HashString(machine), 1)
}
