package machine

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"crawlnode/crawl"
	"crawlnode/ring"
)

const (
	restSeeds  = 80
	restEvents = 400
	restParts  = 8
)

// TestRestingMachineNeedsNoTurn: after random events, a machine that says that nothing waits for a Retry changes nothing in
// one and orders nothing but a sweep. In each run it comes to rest, or the test would say nothing.
func TestRestingMachineNeedsNoTurn(t *testing.T) {
	rested, useful := 0, 0
	for seed := range uint64(restSeeds) {
		w := newRestWorld(t, seed)
		for range restEvents {
			w.event()
			for w.m.Waits() && w.rng.IntN(4) > 0 {
				if len(w.turn()) > 0 {
					useful++
				}
			}
			if !w.m.Waits() {
				rested++
				w.expectRest()
			}
		}
	}
	t.Logf("%d seeds of %d events: at rest %d times, %d turns of a machine that waited ordered something", restSeeds, restEvents, rested, useful)
	if rested < restSeeds || useful < restSeeds {
		t.Errorf("it was at rest %d times, and %d turns ordered something", rested, useful)
	}
}

// TestEventEndsRest: what an event has changed is for a Retry to look at, whatever the event is.
func TestEventEndsRest(t *testing.T) {
	w := &restWorld{t: t, rng: rand.New(rand.NewPCG(1, 3)), m: New("a", restParts, 2, Limits{Out: 2})}
	for p := range crawl.Partition(restParts) {
		w.step(Loaded{P: p, State: Holding, Epoch: 1, MaxEpoch: 1})
	}
	w.step(w.install("a"))
	w.finish()
	w.turn()
	w.turn()
	if w.m.Waits() {
		t.Fatal("a node alone does not come to rest")
	}
	w.step(LinkDown{P: 0, Node: "b", Attempt: 9})
	if !w.m.Waits() {
		t.Error("an event has come, and nothing waits")
	}
}

// restWorld draws events for a machine, each of which may come in its state.
type restWorld struct {
	t   *testing.T
	rng *rand.Rand
	m   *Machine
	now time.Duration
	log []string
}

func newRestWorld(t *testing.T, seed uint64) *restWorld {
	w := &restWorld{t: t, rng: rand.New(rand.NewPCG(seed, 3)), m: New("a", restParts, 2, Limits{Out: 2})}
	for p := range crawl.Partition(restParts) {
		e := Loaded{P: p, State: Holding, Epoch: 1, MaxEpoch: 1}
		switch w.rng.IntN(4) {
		case 0:
			e.State = Absent
		case 1:
			e.State, e.To, e.View = Released, "b", 1
		}
		w.step(e)
	}
	return w
}

// step takes an event, and at once those of the actions that the driver finishes at once.
func (w *restWorld) step(e Event) []Action {
	w.log = append(w.log, fmt.Sprintf("%T%+v", e, e))
	actions := w.m.Step(e)
	for _, a := range actions {
		switch a := a.(type) {
		case StoreReleased:
			w.step(ReleaseStored{P: a.P, Attempt: a.Attempt})
		case Promote:
			w.step(Promoted{Promote: a, OK: w.rng.IntN(5) > 0})
		}
	}
	if err := w.m.Check(); err != nil {
		w.fail("%v", err)
	}
	return actions
}

func (w *restWorld) fail(format string, args ...any) {
	w.t.Helper()
	w.t.Fatalf("%s, after\n%s", fmt.Sprintf(format, args...), strings.Join(w.log[max(0, len(w.log)-30):], "\n"))
}

func (w *restWorld) turn() []Action {
	w.now += 100 * time.Millisecond
	return w.step(Retry{Now: w.now})
}

// expectRest gives the machine turns until after its next sweep.
func (w *restWorld) expectRest() {
	before := w.state()
	for _, later := range []time.Duration{0, 100 * time.Millisecond, time.Second, SweepEvery, time.Hour} {
		for _, a := range w.m.Step(Retry{Now: w.now + later}) {
			if _, is := a.(Sweep); !is {
				w.fail("nothing waited, and a turn %v later orders %T%+v", later, a, a)
			}
		}
	}
	if after := w.state(); after != before {
		w.fail("nothing waited, and a turn changes\n%s\nto\n%s", before, after)
	}
	w.m.nextSweep = min(w.m.nextSweep, w.now+SweepEvery)
}

// state is all that the machine knows but the time and when it sweeps.
func (w *restWorld) state() string {
	m := *w.m
	m.now, m.nextSweep, m.actions = 0, 0, nil
	s := fmt.Sprintf("%+v", m)
	for p := range m.parts {
		s += "\n" + m.Describe(crawl.Partition(p))
	}
	for id, r := range m.backoffs {
		s += fmt.Sprintf("\n%s rests %+v", id, *r)
	}
	return s
}

// event is one that may come now. Most bring a partition nearer to where it should be, so that machines come to rest.
func (w *restWorld) event() {
	w.now += time.Duration(w.rng.IntN(200)) * time.Millisecond
	p := crawl.Partition(w.rng.IntN(restParts))
	switch k := w.rng.IntN(100); {
	case k < 4:
		w.step(w.view())
	case k < 55:
		w.finish()
	case k < 75:
		w.fault(p)
	case k < 85:
		w.step(w.token(p))
	case k < 88:
		w.step(CopyArrived{P: p, Epoch: w.m.view + crawl.Epoch(w.rng.IntN(2))})
	case k < 92:
		w.step(Asked{View: w.m.view, Parts: []crawl.Partition{p}, Reply: make(chan Told, 1)})
	case k < 94:
		w.step(UselessAsked{From: "b", View: w.m.view, Parts: []UselessPart{{P: p, Epoch: 1}}, Reply: make(chan []crawl.Partition, 1)})
	default:
		w.turn()
	}
}

// view is a newer view with some members, of which some drain. Seldom it is without a, or lists another boot of it.
func (w *restWorld) view() ViewInstalled {
	members := []crawl.NodeID{"a"}
	for _, id := range []crawl.NodeID{"b", "c", "d"} {
		if w.rng.IntN(2) == 0 {
			members = append(members, id)
		}
	}
	v := w.install(members...)
	v.Listed = w.rng.IntN(10) > 0
	if w.rng.IntN(10) == 0 {
		v.Since = v.View
	}
	if w.rng.IntN(10) == 0 {
		v.Table = nil
	}
	if w.rng.IntN(3) == 0 {
		v.Fence = time.Duration(w.rng.IntN(3000)) * time.Millisecond
	}
	return v
}

func (w *restWorld) install(members ...crawl.NodeID) ViewInstalled {
	active := slices.Clone(members)
	if len(active) > 1 && w.rng.IntN(4) == 0 {
		at := w.rng.IntN(len(active))
		active = slices.Delete(active, at, at+1)
	}
	table, err := ring.Build(ring.Equals(active), restParts, 1)
	if err != nil {
		w.t.Fatal(err)
	}
	return ViewInstalled{View: w.m.view + 1, Table: table, Members: members, Listed: true, Now: w.now}
}

// finish ends well all that is under way.
func (w *restWorld) finish() {
	if w.m.ask.running {
		w.answer()
	}
	for i := range w.m.parts {
		p, x := crawl.Partition(i), &w.m.parts[i]
		for _, id := range x.linked() {
			l := x.links[id]
			if l == nil {
				continue // what came before has closed it
			}
			switch l.state {
			case opening:
				w.step(LinkCopying{P: p, Node: id, Attempt: l.attempt})
			case copying:
				w.step(LinkFollows{P: p, Node: id, Attempt: l.attempt})
			case following:
				w.step(LinkUp{P: p, Node: id, Attempt: l.attempt})
			}
		}
		if x.proposed != nil {
			w.step(Recorded{P: p, Epoch: x.proposed.Epoch, Version: x.proposed.Version, View: w.m.view})
		}
		if x.running && x.state == Freezing {
			w.step(Frozen{P: p, Attempt: x.attempt})
		}
		if x.running && x.state == Released {
			w.step(Took{P: p, Attempt: x.attempt})
		}
	}
}

// answer ends the round of questions: some members hold what was asked about, some have copies, some are silent.
func (w *restWorld) answer() {
	attempt, parts := w.m.ask.attempt, slices.Clone(w.m.ask.parts)
	for _, id := range slices.Clone(w.m.ask.members) {
		if w.rng.IntN(8) == 0 {
			continue
		}
		e := Answered{Attempt: attempt, From: id, Answers: []Answer{}}
		for _, p := range parts {
			a := Answer{P: p, Copy: w.rng.IntN(3) > 0, Epoch: 1, Seq: crawl.Seq(w.rng.IntN(3)), Holds: id != "a" && w.rng.IntN(8) == 0}
			if w.rng.IntN(3) > 0 {
				a.Set = Set{Epoch: 1, Version: 1, Members: []crawl.NodeID{"a", "b"}}
			}
			e.Answers = append(e.Answers, a)
		}
		w.step(e)
	}
	w.step(AskOver{Attempt: attempt, Now: w.now})
}

// fault breaks something of a partition that is under way.
func (w *restWorld) fault(p crawl.Partition) {
	x := &w.m.parts[p]
	if linked := x.linked(); len(linked) > 0 && w.rng.IntN(2) == 0 {
		id := linked[w.rng.IntN(len(linked))]
		down, ahead := LinkDown{P: p, Node: id, Attempt: x.links[id].attempt}, LinkAhead{P: p, Node: id, Attempt: x.links[id].attempt}
		if w.rng.IntN(8) == 0 {
			w.step(ahead)
		} else {
			w.step(down)
		}
		return
	}
	if !x.running {
		return
	}
	if x.state == Released && w.rng.IntN(3) == 0 {
		w.step(RefusedNewer{P: p, Attempt: x.attempt, View: x.view + crawl.Epoch(w.rng.IntN(3))})
		return
	}
	kind := w.rng.IntN(3)
	w.step(Broken{P: p, Attempt: x.attempt, Later: kind == 1, NoCopy: kind == 2 && x.state == Released})
}

// token is one of a holder that lets go for a.
func (w *restWorld) token(p crawl.Partition) TokenArrived {
	return TokenArrived{P: p, View: w.m.view, Epoch: 1, Seq: 7, Set: Set{Epoch: 1, Version: 1, Members: []crawl.NodeID{"a", "b"}}, Reply: make(chan Reply, 1)}
}
