package pipeline

import (
	"context"
	"sync"
	"sync/atomic"
)

// parked are the workers beyond Options.Limit, which wait until it grows. The first workers go on,
// so that what each has in memory is used again.
type parked struct {
	limit atomic.Int64 // as a worker saw it last
	mu    sync.Mutex   // guards ended, and no worker is between its check and its wait
	grown *sync.Cond
	ended bool // there are no more visits
}

func newParked() *parked {
	k := &parked{}
	k.grown = sync.NewCond(&k.mu)
	return k
}

// park blocks while the i-th worker is beyond the limit, until ctx ends or the visits do. A worker
// that is not, and sees that the limit has grown, wakes the others.
func (p *Pipeline) park(ctx context.Context, i int) {
	if p.o.Limit == nil {
		return
	}
	k, limit := p.parked, int64(p.o.Limit())
	if k.limit.Load() != limit && k.limit.Swap(limit) < limit {
		k.wake()
	}
	if int64(i) < limit {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for int64(i) >= k.limit.Load() && !k.ended && ctx.Err() == nil {
		k.grown.Wait()
	}
}

// wake makes the workers that wait look again.
func (k *parked) wake() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.grown.Broadcast()
}

// end lets all workers find out that there are no more visits.
func (k *parked) end() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.ended = true
	k.grown.Broadcast()
}
