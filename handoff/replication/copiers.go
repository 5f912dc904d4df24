package replication

import (
	"context"
	"slices"

	"crawlnode/crawl"
)

// This file decides which copies are made next. A copy of a few kilobytes costs its nodes
// three waits for their writers and nothing else, and there are hundreds of them to make
// after a member has left or is lost: many small ones are under way at once. Of large
// ones few are, because each holds a snapshot open and keeps what is stored meanwhile.

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

// copySlots bounds the copies that leave this node at once, and the copiers for one
// other node.
var copySlots = [copyClasses]int{smallCopy: 16, largeCopy: 4}

// copyJob is a snapshot to be sent; link is nil when the receiver has asked for it.
type copyJob struct {
	p     crawl.Partition
	link  *link
	class copyClass
}

// newJob sorts a copy into its class when it is ordered. The partition may grow until the
// copy is made; then a large one takes the place of a small one, no more.
func (r *replica) newJob(p crawl.Partition, l *link) copyJob {
	j := copyJob{p: p, link: l, class: smallCopy}
	if r.rs.opts.Store.Size(p) > smallBytes {
		j.class = largeCopy
	}
	return j
}

// startCopiers starts copiers for jobs that wait, within the bounds. They end when
// nothing is left for them, and their streams with them.
func (rs *Replicas) startCopiers(r *replica) {
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
			rs.wg.Go(func() { r.copyLoop(r.ctx, class) })
		}
	}
}

// nextJob takes the first job of a class that may be begun: a partition has one copy
// on its way to a node at a time, because a second one would end the first over there.
// False ends the copier.
func (r *replica) nextJob(class copyClass) (copyJob, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.jobs = slices.DeleteFunc(r.jobs, func(j copyJob) bool { return j.link != nil && j.link.over })
	for i, j := range r.jobs {
		if _, busy := r.making[j.p]; busy || j.class != class {
			continue
		}
		r.jobs = slices.Delete(r.jobs, i, i+1)
		r.making[j.p] = j.link == nil
		if j.link != nil && class == smallCopy {
			j.link.room = maxPendingSmall
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
		r.rs.startCopiers(r)
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
		slots := r.rs.slots[class]
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
			r.rs.opts.Logger.Debug("a copy was not made and will be tried again", "partition", j.p,
				"peer", r.id, "error", err)
		}
		if j.link != nil {
			r.failLinks([]*link{j.link})
		}
		if stream != nil {
			stream.close()
			stream = nil
		}
	}
}
