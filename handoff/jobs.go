package handoff

import (
	"context"
	"slices"

	"crawlnode/crawl"
)

// This file hands out the copies to be made. One of a few kilobytes costs its nodes
// nothing but three waits for their writers, and a member that leaves, or is lost,
// leaves hundreds of them behind: many of those are under way at once. Of large ones
// few are, for each holds a snapshot open and keeps what is stored meanwhile.

// copyClass is small or large.
type copyClass uint8

const (
	smallCopy copyClass = iota
	largeCopy
	copyClasses
)

const (
	// smallBytes is what a small copy has at most, by the store's estimate.
	smallBytes = 512 << 10
	// maxPending bounds the mutations of one partition whose copy is being made,
	// maxPendingSmall those of one whose copy is small.
	maxPending      = 16 << 20
	maxPendingSmall = 4 << 20
)

// copySlots bounds the copies that leave this node at once, and the copiers of one
// other node.
var copySlots = [copyClasses]int{smallCopy: 16, largeCopy: 4}

// copyJob is a snapshot to be sent; f is nil when the receiver only asked for it.
type copyJob struct {
	p     crawl.Partition
	f     *flow
	class copyClass
}

// newJob judges a copy when it is ordered. The partition may grow until it is made;
// that costs no more than its place among the small ones.
func (r *replica) newJob(p crawl.Partition, f *flow) copyJob {
	j := copyJob{p: p, f: f, class: smallCopy}
	if r.d.opts.Store.Size(p) > smallBytes {
		j.class = largeCopy
	}
	return j
}

// spur starts copiers for jobs that wait, as many as there may be. They end when
// nothing is left for them, and their streams with them.
func (rs *replicas) spur(r *replica) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	if rs.ended || r.ctx.Err() != nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	var waiting [copyClasses]int
	for _, j := range r.jobs {
		waiting[j.class]++
	}
	for class := range copyClasses {
		for range min(waiting[class], copySlots[class]-r.copiers[class]) {
			r.copiers[class]++
			rs.d.wg.Go(func() { r.copyLoop(r.ctx, class) })
		}
	}
}

// nextJob takes the first job of a class that may be begun: a partition has one copy
// on its way to a node at a time, for a second one would end the first over there.
// False ends the copier.
func (r *replica) nextJob(class copyClass) (copyJob, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.jobs = slices.DeleteFunc(r.jobs, func(j copyJob) bool { return j.f != nil && j.f.over })
	for i, j := range r.jobs {
		if _, busy := r.making[j.p]; busy || j.class != class {
			continue
		}
		r.jobs = slices.Delete(r.jobs, i, i+1)
		r.making[j.p] = j.f == nil
		if j.f != nil && class == smallCopy {
			j.f.room = maxPendingSmall
		}
		return j, true
	}
	r.copiers[class]--
	return copyJob{}, false
}

// jobOver lets another copy of the partition begin.
func (r *replica) jobOver(j copyJob) {
	r.mu.Lock()
	delete(r.making, j.p)
	more := len(r.jobs) > 0
	r.mu.Unlock()
	if more { // one of the other class may have waited for this one
		r.d.peers.spur(r)
	}
}

// copyLoop makes copies, one after the other over one stream of its own. While
// one waits for the other node, those of other loops go on.
func (r *replica) copyLoop(ctx context.Context, class copyClass) {
	var stream *watchedStream
	defer func() {
		if stream != nil {
			stream.close()
		}
	}()
	for {
		j, ok := r.nextJob(class)
		if !ok {
			return
		}
		slots := r.d.peers.slots[class]
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			return
		}
		var err error
		if stream == nil {
			stream, err = r.openCopies(ctx)
		}
		if err == nil {
			err = r.copy(ctx, stream, j)
		}
		<-slots
		r.jobOver(j)
		if err == nil {
			continue
		}
		if ctx.Err() == nil {
			r.d.opts.Logger.Debug("a copy was not made", "partition", j.p, "peer", r.id, "error", err)
		}
		if j.f != nil {
			r.give([]*flow{j.f})
		}
		if stream != nil {
			stream.close()
			stream = nil
		}
	}
}
