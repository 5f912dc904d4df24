package consensus

import (
	"encoding/hex"
	"errors"
	"fmt"
	"slices"

	"crawlnode/crawl"
)

// Delta is a view told by what it changes in the one before. With a thousand members a view has
// 200 KB; most views change one member. Who has the view before makes the whole of it: Apply.
type Delta struct {
	// Base is the number of the view that is changed; the view told is Base+1.
	Base crawl.Epoch `json:"base"`
	// Sum is the Digest of the view told.
	Sum string `json:"sum"`
	// Put are the members that Base does not list, or not so; Gone are the ids that it lists and
	// the view told does not. Both are sorted by id.
	Put  []Member       `json:"put,omitempty"`
	Gone []crawl.NodeID `json:"gone,omitempty"`
	// LeftOut are the departures of Base that are no longer kept, LeftIn those that follow.
	LeftOut []Departure `json:"left_out,omitempty"`
	LeftIn  []Departure `json:"left_in,omitempty"`
	// Removed is the view's list, which says what it dropped against Base.
	Removed []Removal `json:"removed,omitempty"`
	// Barred are the ids that Base does not bar, sorted. None is ever taken back.
	Barred []crawl.NodeID `json:"barred,omitempty"`
}

// errDelta says that a delta does not make the view that it tells from the base given.
var errDelta = errors.New("the change does not fit the view before")

// deltaOf tells v by what it changes in base, or returns nil when that cannot be told.
func deltaOf(base, v *View) *Delta {
	d := &Delta{Base: base.Number, Sum: v.Digest(), Removed: v.Removed}
	for _, m := range v.Members {
		if old, ok := base.Member(m.ID); !ok || old != m {
			d.Put = append(d.Put, m)
		}
	}
	for _, m := range base.Members {
		if _, ok := find(v.Members, m.ID); !ok {
			d.Gone = append(d.Gone, m.ID)
		}
	}
	d.LeftOut, d.LeftIn = without(base.Left, v.Left), without(v.Left, base.Left)
	d.Barred = without(v.Barred, base.Barred)
	if _, err := d.Apply(base); err != nil {
		return nil // such as a view of another cluster, or one that does not follow base
	}
	return d
}

// without returns the elements of a that are not in b, in their order.
func without[T comparable](a, b []T) []T {
	return slices.DeleteFunc(slices.Clone(a), func(x T) bool { return slices.Contains(b, x) })
}

// Apply makes the view told of the one before. It is that view to the byte, or an error.
func (d *Delta) Apply(base *View) (*View, error) {
	if base.Number != d.Base {
		return nil, fmt.Errorf("%w: it changes view %d, not %d", errDelta, d.Base, base.Number)
	}
	v := &View{Number: d.Base + 1, Cluster: base.Cluster, Removed: d.Removed}
	v.Members = slices.DeleteFunc(slices.Clone(base.Members), func(m Member) bool {
		_, put := find(d.Put, m.ID)
		_, gone := slices.BinarySearch(d.Gone, m.ID)
		return put || gone
	})
	v.Members = append(v.Members, d.Put...)
	slices.SortFunc(v.Members, compareIDs)
	v.Left = append(without(base.Left, d.LeftOut), d.LeftIn...)
	v.Barred = append(slices.Clone(base.Barred), d.Barred...)
	slices.Sort(v.Barred)
	if err := v.Validate(); err != nil {
		return nil, fmt.Errorf("%w: %w", errDelta, err)
	}
	if v.Digest() != d.Sum {
		return nil, fmt.Errorf("%w: another view %d comes out", errDelta, v.Number)
	}
	return v, nil
}

// validate checks a delta that came from outside. Apply checks the rest with the view before.
func (d *Delta) validate() error {
	if raw, err := hex.DecodeString(d.Sum); err != nil || len(raw) != digestBytes {
		return fmt.Errorf("digest %q is not %d hex digits", d.Sum, 2*digestBytes)
	}
	if d.Base < 1 || d.Base >= MaxNumber {
		return fmt.Errorf("a change of view %d, which is out of range", d.Base)
	}
	return nil
}

// tell gives a message to a member its view: as a delta when the member has the view before, by
// all that this node knows, and reads deltas; else as a whole.
func (c *Core) tell(to crawl.NodeID, m Message, base, v *View, d *Delta) Send {
	m.View = v
	boot, reads := c.readsDeltas[to]
	// A newer boot of the member may be of an earlier release.
	if reads && d != nil && base.Lists(to, boot) && c.newer[to] <= boot {
		m.View, m.Delta = nil, d
	}
	return c.send(to, m)
}

// catchUp answers a message of a node whose view is older. A vote shows that it is in time, or nearly
// so: it gets the delta. Who could not use that says hello, and gets the whole.
func (c *Core) catchUp(m Message) Send {
	answer := Message{Kind: KindDecided}
	if c.before == nil || m.Number != c.before.Number || m.Kind == KindHello || m.Kind == KindHere {
		answer.View = c.state.View
		return c.send(m.From, answer)
	}
	if c.delta == nil {
		c.delta = deltaOf(c.before, c.state.View)
	}
	return c.tell(m.From, answer, c.before, c.state.View, c.delta)
}

// whole gives a message that tells its view as a delta the view itself. Without the view before, the
// message counts as a hello of its sender: whichever of the two nodes is behind gets the newest view
// as a whole then.
func (c *Core) whole(m Message) Message {
	d := m.Delta
	if d == nil {
		return m
	}
	m.Delta = nil
	switch v := c.state.View; {
	case c.told != nil && c.told.Number == d.Base+1 && c.toldSum == d.Sum:
		m.View = c.told // what was accepted is decided now
	case v != nil:
		told, err := d.Apply(v)
		if err == nil {
			m.View, c.told, c.toldSum = told, told, d.Sum
		}
	}
	if m.View == nil {
		m.Kind, m.Ballot = KindHello, Ballot{}
	}
	return m
}
