package membership

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"crawlnode/crawl"
)

// world is what lies around the cores of a script: links, a clock, leases, and
// a tiny model of one partition p. In it, the first active member of a view
// owns p. A node that owns p and finds nobody in its view that holds p takes
// it when its fence is over, and a holder yields when a view drops it or lists
// it with a later since. The script fails by itself when two nodes may fetch
// from p at once, or when two views have one number.
type world struct {
	now     time.Duration
	cuts    map[[2]crawl.NodeID]bool
	lost    map[Kind]bool
	stopped map[crawl.NodeID]bool
	nodes   map[crawl.NodeID]*inhabitant
	digests map[crawl.Epoch]string
	off     bool // the quorum
	quiet   bool // only show installs and what the world does
	inUse   bool // p has had a holder
}

// inhabitant is what a node has beside its core. All but holds dies with the
// process.
type inhabitant struct {
	boot  crawl.Boot
	lease *Lease
	holds crawl.Epoch   // 0: not the holder
	fence time.Duration // when it may take over
	views int
}

func newWorld() *world {
	return &world{
		cuts: map[[2]crawl.NodeID]bool{}, lost: map[Kind]bool{}, stopped: map[crawl.NodeID]bool{},
		nodes: map[crawl.NodeID]*inhabitant{}, digests: map[crawl.Epoch]string{},
	}
}

func link(a, b crawl.NodeID) [2]crawl.NodeID { return [2]crawl.NodeID{min(a, b), max(a, b)} }

// runs reports whether a core runs now.
func (s *script) runs(id crawl.NodeID) bool { return s.cores[id] != nil && !s.world.stopped[id] }

// linked reports whether two running nodes reach each other.
func (s *script) linked(a, b crawl.NodeID) bool {
	return a != b && s.runs(a) && s.runs(b) && !s.world.cuts[link(a, b)]
}

// command runs one of the world's commands; it reports whether it was one.
func (s *script) command(words []string) bool {
	w := s.world
	ids := make([]crawl.NodeID, 0, len(words))
	for _, word := range words[1:] {
		ids = append(ids, crawl.NodeID(word))
	}
	switch words[0] {
	case "quiet":
		w.quiet = true
	case "quorum-off":
		w.off = true
	case "cut", "heal":
		for _, other := range ids[1:] {
			w.cuts[link(ids[0], other)] = words[0] == "cut"
		}
	case "lose":
		w.lost[Kind(words[1])] = true
	case "keep":
		delete(w.lost, Kind(words[1]))
	case "stop", "cont":
		w.stopped[ids[0]] = words[0] == "stop"
		s.checkFetchers()
	case "hold":
		w.nodes[ids[0]].holds, w.inUse = s.cores[ids[0]].View().Number, true
	case "fetchers":
		s.out = append(s.out, fmt.Sprintf("fetchers: %v", s.fetchers()))
	case "fences":
		for _, id := range slices.Sorted(mapsKeys(s.cores)) {
			s.out = append(s.out, fmt.Sprintf("%s waits %v", id, max(w.nodes[id].fence-w.now, 0)))
		}
	case "leases":
		for _, id := range slices.Sorted(mapsKeys(s.cores)) {
			s.out = append(s.out, fmt.Sprintf("%s leased for %v", id, max(w.nodes[id].lease.Until(w.now)-w.now, 0)))
		}
	case "pass":
		d, err := time.ParseDuration(words[1])
		if err != nil {
			s.t.Fatal(err)
		}
		for range d / TickInterval {
			s.passTick()
		}
	default:
		return false
	}
	return true
}

// passTick lets a tenth of a second pass for everybody.
func (s *script) passTick() {
	w := s.world
	w.now += TickInterval
	ids := slices.Sorted(mapsKeys(s.cores))
	for _, id := range ids {
		if s.runs(id) {
			s.step(id, Seen{s.inSight(id, ids)})
			s.step(id, Tick{})
		}
	}
	s.exchangeMessages()
	if w.now%time.Second == 0 {
		s.renew(ids)
	}
	for _, id := range ids {
		s.take(id)
	}
	s.checkFetchers()
}

// inSight is what gossip shows to a node: all that it reaches.
func (s *script) inSight(id crawl.NodeID, all []crawl.NodeID) []Sighting {
	var out []Sighting
	for _, other := range all {
		if other == id || s.linked(id, other) {
			n := Sighting{ID: other, Name: "n" + string(other), Boot: s.world.nodes[other].boot, Status: Joining}
			if v := s.cores[other].View(); v != nil && v.Lists(other, n.Boot) {
				n.Status = Active
			}
			out = append(out, n)
		}
	}
	return out
}

// exchangeMessages delivers what is on its way, and loses the rest.
func (s *script) exchangeMessages() {
	for range 10000 {
		if len(s.queue) == 0 {
			return
		}
		m := s.queue[0]
		s.queue = s.queue[1:]
		if s.linked(m.From, m.To) && !s.world.lost[m.Kind] {
			s.step(m.To, Received{m})
		}
	}
	s.t.Fatal("the messages never end")
}

// renew asks every member for a lease, as nodes do each second.
func (s *script) renew(ids []crawl.NodeID) {
	for _, id := range ids {
		v := s.cores[id].View()
		if v == nil || !s.runs(id) {
			continue
		}
		me := s.world.nodes[id]
		for _, other := range ids {
			if !s.linked(id, other) {
				continue
			}
			s.step(other, Heard{id, me.boot})
			if g := s.cores[other].Grants(); g != nil && g.Number == v.Number && g.Lists(id, me.boot) {
				me.lease.Grant(v.Number, other, s.world.now, s.world.now)
				s.step(id, Heard{other, s.world.nodes[other].boot})
			}
		}
	}
}

// follow does what the driver does with the lease after a step.
func (s *script) follow(id crawl.NodeID, a Action) {
	me := s.world.nodes[id]
	switch a := a.(type) {
	case Persist:
		if a.State.AcceptedView != nil {
			me.lease.Accept(s.world.now)
		}
	case Install:
		me.lease.Install(a.View, false, s.world.now)
		s.checkView(a.View)
		proved := !slices.ContainsFunc(a.View.Removed, func(r Removal) bool { return !r.Proved })
		if me.views == 0 || a.Skipped || !proved {
			me.fence = s.world.now + Fence
		}
		me.views++
		if m, ok := a.View.Member(id); !ok || m.Since > me.holds { // it yields
			me.holds = 0
		}
	}
}

func (s *script) checkView(v *View) {
	if old, ok := s.world.digests[v.Number]; ok && old != v.Digest() && !s.world.off {
		s.t.Errorf("two views have number %d; the other is %s", v.Number, showView(v))
	}
	s.world.digests[v.Number] = v.Digest()
}

// take lets the owner of p acquire it.
func (s *script) take(id crawl.NodeID) {
	w, me := s.world, s.world.nodes[id]
	v := s.cores[id].View()
	if !s.runs(id) || v == nil || me.holds != 0 || w.now < me.fence || v.Active()[0] != id || me.lease.Until(w.now) <= w.now {
		return
	}
	held := false
	for other, n := range w.nodes {
		m, ok := v.Member(other)
		held = held || n.holds != 0 && ok && m.Since <= n.holds
	}
	if !held && w.inUse {
		me.holds = v.Number
		s.out = append(s.out, fmt.Sprintf("%v: %s takes p in view %d", w.now, id, v.Number))
	}
}

func (s *script) fetchers() []crawl.NodeID {
	var out []crawl.NodeID
	for id, n := range s.world.nodes {
		if s.runs(id) && n.holds != 0 && n.lease.Until(s.world.now) > s.world.now {
			out = append(out, id)
		}
	}
	slices.Sort(out)
	return out
}

func (s *script) checkFetchers() {
	if two := s.fetchers(); len(two) > 1 {
		s.t.Errorf("at %v %v may fetch at once", s.world.now, two)
		s.out = append(s.out, "TWO FETCHERS "+strings.Join(strings.Fields(fmt.Sprint(two)), " "))
	}
}
