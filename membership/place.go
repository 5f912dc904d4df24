package membership

import (
	"context"
	"fmt"

	"crawlnode/crawl"
	"crawlnode/membership/consensus"
	"crawlnode/membership/storage"
)

// A node's weight and zone come from its flags, and may be changed while it runs. A change is on
// the disk before it is announced, and holds over restarts until the node is started with another
// flag than at the change. Gossip spreads it, and a view makes it count.

// Place is a node's weight and zone.
type Place = consensus.Place

// PlaceChange says what changes.
type PlaceChange = crawl.PlaceChange

// placing is a request of SetPlace that waits for the loop.
type placing struct {
	change PlaceChange
	reply  chan error // cap 1
}

// SetPlace changes this node's weight, or zone, or both. When it returns nil the change is durable
// and on its way; AwaitPlace waits for the view. Errors: crawl.ErrPlace, ErrStopped, ctx's error.
func (m *Membership) SetPlace(ctx context.Context, c PlaceChange) error {
	if err := c.Check(); err != nil {
		return err
	}
	p := placing{change: c, reply: make(chan error, 1)}
	select {
	case m.placings <- p:
	case <-m.stopped:
		return ErrStopped
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-p.reply:
		return err
	case <-m.stopped:
		return ErrStopped
	case <-ctx.Done():
		return ctx.Err()
	}
}

// AwaitPlace waits until a view that this node has installed lists a node with the change. Its
// errors are ErrStopped and ctx's.
func (m *Membership) AwaitPlace(ctx context.Context, id crawl.NodeID, c PlaceChange) error {
	changed := m.watchers.add()
	defer m.watchers.remove(changed)
	for {
		if v := m.View(); v != nil {
			if at, ok := v.Member(id); ok && fits(c, at.Place) {
				return nil
			}
		}
		select {
		case <-changed:
		case <-m.stopped:
			return ErrStopped
		case <-ctx.Done():
			return fmt.Errorf("membership: no view lists %s with it yet: %w", id, ctx.Err())
		}
	}
}

// fits reports whether a place has what a change asks for.
func fits(c PlaceChange, p Place) bool {
	return (c.Weight == nil || *c.Weight == p.Share()) && (c.Zone == nil || *c.Zone == p.Zone)
}

// setPlace carries out a request of SetPlace. Its error is the storage's, which ends the process.
func (l *loop) setPlace(p placing) error {
	if fits(p.change, l.m.place) {
		p.reply <- nil
		return nil
	}
	doc, place := &l.m.doc, &l.m.place
	if w := p.change.Weight; w != nil {
		place.Weight, doc.Weight = *w, &storage.Changed[int]{Value: *w, Flag: l.m.o.Weight}
	}
	if z := p.change.Zone; z != nil {
		place.Zone, doc.Zone = *z, &storage.Changed[string]{Value: *z, Flag: l.m.o.Zone}
	}
	err := l.moved()
	p.reply <- err
	return err
}

// moved stores a change of place; afterEvent announces it.
func (l *loop) moved() error {
	l.m.place.Changes++
	if err := l.save(); err != nil {
		return err
	}
	l.m.o.Logger.Info("weight and zone changed", "weight", l.m.place.Share(), "zone", l.m.place.Zone)
	return nil
}

// SetPlaceFlags takes over the flags that a running node has read again. One that differs from that
// of the start ends an earlier change of it. It returns at once, and may be called before Run.
func (m *Membership) SetPlaceFlags(weight int, zone string) {
	m.flags.Store(&Place{Weight: weight, Zone: zone})
	crawl.Signal(m.wished)
}

// takeFlags carries SetPlaceFlags out. Its error is the storage's.
func (l *loop) takeFlags() error {
	flags := l.m.flags.Swap(nil)
	if flags == nil {
		return nil
	}
	changed := false
	if flags.Weight != l.m.o.Weight {
		l.m.o.Weight, l.m.place.Weight, l.m.doc.Weight, changed = flags.Weight, flags.Weight, nil, true
	}
	if flags.Zone != l.m.o.Zone {
		l.m.o.Zone, l.m.place.Zone, l.m.doc.Zone, changed = flags.Zone, flags.Zone, nil, true
	}
	if !changed {
		return nil
	}
	return l.moved()
}

// placeOf is where a node starts: where its flags say, unless it was changed while it ran with
// these same flags.
func placeOf(o *Options, doc *storage.Document) Place {
	doc.Weight, doc.Zone = doc.Weight.Keep(o.Weight), doc.Zone.Keep(o.Zone)
	p := Place{Weight: o.Weight, Zone: o.Zone}
	if doc.Weight != nil {
		p.Weight = doc.Weight.Value
	}
	if doc.Zone != nil {
		p.Zone = doc.Zone.Value
	}
	return p
}
