package frontier

import (
	"context"
	"time"

	"crawlnode/crawl"
	"crawlnode/frontier/layout"
)

// Due is a planned page of a held partition.
type Due struct {
	Partition crawl.Partition
	Epoch     crawl.Epoch // in which it was read
	layout.DuePlace
	At time.Time // when its time comes, in this process
	Estimate
}

// Visit reports whether the page is visited at its time; otherwise it is planned anew (Replan).
func (d *Due) Visit() bool { return d.Flags&layout.DueVisit != 0 }

// DueCursor is a place in the order of due times, or of records without a plan; "" is its start. It is
// an opaque string.
type DueCursor string

// DueHead returns the earliest due time of a held partition, also one that has come; ok is false when
// no page is planned. It costs no read of the store unless the head was taken since the last call.
func (f *Frontier) DueHead(p crawl.Partition) (at time.Time, ok bool, err error) {
	panic("BUG: not yet")
}

// Due reads up to n planned pages of a held partition that are due at until or before, the earliest first.
func (f *Frontier) Due(p crawl.Partition, until time.Time, n int) ([]Due, error) {
	panic("BUG: not yet")
}

// Planned reads up to n planned pages behind a place, in the order of their times. With less than n the
// end is reached.
func (f *Frontier) Planned(p crawl.Partition, after DueCursor, n int) ([]Due, DueCursor, error) {
	panic("BUG: not yet")
}

// EachPlanned calls visit with what each planned page of a held partition counts for, in one pass over a
// snapshot, until it returns false. Pages that wait in a queue are not among them.
func (f *Frontier) EachPlanned(p crawl.Partition, visit func(Estimate) bool) error {
	panic("BUG: not yet")
}

// MoveDue puts planned pages into the queues of their hosts, in band 0, and counts them. It is cut into
// several atomic pieces. A page that was moved, planned anew or completed since it was read is left alone.
// It fails with ErrNotHolder when a partition is not held in the epoch in which its page was read; those before it
// may have been moved.
func (f *Frontier) MoveDue(ctx context.Context, pages []Due) (moved int, err error) {
	panic("BUG: not yet")
}

// Replan has the judge plan pages anew, and moves those whose visit has come by the new plan; it counts these.
// As to repeats and errors it is as MoveDue.
func (f *Frontier) Replan(ctx context.Context, pages []Due) (moved int, err error) {
	panic("BUG: not yet")
}

// Unplanned is a done page without a plan: it was done while no page was visited again.
type Unplanned struct {
	Partition   crawl.Partition
	Epoch       crawl.Epoch
	Host        crawl.Host
	Fingerprint layout.Fingerprint
}

// Unplanned looks at up to n records behind a place and returns those of done pages without a plan.
// done says that the end is reached.
func (f *Frontier) Unplanned(p crawl.Partition, after DueCursor, n int) (pages []Unplanned, next DueCursor, done bool, err error) {
	panic("BUG: not yet")
}

// PlanFirst has the judge plan done pages for the first time, as MoveDue moves them.
func (f *Frontier) PlanFirst(ctx context.Context, pages []Unplanned) (planned int, err error) {
	panic("BUG: not yet")
}
