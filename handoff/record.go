package handoff

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"crawlnode/crawl"
)

// recorder stores in-sync sets with more than half of the view: one batch at a
// time, what comes meanwhile goes into the next.
type recorder struct {
	d    *Driver
	wake chan struct{} // capacity 1

	mu      sync.Mutex // guards the rest
	pending map[crawl.Partition]Set
	live    map[crawl.Partition]crawl.Epoch // tenures that have not ended
	view    crawl.Epoch
	members []crawl.NodeID
}

// recordAgain is the pause after a batch that not enough members have stored.
const recordAgain = 100 * time.Millisecond

// recordGrace is how long the rest of the members may take to store a set that
// more than half have stored.
const recordGrace = 100 * time.Millisecond

// maxRecords bounds one batch.
const maxRecords = 8192

func newRecorder(d *Driver) *recorder {
	return &recorder{d: d, wake: make(chan struct{}, 1), pending: map[crawl.Partition]Set{}, live: map[crawl.Partition]crawl.Epoch{}}
}

func (r *recorder) add(a Record) {
	r.mu.Lock()
	r.pending[a.P], r.live[a.P] = a.Set, a.Set.Epoch
	r.mu.Unlock()
	signal(r.wake)
}

// forget drops what is not recorded yet: the tenure has ended.
func (r *recorder) forget(p crawl.Partition) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.pending, p)
	delete(r.live, p)
}

func (r *recorder) setView(view crawl.Epoch, members []crawl.NodeID) {
	r.mu.Lock()
	r.view, r.members = view, members
	r.mu.Unlock()
	signal(r.wake)
}

// take removes a batch.
func (r *recorder) take() (batch map[crawl.Partition]Set, view crawl.Epoch, members []crawl.NodeID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	batch = map[crawl.Partition]Set{}
	for p, s := range r.pending {
		if len(batch) == maxRecords {
			signal(r.wake)
			break
		}
		batch[p] = s
		delete(r.pending, p)
	}
	return batch, r.view, r.members
}

// putBack keeps what was not recorded, unless something newer has come or the
// tenure has ended.
func (r *recorder) putBack(p crawl.Partition, s Set) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, newer := r.pending[p]; !newer && r.live[p] == s.Epoch {
		r.pending[p] = s
	}
}

// run works until ctx ends. Its error is the disk's.
func (r *recorder) run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-r.wake:
		}
		batch, view, members := r.take()
		if len(batch) == 0 {
			continue
		}
		if err := r.d.opts.Store.PutSets(ctx, batch); err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return fmt.Errorf("handoff: store the in-sync sets of %d partitions: %w", len(batch), err)
		}
		if !r.spread(ctx, batch, view, members) {
			select {
			case <-ctx.Done():
				return nil
			case <-time.After(recordAgain):
			}
			signal(r.wake)
		}
	}
}

// spread sends a batch to the members and counts. False: some of it has to be
// tried again.
func (r *recorder) spread(ctx context.Context, batch map[crawl.Partition]Set, view crawl.Epoch, members []crawl.NodeID) bool {
	stored := make(map[crawl.Partition]int, len(batch))
	for p, s := range batch {
		if !r.d.opts.Store.Set(p).newer(s) {
			stored[p] = 1 // here
		}
	}
	call := recordCall{View: view}
	for p, s := range batch {
		call.Sets = append(call.Sets, partSet{P: p, Set: s})
	}
	others := slices.DeleteFunc(slices.Clone(members), func(id crawl.NodeID) bool { return id == r.d.opts.Self })
	r.gather(ctx, call, others, stored, len(members))
	all := true
	for p, s := range batch {
		if 2*stored[p] > len(members) && len(others) < len(members) {
			r.d.post(ctx, Recorded{P: p, Epoch: s.Epoch, Version: s.Version, View: view})
			continue
		}
		all = false
		r.putBack(p, s)
	}
	return all
}

// gather asks the others to store the sets and counts who has. Once more than
// half have everything it waits only a moment longer: one member that is stopped
// must not keep the set that leaves it out from being recorded.
func (r *recorder) gather(ctx context.Context, call recordCall, others []crawl.NodeID, stored map[crawl.Partition]int, members int) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	replies := make(chan recordReply, len(others))
	for _, id := range others {
		r.d.wg.Go(func() {
			var reply recordReply
			if err := r.d.call(ctx, id, callRecord, call, &reply); err != nil {
				r.d.opts.Logger.Debug("in-sync sets were not recorded", "peer", id, "error", err)
			}
			replies <- reply
		})
	}
	var enough <-chan time.Time
	for range others {
		if enough == nil && !slices.ContainsFunc(call.Sets, func(s partSet) bool { return 2*stored[s.P] <= members }) {
			enough = time.After(recordGrace)
		}
		select {
		case reply := <-replies:
			for _, p := range slices.Compact(slices.Sorted(slices.Values(reply.Stored))) {
				stored[p]++
			}
		case <-enough:
			return
		}
	}
}

// signal sets a channel of capacity 1.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
