package membership

import (
	"maps"
	"slices"

	"crawlnode/crawl"
)

// Status is what a node says of itself in gossip.
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

// Sighting is a node that gossip holds for alive, as it describes itself. It
// proposes changes and decides nothing.
type Sighting struct {
	ID                crawl.NodeID
	Name              string
	Boot              crawl.Boot
	Status            Status
	RPC, HTTP, Gossip string
}

// next returns the view that should follow v for the nodes in sight, or nil
// when v fits them. It is a wish: only a decision makes it a view.
//
// Several changes may go into one view:
//   - a restarted member is listed with its new boot and keeps its Since;
//   - a node that is not listed is admitted, unless its name is another
//     member's, this very boot has left before, or the partitions are too few;
//   - a member that drains is marked, as long as one active member remains;
//     if all of them want to drain, none is marked: they stop and stay;
//   - a marked member that asks to be removed is.
//
// Nobody is removed for silence here: gossip cannot tell death from a cut.
func next(v *View, seen map[crawl.NodeID]Sighting) *View {
	d := draft{members: slices.Clone(v.Members), left: slices.Clone(v.Left), number: v.Number + 1, capacity: v.Cluster.Partitions}
	changed := false
	for _, id := range slices.Sorted(maps.Keys(seen)) {
		s := seen[id]
		if i, ok := find(d.members, id); ok {
			changed = d.remove(i, s) || d.relist(i, s) || changed
		} else {
			changed = d.admit(s) || changed
		}
	}
	changed = d.markDraining(seen) || changed
	if !changed {
		return nil
	}
	return &View{Number: d.number, Cluster: v.Cluster, Members: d.members, Left: d.left}
}

// draft is a view in the making.
type draft struct {
	members  []Member // sorted by id
	left     []Departure
	number   crawl.Epoch
	capacity int
}

// remove takes out a member that is marked as draining and asks for it. One
// that is not marked yet is marked first: while the table names it, partitions
// may be moving towards it.
func (d *draft) remove(i int, s Sighting) bool {
	m := d.members[i]
	if !m.Draining || m.Boot != s.Boot || s.Status != Leaving {
		return false
	}
	d.members = slices.Delete(d.members, i, i+1)
	d.left = append(d.left, Departure{ID: m.ID, Boot: m.Boot})
	if over := len(d.left) - maxDepartures; over > 0 {
		d.left = slices.Delete(d.left, 0, over)
	}
	return true
}

// relist gives a restarted member its new boot. The restart ends a drain.
func (d *draft) relist(i int, s Sighting) bool {
	m := &d.members[i]
	if s.Boot <= m.Boot || s.Status == Left {
		return false
	}
	if !d.named(s.Name, s.ID) {
		m.Name = s.Name
	}
	m.Boot, m.Draining = s.Boot, false
	m.RPC, m.HTTP, m.Gossip = s.RPC, s.HTTP, s.Gossip
	return true
}

func (d *draft) admit(s Sighting) bool {
	if s.Status != Joining && s.Status != Active || d.named(s.Name, s.ID) || len(d.members) >= d.capacity {
		return false
	}
	if slices.ContainsFunc(d.left, func(l Departure) bool { return l.ID == s.ID && l.Boot >= s.Boot }) {
		return false
	}
	d.left = slices.DeleteFunc(d.left, func(l Departure) bool { return l.ID == s.ID })
	i, _ := find(d.members, s.ID)
	d.members = slices.Insert(d.members, i, Member{
		ID: s.ID, Name: s.Name, Boot: s.Boot, Since: d.number, RPC: s.RPC, HTTP: s.HTTP, Gossip: s.Gossip,
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
	for i, m := range d.members {
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
		d.members[i].Draining = true
	}
	return len(mark) > 0
}
