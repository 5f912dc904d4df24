package membership

import (
	"context"
	"errors"
	"fmt"

	"crawlnode/crawl"
	"crawlnode/membership/consensus"
	"crawlnode/membership/storage"
	"crawlnode/ring"
)

// A node's weight and zone come from its flags, and may be changed while it runs. A change is on
// the disk before it is announced, and holds over restarts until the node is started with another
// flag than at the change. Gossip spreads it, and a view makes it count.

// Place is a node's weight and zone.
type Place = consensus.Place

// ErrPlace: no node can have that weight or zone.
var ErrPlace = errors.New("membership: not a weight or a zone")

// CheckPlace returns an error if a node cannot have that weight, 1 to 16, or zone.
func CheckPlace(weight int, zone string) error {
	if weight < 1 || weight > ring.MaxWeight {
		return fmt.Errorf("%w: weight %d must lie within 1 and %d", ErrPlace, weight, ring.MaxWeight)
	}
	if err := (Place{Zone: zone}).Validate(); err != nil {
		return fmt.Errorf("%w: %w", ErrPlace, err)
	}
	return nil
}

// PlaceChange says what changes; nil stays.
type PlaceChange struct {
	Weight *int
	Zone   *string
}

// placing is a request of SetPlace that waits for the loop.
type placing struct {
	change PlaceChange
	reply  chan error // cap 1
}

// SetPlace changes this node's weight, or zone, or both. When it returns nil the change is durable
// and on its way; AwaitPlace waits for the view. Errors: ErrPlace, ErrStopped, ctx's error.
func (m *Membership) SetPlace(ctx context.Context, c PlaceChange) error {
	weight, zone := 1, ""
	if c.Weight != nil {
		weight = *c.Weight
	}
	if c.Zone != nil {
		zone = *c.Zone
	}
	if err := CheckPlace(weight, zone); err != nil {
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
			if at, ok := v.Member(id); ok && c.fits(at.Place) {
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

func (c PlaceChange) fits(p Place) bool {
	return (c.Weight == nil || *c.Weight == p.Share()) && (c.Zone == nil || *c.Zone == p.Zone)
}

// setPlace carries out a request of SetPlace. Its error is the storage's, which ends the process.
func (l *loop) setPlace(p placing) error {
	if p.change.fits(l.m.place) {
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
	place.Changes++
	err := l.save()
	if err == nil {
		l.m.o.Logger.Info("weight and zone changed", "weight", place.Share(), "zone", place.Zone)
	}
	p.reply <- err
	return err
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
