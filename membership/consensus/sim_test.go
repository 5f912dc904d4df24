package consensus

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"

	"crawlnode/crawl"
)

var (
	simRuns = flag.Int("membership.runs", 20, "random walks of the core")
	simSeed = flag.Uint64("membership.seed", 0, "run this walk only")
)

// TestSimulation walks cores at random through lost, doubled and reordered
// messages, crashes between any two actions, restarts from what was persisted,
// joins, drains, leaves, changes of weight and zone, and false or stale sightings. At any time at most one
// view may exist for each number, and no node may go back. Afterwards the
// faults stop and all nodes must agree on a view that fits.
func TestSimulation(t *testing.T) {
	t.Parallel()
	var longest atomic.Uint64
	walks(t, func(t *testing.T, seed uint64) {
		s := newSim(seed)
		if err := s.run(); err != nil {
			t.Fatalf("%v\nrepeat with: go test ./membership/consensus -run TestSimulation -membership.seed %d", err, seed)
		}
		for old := longest.Load(); uint64(s.newest) > old && !longest.CompareAndSwap(old, uint64(s.newest)); old = longest.Load() {
		}
	})
	if longest.Load() < 20 && *simSeed == 0 {
		t.Errorf("no walk came further than view %d: the simulation does not test much", longest.Load())
	}
}

// walks runs a walk for each seed, several at a time, and returns how many.
func walks(t *testing.T, walk func(t *testing.T, seed uint64)) int {
	first, last := uint64(1), uint64(*simRuns)
	if *simSeed != 0 {
		first, last = *simSeed, *simSeed
	}
	t.Run("walks", func(t *testing.T) {
		for seed := first; seed <= last; seed++ {
			t.Run(fmt.Sprint(seed), func(t *testing.T) {
				t.Parallel()
				walk(t, seed)
			})
		}
	})
	return int(last - first + 1)
}

// actor is one simulated node.
type actor struct {
	id     crawl.NodeID
	boot   crawl.Boot
	disk   State
	core   *Core // nil while it is down
	status Status
	places []Place // of this boot, the present one last
}

func (a *actor) place() Place { return a.places[len(a.places)-1] }

type sim struct {
	rnd    *rand.Rand
	actors []*actor
	net    []Message
	views  map[crawl.Epoch]string // digest by number, over all nodes and time
	newest crawl.Epoch
}

func newSim(seed uint64) *sim {
	s := &sim{rnd: rand.New(rand.NewPCG(seed, 1)), views: map[crawl.Epoch]string{}}
	for i := range 3 + s.rnd.IntN(4) {
		s.actors = append(s.actors, &actor{id: crawl.NodeID(rune('a' + i))})
	}
	return s
}

func (s *sim) run() error {
	founder := s.actors[s.rnd.IntN(len(s.actors))]
	s.start(founder)
	view := &View{Number: 1, Cluster: testCluster, Members: []Member{{ID: founder.id, Name: "n" + string(founder.id), Boot: 1, Since: 1}}}
	if err := s.step(founder, Founded{view}, -1); err != nil {
		return err
	}
	for range 4000 {
		if err := s.fault(); err != nil {
			return err
		}
	}
	return s.heal()
}

// fault does one random thing.
func (s *sim) fault() error {
	a := s.actors[s.rnd.IntN(len(s.actors))]
	switch n := s.rnd.IntN(100); {
	case n < 3:
		a.core = nil
	case a.core == nil:
		if n < 20 {
			s.start(a)
		}
	case n < 5 && a.status == Active:
		a.status = Draining + Status(s.rnd.IntN(2))
	case n < 20:
		return s.step(a, Seen{s.sight(a, 0.7)}, s.cut())
	case n < 50:
		for range 1 + s.rnd.IntN(6) {
			if err := s.step(a, Tick{s.rnd.Uint64()}, s.cut()); err != nil || a.core == nil {
				return err
			}
		}
	case n < 54:
		return s.prove(a)
	case n < 56:
		return s.step(a, Woken{}, s.cut())
	case n < 58:
		a.places = append(a.places, Place{Weight: s.rnd.IntN(17), Zone: []string{"", "east", "west"}[s.rnd.IntN(3)], Changes: uint32(len(a.places))})
	default:
		for range 1 + s.rnd.IntN(20) {
			if err := s.deliver(0.1); err != nil {
				return err
			}
		}
	}
	return nil
}

// prove gives a proof of the death of somebody that is down, or of a boot
// before the present one.
func (s *sim) prove(a *actor) error {
	other := s.actors[s.rnd.IntN(len(s.actors))]
	boot := other.boot
	if other.core != nil {
		boot--
	}
	if other == a || boot == 0 {
		return nil
	}
	return s.step(a, Dead{other.id, boot}, s.cut())
}

// cut is after how many actions the node crashes; mostly it does not.
func (s *sim) cut() int {
	if s.rnd.IntN(30) == 0 {
		return s.rnd.IntN(4)
	}
	return -1
}

// shown is the status as the node announces it.
func (a *actor) shown() Status {
	if a.status == Active && a.core != nil {
		if v := a.core.View(); v == nil || !v.Lists(a.id, a.boot) {
			return Joining
		}
	}
	return a.status
}

func (s *sim) start(a *actor) {
	a.boot++
	a.status = Active
	a.places = []Place{{Weight: s.rnd.IntN(17)}}
	a.core = New(Identity{ID: a.id, Boot: a.boot, Cluster: unknownCluster}, a.disk)
}

// sight is what gossip shows to a: each living node with the given
// probability, now and then with an older boot or as active although it is not.
func (s *sim) sight(a *actor, probability float64) []Sighting {
	var out []Sighting
	for _, other := range s.actors {
		if other != a && (other.core == nil && probability == 1 || s.rnd.Float64() > probability || other.boot == 0) {
			continue
		}
		n := Sighting{ID: other.id, Name: "n" + string(other.id), Boot: other.boot, Status: other.shown(), Place: other.place()}
		if probability < 1 && other != a && s.rnd.IntN(10) == 0 {
			n.Status = Active
			n.Boot = max(1, n.Boot-1)
		}
		if probability < 1 && other != a { // gossip may be late
			n.Place = other.places[s.rnd.IntN(len(other.places))]
		}
		out = append(out, n)
	}
	return out
}

func (s *sim) deliver(loss float64) error {
	if len(s.net) == 0 {
		return nil
	}
	i := s.rnd.IntN(len(s.net))
	m := s.net[i]
	if s.rnd.IntN(10) > 0 || loss == 0 { // else it stays, and arrives twice
		s.net = slices.Delete(s.net, i, i+1)
	}
	to := s.actors[slices.IndexFunc(s.actors, func(a *actor) bool { return a.id == m.To })]
	if to.core == nil || s.rnd.Float64() < loss {
		return nil
	}
	// What arrives has been through the encoding.
	decoded, err := Decode(Encode([]Message{m}))
	if err != nil {
		return err
	}
	cut := -1
	if loss > 0 {
		cut = s.cut()
	}
	return s.step(to, Received{decoded[0]}, cut)
}

// step carries out the actions of one event, and crashes before action cut.
func (s *sim) step(a *actor, e Event, cut int) error {
	before := a.core.View()
	for i, action := range a.core.Step(e) {
		if i == cut {
			a.core = nil
			return nil
		}
		switch action := action.(type) {
		case Persist:
			a.disk = action.State
		case Send:
			if len(s.net) < 500 {
				s.net = append(s.net, action.Message)
			}
		case Install:
			if err := s.installed(a, before, action); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *sim) installed(a *actor, before *View, i Install) error {
	v := i.View
	if err := v.Validate(); err != nil {
		return fmt.Errorf("%s installs a broken view: %w", a.id, err)
	}
	if known, ok := s.views[v.Number]; ok && known != v.Digest() {
		return fmt.Errorf("%s installs another view %d than somebody before", a.id, v.Number)
	}
	s.views[v.Number] = v.Digest()
	s.newest = max(s.newest, v.Number)
	if before != nil && before.Number >= v.Number {
		return fmt.Errorf("%s goes back from view %d to %d", a.id, before.Number, v.Number)
	}
	follows := before == nil && v.Number == 1 || before != nil && before.Number+1 == v.Number
	if i.Skipped == follows {
		return fmt.Errorf("%s installs view %d with skipped=%v", a.id, v.Number, i.Skipped)
	}
	return nil
}

// heal lets everybody run without faults and checks that they agree.
func (s *sim) heal() error {
	for _, a := range s.actors {
		if a.core == nil {
			s.start(a)
		}
	}
	for range 400 {
		for _, a := range s.actors {
			if err := s.step(a, Seen{s.sight(a, 1)}, -1); err != nil {
				return err
			}
			if err := s.step(a, Tick{s.rnd.Uint64()}, -1); err != nil {
				return err
			}
		}
		for len(s.net) > 0 {
			if err := s.deliver(0); err != nil {
				return err
			}
		}
	}
	for _, a := range s.actors {
		v := a.core.View()
		if v == nil || v.Number != s.newest {
			return fmt.Errorf("after healing %s has %s, the newest view is %d", a.id, v, s.newest)
		}
		if wish := a.core.plan(); wish != nil {
			return fmt.Errorf("after healing %s has %s and still wants %s", a.id, v, wish)
		}
		m, listed := v.Member(a.id)
		if !listed && a.status == Active {
			return fmt.Errorf("after healing %s is missing in %s", a.id, v)
		}
		if listed && m.Boot == a.boot && m.Place != a.place() {
			return fmt.Errorf("after healing %s is listed with %+v, it has %+v", a.id, m.Place, a.place())
		}
	}
	return nil
}
