package handoff

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"crawlnode/crawl"
	"crawlnode/handoff/machine"
	"crawlnode/handoff/wire"
)

// recorder stores in-sync sets with the members of the view: one batch at a time,
// what comes meanwhile goes into the next. A set counts when more than half have stored
// it; the others are told until they have it too, because those that have it may leave
// the view.
type recorder struct {
	d    *Driver
	wake chan struct{} // capacity 1

	mu      sync.Mutex // guards the rest
	pending map[crawl.Partition]Set
	late    map[crawl.Partition]Set         // that count, and that some members have not stored
	lateAt  time.Time                       // when those members are told again
	live    map[crawl.Partition]crawl.Epoch // tenures that have not ended
	view    crawl.Epoch
	members []crawl.NodeID
}

const (
	// recordAgain is the pause after a batch that not enough members have stored.
	recordAgain = 100 * time.Millisecond
	// recordLate is the pause before the members that did not store a set are told again.
	recordLate = time.Second
	// recordGrace is how long the rest of the members may take to store a set that
	// more than half have stored.
	recordGrace = 100 * time.Millisecond
	// maxRecords bounds one batch.
	maxRecords = 8192
)

func newRecorder(d *Driver) *recorder {
	return &recorder{d: d, wake: make(chan struct{}, 1), pending: map[crawl.Partition]Set{},
		late: map[crawl.Partition]Set{}, live: map[crawl.Partition]crawl.Epoch{}}
}

func (r *recorder) add(a machine.Record) {
	r.mu.Lock()
	r.pending[a.P], r.live[a.P] = a.Set, a.Set.Epoch
	delete(r.late, a.P)
	r.mu.Unlock()
	crawl.Signal(r.wake)
}

// forget drops what is not recorded yet: the tenure has ended.
func (r *recorder) forget(p crawl.Partition) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.pending, p)
	delete(r.late, p)
	delete(r.live, p)
}

func (r *recorder) setView(view crawl.Epoch, members []crawl.NodeID) {
	r.mu.Lock()
	r.view, r.members = view, members
	r.mu.Unlock()
	crawl.Signal(r.wake)
}

// batch is what is sent at once, and to whom.
type batch struct {
	sets    map[crawl.Partition]Set
	late    map[crawl.Partition]bool // of sets: they count already
	view    crawl.Epoch
	members []crawl.NodeID
}

// take removes a batch.
func (r *recorder) take(now time.Time) batch {
	r.mu.Lock()
	defer r.mu.Unlock()
	b := batch{sets: map[crawl.Partition]Set{}, late: map[crawl.Partition]bool{}, view: r.view,
		members: r.members}
	for p, s := range r.pending {
		if len(b.sets) == maxRecords {
			crawl.Signal(r.wake)
			return b
		}
		b.sets[p] = s
		delete(r.pending, p)
	}
	if now.Before(r.lateAt) {
		return b
	}
	for p, s := range r.late {
		if len(b.sets) == maxRecords {
			break
		}
		b.sets[p], b.late[p] = s, true
		delete(r.late, p)
	}
	return b
}

// putBack keeps what was not recorded, or not by all, unless something newer has
// come or the tenure has ended.
func (r *recorder) putBack(p crawl.Partition, s Set, counts bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, newer := r.pending[p]; newer || r.live[p] != s.Epoch {
		return
	}
	if counts {
		r.late[p] = s
	} else {
		r.pending[p] = s
	}
}

// run works until ctx ends. Its error is the disk's.
func (r *recorder) run(ctx context.Context) error {
	later := time.NewTimer(recordLate)
	defer later.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-r.wake:
		case <-later.C:
		}
		b := r.take(time.Now())
		if len(b.sets) == 0 {
			later.Reset(recordLate)
			continue
		}
		if err := r.d.opts.Store.PutSets(ctx, b.sets); err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return fmt.Errorf("handoff: store the in-sync sets of %d partitions: %w", len(b.sets), err)
		}
		r.dropOld(&b)
		if !r.spread(ctx, &b) {
			select {
			case <-ctx.Done():
				return nil
			case <-time.After(recordAgain):
			}
			crawl.Signal(r.wake)
		}
		later.Reset(recordLate)
	}
}

// dropOld leaves out sets that are older than the one on the disk here: another node
// holds the partition by now, or looks for its holder. No member would store them, and
// they would be sent for ever.
func (r *recorder) dropOld(b *batch) {
	for p, s := range b.sets {
		if r.d.opts.Store.Set(p).Newer(s) {
			delete(b.sets, p)
		}
	}
}

// spread sends a batch to the members and counts. False: some of it does not
// count yet.
func (r *recorder) spread(ctx context.Context, b *batch) bool {
	stored := make(map[crawl.Partition]int, len(b.sets))
	call := wire.Record{View: b.view}
	for p, s := range b.sets {
		stored[p] = 1 // here
		call.Sets = append(call.Sets, wire.PartSet{P: p, Set: s})
	}
	others := slices.DeleteFunc(slices.Clone(b.members),
		func(id crawl.NodeID) bool { return id == r.d.opts.Self })
	r.gather(ctx, call, others, stored, len(b.members))
	all := true
	for p, s := range b.sets {
		counts := b.late[p] || 2*stored[p] > len(b.members) && len(others) < len(b.members)
		if counts && !b.late[p] {
			r.d.post(ctx, machine.Recorded{P: p, Epoch: s.Epoch, Version: s.Version, View: b.view})
		}
		if stored[p] < len(b.members) {
			r.putBack(p, s, counts)
		}
		all = all && counts
	}
	r.mu.Lock()
	r.lateAt = time.Now().Add(recordLate)
	r.mu.Unlock()
	return all
}

// gather asks the others to store the sets and counts those that have. Once more than
// half have everything it waits only a moment longer: one member that is stopped
// must not keep the set that leaves it out from being recorded.
func (r *recorder) gather(
	ctx context.Context,
	call wire.Record,
	others []crawl.NodeID,
	stored map[crawl.Partition]int,
	members int,
) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	replies := make(chan wire.RecordReply, len(others))
	// once: a view may have many members, a batch many sets
	payload := r.d.encodeCall(wire.CallRecord, call)
	for _, id := range others {
		r.d.wg.Go(func() {
			var reply wire.RecordReply
			if err := r.d.callEncoded(ctx, id, wire.CallRecord, payload, &reply); err != nil {
				r.d.opts.Logger.Debug("in-sync sets were not recorded", "peer", id, "error", err)
			}
			replies <- reply
		})
	}
	var enough <-chan time.Time
	for range others {
		if enough == nil && !slices.ContainsFunc(call.Sets,
			func(s wire.PartSet) bool { return 2*stored[s.P] <= members }) {
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
