package drain

import (
	"context"
	"sync"
	"time"
)

// endAnyway is how long a node that has stopped its visits waits for the order to end.
const endAnyway = 8 * time.Second

// Together has Leave stop with the data in place, because all nodes stop. It may be called before
// Leave and during it.
func (d *Drainer) Together() { d.together.give() }

// NoVisits is closed when no visit is open any more, after Together.
func (d *Drainer) NoVisits() <-chan struct{} { return d.noVisits.c }

// End ends the wait of a node that stops together with the others.
func (d *Drainer) End() { d.end.give() }

// stopTogether ends the visits and waits for the others to do so: a node that ended before them
// would be taken for dead, and its partitions be taken over for a moment.
func (d *Drainer) stopTogether(ctx context.Context) {
	d.endVisits(ctx)
	d.noVisits.give()
	select {
	case <-d.end.c:
	case <-time.After(endAnyway):
		d.o.Log.Warn("the order to end did not come after that to stop all nodes; ending without it")
	case <-ctx.Done():
	}
	d.o.Log.Info("stopping with all data in place, as all nodes do; the same command resumes")
}

// signal is given once; it may be asked for by any goroutine.
type signal struct {
	once *sync.Once
	c    chan struct{} // closed when it is given
}

func newSignal() signal { return signal{new(sync.Once), make(chan struct{})} }

func (s signal) give() { s.once.Do(func() { close(s.c) }) }

func (s signal) given() bool {
	select {
	case <-s.c:
		return true
	default:
		return false
	}
}
