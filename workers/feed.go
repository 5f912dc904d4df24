package workers

import (
	"context"
	"slices"
	"time"

	"crawlnode/crawl"
)

// Feed is the pipeline's Source for the desk: the dispatcher, but a visit is asked for only while
// somebody in the line wants one, so that no host's turn is taken for nobody.
type Feed struct {
	Source
	desk *Desk
}

// Feed is the desk's Source.
func (d *Desk) Feed() Feed { return Feed{d.o.Source, d} }

// demand compares what the line wants with what is on its way to it.
type demand struct {
	asking []*asker            // calls of the dispatcher's Next
	coming map[uint64]struct{} // visits that were handed out and will reach the line
	idle   []chan struct{}     // those who wait until more is wanted; closed to wake them
}

// asker is one call of the dispatcher's Next.
type asker struct{ cancel context.CancelFunc }

// Next waits until the line wants a visit and the dispatcher has one.
func (f Feed) Next(ctx context.Context) (crawl.Visit, error) {
	for {
		a, asking, err := f.desk.mayAsk(ctx)
		if err != nil {
			return crawl.Visit{}, err
		}
		v, err := f.Source.Next(asking)
		cancelled := asking.Err() != nil
		f.desk.asked(a, &v, err == nil)
		if err == nil || !cancelled || ctx.Err() != nil {
			return v, err
		}
	}
}

// Release ends a visit's turn. What was on its way to the line has not come.
func (f Feed) Release(v crawl.Visit, r crawl.Response) {
	f.Source.Release(v, r)
	d := f.desk
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, came := d.demand.coming[v.ID]; came {
		delete(d.demand.coming, v.ID)
		d.wantMore()
	}
}

// short is how many more visits must be asked for. With mu held.
func (d *Desk) short() int {
	return d.line.Wanted() - len(d.demand.asking) - len(d.demand.coming)
}

// mayAsk waits until the line wants more than is on its way.
func (d *Desk) mayAsk(ctx context.Context) (*asker, context.Context, error) {
	for {
		d.mu.Lock()
		if d.short() > 0 {
			asking, cancel := context.WithCancel(ctx)
			a := &asker{cancel}
			d.demand.asking = append(d.demand.asking, a)
			d.mu.Unlock()
			return a, asking, nil
		}
		wake := make(chan struct{})
		d.demand.idle = append(d.demand.idle, wake)
		d.mu.Unlock()
		select {
		case <-wake:
		case <-ctx.Done():
			return nil, nil, context.Cause(ctx)
		}
	}
}

// asked says that a call has ended, with a visit or without. A visit that is spent on robots.txt
// does not reach the line, and may take long: somebody else asks in its place.
func (d *Desk) asked(a *asker, v *crawl.Visit, got bool) {
	a.cancel()
	d.mu.Lock()
	defer d.mu.Unlock()
	if i := slices.Index(d.demand.asking, a); i >= 0 {
		d.demand.asking = slices.Delete(d.demand.asking, i, i+1)
	}
	if got && v.Robots != nil && time.Now().Before(v.Robots.Expires) {
		d.demand.coming[v.ID] = struct{}{}
	}
	d.wantMore()
}

// wantMore wakes as many as must ask. With mu held.
func (d *Desk) wantMore() {
	n := min(max(d.short(), 0), len(d.demand.idle))
	for _, wake := range d.demand.idle[:n] {
		close(wake)
	}
	d.demand.idle = slices.Delete(d.demand.idle, 0, n)
}

// wantLess ends calls that nobody waits for. With mu held.
func (d *Desk) wantLess() {
	for d.short() < 0 && len(d.demand.asking) > 0 {
		last := len(d.demand.asking) - 1
		d.demand.asking[last].cancel()
		d.demand.asking = d.demand.asking[:last]
	}
}
