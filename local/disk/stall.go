package disk

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"crawlnode/ticks"
)

const (
	// stallAfter is how long the disk may take for one write, or for a sync that
	// acknowledgements wait for. Together with the 5 s of silence that an exclusion
	// takes, a disk that comes back in 8 s costs a member nothing but its lease.
	stallAfter = 3 * time.Second
	// archiveSlack is how much longer a sync of the archive may take: it writes as much as
	// was fetched, and its volume may be a slow one.
	archiveSlack = 7 * time.Second
	// LookEvery is how often the waits are looked at.
	LookEvery = 250 * time.Millisecond
	// tryEvery is how often the disk is tried, in case that nothing else is written.
	tryEvery = time.Second
)

// Stall is a disk that does not answer.
type Stall struct {
	What  string // that waits
	Since time.Time
}

// Text follows the node's name, or stands alone.
func (s *Stall) Text() string {
	return fmt.Sprintf(
		"gets no answer from its disk since %s: %s waits, so it fetches nothing and renews no lease",
		s.Since.UTC().Format(time.TimeOnly), s.What)
}

// Waiter is a part of the node that may wait for the disk.
type Waiter struct {
	Name string
	Wait func() time.Duration // how long it has waited now; 0: it does not
}

// StallOptions are what Stalls watch.
type StallOptions struct {
	Waiters []Waiter // beside the archive, whose syncs go through During
	// Try writes something and returns when the disk has it.
	Try func(ctx context.Context) error
	// Changed is told of a stall that began, after so long a wait; nil: it is over.
	Changed func(s *Stall, wait time.Duration)
}

// Stalls knows whether the disk answers. NewStalls makes it.
type Stalls struct {
	o       StallOptions
	now     atomic.Pointer[Stall]
	syncing atomic.Pointer[time.Time] // since when the archive is being synced; nil: it is not
}

// NewStalls makes a watch; it watches while Run runs.
func NewStalls(o StallOptions) *Stalls { return &Stalls{o: o} }

// During calls f, a sync of the outputs.
func (p *Stalls) During(f func() error) error {
	now := time.Now()
	p.syncing.Store(&now)
	defer p.syncing.Store(nil)
	return f()
}

// archiveWait is by how much a sync of the archive exceeds archiveSlack.
func (p *Stalls) archiveWait() time.Duration {
	since := p.syncing.Load()
	if since == nil {
		return 0
	}
	return max(0, time.Since(*since)-archiveSlack)
}

// Stalled is nil while the disk answers.
func (p *Stalls) Stalled() *Stall { return p.now.Load() }

// judge takes the longest wait; changed: a stall began or ended.
func (p *Stalls) judge(now time.Time, wait time.Duration, what string) (changed bool) {
	was := p.now.Load()
	switch {
	case was == nil && wait >= stallAfter:
		p.now.Store(&Stall{What: what, Since: now.Add(-wait)})
		return true
	case was != nil && wait < stallAfter:
		p.now.Store(nil)
		return true
	}
	return false
}

// Longest is how long the slowest operation under way has waited for the disk, and its name.
func (p *Stalls) Longest() (wait time.Duration, what string) {
	note := func(d time.Duration, name string) {
		if d > wait {
			wait, what = d, name
		}
	}
	note(p.archiveWait(), "the archive")
	for _, w := range p.o.Waiters {
		note(w.Wait(), w.Name)
	}
	return wait, what
}

// Run watches until ctx ends. A try of the disk that never ends is left behind; so is the
// writer that it waits for.
func (p *Stalls) Run(ctx context.Context) error {
	var tries sync.WaitGroup
	defer tries.Wait()
	look, try := ticks.New(LookEvery), ticks.New(tryEvery)
	defer look.Stop()
	defer try.Stop()
	var trying atomic.Bool
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-try.C:
			if trying.CompareAndSwap(false, true) {
				tries.Go(func() {
					defer trying.Store(false)
					_ = p.o.Try(ctx) // a failure has ended the writer, and thereby the node
				})
			}
		case <-look.C:
			wait, who := p.Longest()
			if p.judge(time.Now(), wait, who) {
				p.o.Changed(p.Stalled(), wait)
			}
		}
	}
}
