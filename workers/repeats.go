package workers

import (
	"context"

	"crawlnode/crawl"
	"crawlnode/web/urlnorm"
)

// writing is one call's results on their way to the disks. Another call that repeats one of them
// must not be answered earlier: its worker would forget a result that a node may still lose.
type writing struct {
	done  chan struct{} // closed when they are stored here
	tags  []crawl.LeaseTag
	waits []<-chan struct{} // done of those calls that this one repeats
	again []crawl.Visit     // of which only the partition is known: what this call repeats
}

func newWriting() *writing { return &writing{done: make(chan struct{})} }

// settles notes that a result of this call counts. With mu held.
func (d *Desk) settles(w *writing, tag crawl.LeaseTag) {
	w.tags = append(w.tags, tag)
	d.writes[tag] = w
}

// repeats notes that a result counted before. With mu held.
func (d *Desk) repeats(w *writing, tag crawl.LeaseTag, url string) {
	other := d.writes[tag]
	if other == w {
		return // in this very call
	}
	if other != nil {
		w.waits = append(w.waits, other.done)
	}
	if u, err := urlnorm.Parse(url); err == nil {
		w.again = append(w.again,
			crawl.Visit{Lease: crawl.Lease{Partition: d.o.Node.Partition(crawl.Host(u.Host()))}})
	}
}

// stored ends the call's writing. It comes before awaitRepeats, so no two calls wait for each
// other.
func (d *Desk) stored(w *writing) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, tag := range w.tags {
		delete(d.writes, tag)
	}
	close(w.done)
}

// awaitRepeats waits until what was repeated is stored here and at the replicas.
func (d *Desk) awaitRepeats(ctx context.Context, w *writing) error {
	if len(w.again) == 0 {
		return nil
	}
	for _, done := range w.waits {
		<-done
	}
	return awaitCopied(ctx, d.copied(w.again), w.again)
}
