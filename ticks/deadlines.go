package ticks

import (
	"context"
	"sync"
	"time"
)

// Deadlines makes contexts with a time limit for many short tasks. Those that begin within a part
// of the limit share one context, and so one timer: a context with a timer of its own is five
// allocations for each of some hundreds of tasks a second.
//
// It is for tasks that nobody else can end: a parent that can be cancelled has contexts of its own.
// It may be used from any goroutine.
type Deadlines struct {
	limit time.Duration

	mu     sync.Mutex // guards what follows
	shared context.Context
	until  time.Time // tasks that begin before it share
	cancel func()    // of shared; only its timer ends that, since tasks may still run
}

// sharers is the part of the limit in which tasks that begin share a context.
const sharers = 10

// NewDeadlines is for tasks that may take so long, and at most a tenth longer.
func NewDeadlines(limit time.Duration) *Deadlines { return &Deadlines{limit: limit} }

// Begin returns the context of a task that begins now. Call cancel once the task is over; the
// context may go on after it.
func (d *Deadlines) Begin(parent context.Context) (ctx context.Context, cancel func()) {
	if parent.Done() != nil {
		return context.WithTimeout(parent, d.limit)
	}
	now := time.Now()
	d.mu.Lock()
	defer d.mu.Unlock()
	if !now.Before(d.until) {
		d.shared, d.cancel = context.WithTimeout(context.Background(), d.limit+d.limit/sharers)
		d.until = now.Add(d.limit / sharers)
	}
	return d.shared, nothing
}

func nothing() {}
