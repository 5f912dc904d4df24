package membership

import (
	"sync/atomic"
	"time"
)

// A node whose disk does not answer can promise and accept nothing, so the cluster must not
// depend on it for long. It becomes silent (ownership rule 15), and the others exclude
// it like a node that is gone, if they are enough to decide without it. It takes no part
// in decisions, and asks for no lease, until its disk answers again; then it continues
// like a node that stood still.

// SetStalled says whether this node's disk does not answer. It may be called at any time.
func (m *Membership) SetStalled(stalled bool) { m.stalled.Store(stalled) }

// Saving is how long the present write of the state has taken so far; 0: none is under
// way.
func (m *Membership) Saving() time.Duration { return m.saving.present() }

// stopwatch measures how long one goroutine has been in a call, for other goroutines.
type stopwatch struct {
	base  time.Time    // begun counts from it; set before the first use
	begun atomic.Int64 // nanoseconds from base, at least 1; 0: no call is under way
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
