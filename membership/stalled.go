package membership

import (
	"sync/atomic"
	"time"
)

// A node whose disk does not answer can promise and accept nothing. It must not be
// counted on for long: so it falls silent (ownership rule 15), and the others exclude
// it as they do one that is gone, if they are enough to decide without it. It takes no
// part in decisions, and asks for no lease, until its disk answers again; then it goes
// on like one that stood still.

// SetStalled says whether this node's disk answers. Any time.
func (m *Membership) SetStalled(stalled bool) { m.stalled.Store(stalled) }

// Saving is how long the write of the state has taken that is under way; 0: none is.
func (m *Membership) Saving() time.Duration { return m.saving.present() }

// stopwatch tells others how long one goroutine has been in something.
type stopwatch struct {
	base  time.Time    // what begun counts from; set before it is used
	begun atomic.Int64 // nanoseconds from base, at least 1; 0: nothing goes on
}

func (s *stopwatch) during(f func() error) error {
	s.begun.Store(max(1, int64(time.Since(s.base))))
	defer s.begun.Store(0)
	return f()
}

func (s *stopwatch) present() time.Duration {
	begun := s.begun.Load()
	if begun == 0 {
		return 0
	}
	return time.Since(s.base) - time.Duration(begun)
}
