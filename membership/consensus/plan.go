package consensus

import (
	"cmp"
	"maps"
	"slices"

	"crawlnode/crawl"
)

// Status is a node's own status in its gossip metadata.
type Status uint8

// The statuses of a node, in the order in which a boot goes through them. The
// numbers are gossiped.
const (
	// Joining: this boot is in no view yet.
	Joining Status = iota
	// Active: a view lists this boot.
	Active
	// Draining: it wants to own nothing any more.
	Draining
	// Leaving: it holds nothing any more and asks to be removed.
	Leaving
	// Left: it is about to end, in or out of the view.
	Left
)

var statusNames = [...]string{"joining", "active", "draining", "leaving", "left"}

func (s Status) String() string { return statusNames[min(s, Left)] }

// Sighting is a node that is alive in gossip, as its own metadata describe it. It
// proposes changes and decides nothing.
type Sighting struct {
	ID                crawl.NodeID
	Name              string
	Boot              crawl.Boot
	Status            Status
	RPC, HTTP, Gossip string
	Process
	Place
	// Unanswered says that calls to this boot are not answered, as far as this node knows:
	// it is not admitted. A member that can call, but that nobody can call, would be given
	// partitions that never arrive.
	Unanswered bool
}

// sightings are the nodes that are alive in gossip. They are replaced, never changed.
type sightings struct {
	nodes []Sighting     // as they were given
	ids   []crawl.NodeID // sorted
	byID  map[crawl.NodeID]Sighting
}

func sightingsOf(nodes []Sighting) sightings {
	s := sightings{nodes: slices.Clone(nodes), byID: make(map[crawl.NodeID]Sighting, len(nodes))}
	for _, n := range nodes {
		s.byID[n.ID] = n
	}
	s.ids = slices.Sorted(maps.Keys(s.byID))
	return s
}

// outlook is what a core knows of the nodes around an installed view.
type outlook struct {
	seen       sightings
	verdict    func(Member) verdict
	admissible func(crawl.NodeID) bool // may join: it was heard lately
	forgotten  []crawl.NodeID          // sorted, none barred by the view yet
}

// next returns the view that should follow v, or nil when no change is needed. It is
// only a proposal: a decision makes it a view.
//
// Several changes may go into one view:
//   - a restarted member is listed with its new boot and keeps its Since;
//   - a member that has changed its weight or zone is listed with them. Such a view has the same
//     members, boots and Since as the one before, so nobody's right to anything ends by it:
//     the table changes, and partitions move between the living;
//   - a node with the status joining that was heard and that answers calls is admitted,
//     unless its name is another member's, it is barred, exactly this boot has left before, or the
//     partitions are too few. It may have been excluded before: then it joins
//     anew, with a new Since;
//   - a member that is dead or forgotten, or that enough voters find silent, is removed,
//     draining or not;
//   - a member that drains is marked, as long as one active member remains;
//     if all of them want to drain, none is marked: they stop and stay;
//   - a marked member that asks to be removed is.
//
// There is always an active member left: when all of them seem to be gone, they stay,
// and no other member is removed either, since none could take over.
//
// Gossip alone never removes a member: it cannot tell a dead node from a cut link.
func next(v *View, o outlook) *View {
	d := draft{members: v.Members, left: v.Left, barred: v.Barred, number: v.Number + 1, capacity: v.Cluster.Partitions}
	changed := false
	for _, id := range o.seen.ids {
		s := o.seen.byID[id]
		if slices.Contains(o.forgotten, id) || v.Bars(id) {
			continue
		}
		if i, ok := find(d.members, id); ok {
			changed = d.relist(i, s) || changed
		} else if o.admissible(id) {
			changed = d.admit(s) || changed
		}
	}
	excluded, served := d.exclude(v, o)
	changed = excluded || changed
	if served {
		changed = d.release(o.seen.byID) || changed
		changed = d.markDraining(o.seen.byID) || changed
	}
	if !changed {
		return nil
	}
	slices.SortFunc(d.removed, func(a, b Removal) int { return cmp.Compare(a.ID, b.ID) })
	return &View{Number: d.number, Cluster: v.Cluster, Members: d.members, Left: d.left, Removed: d.removed, Barred: d.barred}
}

// draft is a view in the making. Its lists are those of the view before until they change:
// most drafts change nothing, and one is made each tick.
type draft struct {
	members  []Member // sorted by id
	owned    bool     // members is a copy
	left     []Departure
	removed  []Removal
	barred   []crawl.NodeID // sorted
	number   crawl.Epoch
	capacity int
}

// edit makes members a copy, before it is changed in place.
func (d *draft) edit() {
	if !d.owned {
		d.members, d.owned = slices.Clone(d.members), true
	}
}

// exclude removes the members of v that are gone and bars the forgotten ones.
// served says that an active member is left that is not gone. If none would be
// left, exclude does nothing until a member can take over.
func (d *draft) exclude(v *View, o outlook) (changed, served bool) {
	var removed []Removal
	for i := range d.members {
		m := &d.members[i]
		judged := stay
		if v.Lists(m.ID, m.Boot) {
			judged = o.verdict(*m)
		}
		if judged == stay {
			served = served || !m.Draining
			continue
		}
		removed = append(removed, Removal{ID: m.ID, Boot: m.Boot, Name: m.Name, Proved: judged == dropDead})
	}
	if !served {
		return false, false
	}
	if len(removed) > 0 {
		d.edit()
		d.members = slices.DeleteFunc(d.members, func(m Member) bool {
			return slices.ContainsFunc(removed, func(r Removal) bool { return r.ID == m.ID })
		})
		d.removed = removed
	}
	if len(o.forgotten) > 0 {
		d.barred = slices.Sorted(slices.Values(slices.Concat(d.barred, o.forgotten)))
	}
	return len(removed)+len(o.forgotten) > 0, true
}

// release takes out the members that are marked as draining and ask for it.
// One that is not marked yet is marked first: while the table names it,
// partitions may be moving towards it.
func (d *draft) release(seen map[crawl.NodeID]Sighting) bool {
	leaves := func(m Member) bool {
		if !m.Draining {
			return false
		}
		s := seen[m.ID]
		return m.Boot == s.Boot && s.Status == Leaving
	}
	if !slices.ContainsFunc(d.members, leaves) {
		return false
	}
	d.edit()
	d.left = slices.Clone(d.left)
	d.members = slices.DeleteFunc(d.members, func(m Member) bool {
		if !leaves(m) {
			return false
		}
		d.left = append(d.left, Departure{ID: m.ID, Boot: m.Boot})
		d.removed = append(d.removed, Removal{ID: m.ID, Boot: m.Boot, Name: m.Name, Proved: true})
		return true
	})
	d.left = d.left[max(len(d.left)-maxDepartures, 0):]
	return true
}

// relist gives a restarted member its new boot, and one that has moved its new place. The
// restart ends a drain.
func (d *draft) relist(i int, s Sighting) bool {
	if old := &d.members[i]; s.Boot == old.Boot && s.Status != Left && s.Place.later(old.Place) {
		d.edit()
		d.members[i].Place = s.Place
		return true
	}
	if s.Boot <= d.members[i].Boot || s.Status == Left {
		return false
	}
	d.edit()
	m := &d.members[i]
	if !d.named(s.Name, s.ID) {
		m.Name = s.Name
	}
	m.Boot, m.Draining = s.Boot, false
	m.RPC, m.HTTP, m.Gossip, m.Process, m.Place = s.RPC, s.HTTP, s.Gossip, s.Process, s.Place
	return true
}

func (d *draft) admit(s Sighting) bool {
	if s.Status != Joining || d.named(s.Name, s.ID) || len(d.members) >= d.capacity {
		return false
	}
	if slices.ContainsFunc(d.left, func(l Departure) bool { return l.ID == s.ID && l.Boot >= s.Boot }) {
		return false
	}
	d.left = slices.DeleteFunc(slices.Clone(d.left), func(l Departure) bool { return l.ID == s.ID })
	d.edit()
	i, _ := find(d.members, s.ID)
	d.members = slices.Insert(d.members, i, Member{
		ID: s.ID, Name: s.Name, Boot: s.Boot, Since: d.number, RPC: s.RPC, HTTP: s.HTTP, Gossip: s.Gossip, Process: s.Process, Place: s.Place,
	})
	return true
}

// named reports whether another member than id has the name.
func (d *draft) named(name string, id crawl.NodeID) bool {
	return slices.ContainsFunc(d.members, func(m Member) bool { return m.Name == name && m.ID != id })
}

func (d *draft) markDraining(seen map[crawl.NodeID]Sighting) bool {
	var mark []int
	active := 0
	for i := range d.members {
		m := &d.members[i]
		if m.Draining {
			continue
		}
		active++
		if s, ok := seen[m.ID]; ok && s.Boot == m.Boot && (s.Status == Draining || s.Status == Leaving) {
			mark = append(mark, i)
		}
	}
	if len(mark) == active {
		return false
	}
	for _, i := range mark {
		d.edit()
		d.members[i].Draining = true
	}
	return len(mark) > 0
}
