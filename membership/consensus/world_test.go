package consensus

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"crawlnode/crawl"
	"crawlnode/ring"
)

// world is what lies around the cores of a script: links, a clock, leases, and
// a tiny model of one partition p. In it, the first active member of a view
// owns p, of those with the greatest weight. A node that owns p and finds nobody in its view that holds p takes
// it when its fence is over, and a holder yields when a view drops it or lists
// it with a later since. The script fails by itself when two nodes may fetch
// from p at once, or when two views have one number.
type world struct {
	now     time.Duration
	cuts    map[[2]crawl.NodeID]bool // from, to
	lost    map[Kind]bool
	stopped map[crawl.NodeID]bool
	nodes   map[crawl.NodeID]*inhabitant
	digests map[crawl.Epoch]string
	off     bool // the quorum
	quiet   bool // only show installs and what the world does
	inUse   bool // p has had a holder

	rnd  *rand.Rand // nil in scripts: no loss, no delay, equal clocks
	late []lateNews
}

// lateNews is something on its way.
type lateNews struct {
	due    time.Duration
	arrive func()
}

// inhabitant is what a node has beside its core. All but holds dies with the
// process.
type inhabitant struct {
	name  string
	boot  crawl.Boot
	place Place
	lease *Lease
	holds crawl.Epoch   // 0: not the holder
	fence time.Duration // when it may take over
	views int
	rate  float64 // of its clock
}

// clock is the time of a node's own clock.
func (s *script) clock(id crawl.NodeID) time.Duration {
	return time.Duration(float64(s.world.now) * s.world.nodes[id].rate)
}

// soon lets something happen now, or in a random walk up to two seconds later.
func (w *world) soon(arrive func()) {
	if w.rnd == nil || w.rnd.IntN(4) > 0 {
		arrive()
		return
	}
	w.late = append(w.late, lateNews{w.now + time.Duration(w.rnd.IntN(20))*TickInterval, arrive})
}

// arrivals lets happen what is due.
func (w *world) arrivals() {
	late := w.late
	w.late = nil
	for _, l := range late {
		if l.due > w.now {
			w.late = append(w.late, l)
		} else {
			l.arrive()
		}
	}
}

func newWorld() *world {
	return &world{
		cuts: map[[2]crawl.NodeID]bool{}, lost: map[Kind]bool{}, stopped: map[crawl.NodeID]bool{},
		nodes: map[crawl.NodeID]*inhabitant{}, digests: map[crawl.Epoch]string{},
	}
}

// link heals the link from one node to another, or cuts it.
func (w *world) link(from, to crawl.NodeID, up bool) {
	if up {
		delete(w.cuts, [2]crawl.NodeID{from, to})
	} else {
		w.cuts[[2]crawl.NodeID{from, to}] = true
	}
}

// runs reports whether a core runs now.
func (s *script) runs(id crawl.NodeID) bool { return s.cores[id] != nil && !s.world.stopped[id] }

// reaches reports whether what a running node sends arrives at another one.
func (s *script) reaches(from, to crawl.NodeID) bool {
	return from != to && s.runs(from) && s.runs(to) && !s.world.cuts[[2]crawl.NodeID{from, to}]
}

// linked reports whether two running nodes reach each other.
func (s *script) linked(a, b crawl.NodeID) bool { return s.reaches(a, b) && s.reaches(b, a) }

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
	case "cut", "heal", "mute":
		for _, other := range ids[1:] {
			w.link(ids[0], other, words[0] == "heal")
			if words[0] != "mute" {
				w.link(other, ids[0], words[0] == "heal")
			}
		}
	case "lose":
		w.lost[Kind(words[1])] = true
	case "keep":
		delete(w.lost, Kind(words[1]))
	case "stop", "cont":
		w.stopped[ids[0]] = words[0] == "stop"
		s.checkFetchers()
	case "weigh":
		me := w.nodes[ids[0]]
		me.place = Place{Weight: s.number(words[2]), Changes: me.place.Changes + 1}
		if len(words) > 3 {
			me.place.Zone = words[3]
		}
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
			random := uint64(0)
			if w.rnd != nil {
				random = w.rnd.Uint64()
			}
			s.step(id, Tick{random})
		}
	}
	w.arrivals()
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
			n := Sighting{ID: other, Name: s.world.nodes[other].name, Boot: s.world.nodes[other].boot, Status: Joining, Place: s.world.nodes[other].place}
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
		if !s.reaches(m.From, m.To) || s.world.lost[m.Kind] || s.world.rnd != nil && s.world.rnd.IntN(20) == 0 {
			continue
		}
		s.world.soon(func() {
			if s.runs(m.To) {
				s.step(m.To, Received{m})
			}
		})
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
		for _, other := range ids {
			if s.reaches(id, other) {
				s.ask(id, other, v.Number)
			}
		}
	}
}

// ask asks one member for a lease.
func (s *script) ask(id, other crawl.NodeID, view crawl.Epoch) {
	me, sent := s.world.nodes[id], s.clock(id)
	s.world.soon(func() {
		if !s.runs(other) {
			return
		}
		s.step(other, Heard{id, me.boot})
		if g := s.cores[other].Grants(); g == nil || g.Number != view || !g.Lists(id, me.boot) {
			return
		}
		boot := s.world.nodes[other].boot
		if !s.reaches(other, id) {
			return
		}
		s.world.soon(func() {
			if s.world.nodes[id] == me && s.runs(id) {
				me.lease.Grant(view, other, sent, s.clock(id))
				s.step(id, Heard{other, boot})
			}
		})
	})
}

// follow does what the driver does with the lease after a step.
func (s *script) follow(id crawl.NodeID, a Action) {
	me := s.world.nodes[id]
	switch a := a.(type) {
	case Persist:
		if a.State.AcceptedView != nil {
			me.lease.Accept(s.clock(id))
		}
	case Install:
		me.lease.Install(a.View, false, s.clock(id))
		s.checkView(a.View)
		proved := !slices.ContainsFunc(a.View.Removed, func(r Removal) bool { return !r.Proved })
		if me.views == 0 || a.Skipped || !proved {
			me.fence = s.clock(id) + Fence
		}
		me.views++
		if m, ok := a.View.Member(id); !ok || m.Since > me.holds { // it yields
			me.holds = 0
		}
	}
}

func (s *script) checkView(v *View) {
	if old, ok := s.world.digests[v.Number]; ok && old != v.Digest() && !s.world.off {
		s.t.Errorf("two views have number %d; the other is %s", v.Number, v)
	}
	s.world.digests[v.Number] = v.Digest()
}

// take lets the owner of p acquire it.
func (s *script) take(id crawl.NodeID) {
	if !s.runs(id) || s.cores[id].View() == nil {
		return
	}
	w, me, now := s.world, s.world.nodes[id], s.clock(id)
	v := s.cores[id].View()
	if me.holds != 0 || now < me.fence || ownerOf(v) != id || me.lease.Until(now) <= now {
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

// ownerOf is the owner of p.
func ownerOf(v *View) crawl.NodeID {
	return slices.MaxFunc(v.Table(), func(a, b ring.Member) int {
		return cmp.Or(cmp.Compare(a.Weight, b.Weight), cmp.Compare(b.ID, a.ID))
	}).ID
}

func (s *script) fetchers() []crawl.NodeID {
	var out []crawl.NodeID
	for id, n := range s.world.nodes {
		if s.runs(id) && n.holds != 0 && n.lease.Until(s.clock(id)) > s.clock(id) {
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

// TestWorld walks worlds at random: cuts, stops, kills, restarts, late and lost
// messages, clocks that run apart, and proofs that are true. Never may two nodes
// fetch from p at once, nor two views have one number. Then all is healed, and
// within a while all are members and one of them fetches.
func TestWorld(t *testing.T) {
	t.Parallel()
	var takings atomic.Int64
	n := walks(t, func(t *testing.T, seed uint64) {
		s := walk(t, seed)
		takings.Add(int64(strings.Count(strings.Join(s.out, " "), "takes p")))
		if t.Failed() {
			t.Fatalf("%s\nrepeat with: go test ./membership/consensus -run TestWorld -membership.seed %d", strings.Join(s.out, "\n"), seed)
		}
	})
	if got := takings.Load(); got < int64(n/2) {
		t.Errorf("p was taken over %d times only: the walks do not test much", got)
	}
}

func walk(t *testing.T, seed uint64) *script {
	s := &script{t: t, cores: map[crawl.NodeID]*Core{}, disks: map[crawl.NodeID]State{}, world: newWorld()}
	w := s.world
	w.quiet, w.rnd = true, rand.New(rand.NewPCG(seed, 2))
	ids := []crawl.NodeID{"a", "b", "c", "d", "e"}[:2+w.rnd.IntN(4)]
	s.run([]string{"found", "a"})
	for _, id := range ids[1:] {
		s.run([]string{"start", string(id), "1"})
	}
	for _, id := range ids {
		w.nodes[id].rate = 0.976 + 0.048*w.rnd.Float64()
	}
	s.run([]string{"pass", "15s"})
	s.run([]string{"hold", "a"})
	for range 300 {
		s.mischief(ids)
		for range w.rnd.IntN(30) {
			s.passTick()
		}
	}
	s.mend(ids)
	return s
}

// mischief does one random thing.
func (s *script) mischief(ids []crawl.NodeID) {
	w := s.world
	pick := func() string { return string(ids[w.rnd.IntN(len(ids))]) }
	a, b := pick(), pick()
	id := crawl.NodeID(a)
	n := w.rnd.IntN(100)
	s.out = append(s.out, fmt.Sprintf("%v: %d %s %s", w.now, n, a, b))
	switch {
	case n < 6 && a != b:
		s.run([]string{"mute", a, b})
	case n < 20 && a != b:
		s.run([]string{"cut", a, b})
	case n < 50 && a != b:
		s.run([]string{"heal", a, b})
	case n < 57 && s.runs(id):
		s.run([]string{"stop", a})
	case n < 70 && w.stopped[id]:
		s.run([]string{"cont", a})
		if w.rnd.IntN(2) == 0 {
			s.run([]string{"woken", a})
		}
	case n < 76 && s.runs(id):
		s.run([]string{"crash", a})
	case n < 84 && s.cores[id] == nil:
		s.restart(id)
	case n < 88 && s.runs(id):
		s.run([]string{"weigh", a, fmt.Sprint(1 + w.rnd.IntN(3)), b})
	case a != b:
		boot := w.nodes[crawl.NodeID(b)].boot
		if s.cores[crawl.NodeID(b)] != nil {
			boot--
		}
		if boot > 0 && s.runs(id) {
			s.run([]string{"dead", a, b, fmt.Sprint(boot)})
		}
	}
}

func (s *script) restart(id crawl.NodeID) {
	old := s.world.nodes[id]
	s.world.stopped[id] = false
	s.run([]string{"start", string(id), fmt.Sprint(old.boot + 1)})
	s.world.nodes[id].rate = old.rate
}

// mend ends all faults and checks that the cluster comes together again.
func (s *script) mend(ids []crawl.NodeID) {
	w := s.world
	clear(w.cuts)
	for _, id := range ids {
		if w.stopped[id] {
			s.run([]string{"cont", string(id)})
		}
		if s.cores[id] == nil {
			s.restart(id)
		}
	}
	s.run([]string{"pass", "90s"})
	for _, id := range ids {
		v := s.cores[id].View()
		if len(v.Members) != len(ids) || !v.Lists(id, w.nodes[id].boot) || w.nodes[id].lease.Until(s.clock(id)) <= s.clock(id) {
			s.t.Errorf("after mending %s has %s", id, v)
		}
	}
	for _, m := range s.cores[ids[0]].View().Members {
		if m.Place != w.nodes[m.ID].place {
			s.t.Errorf("after mending %s is listed with %+v, it has %+v", m.ID, m.Place, w.nodes[m.ID].place)
		}
	}
	if got := s.fetchers(); len(got) != 1 {
		s.t.Errorf("after mending %v may fetch", got)
	}
}
