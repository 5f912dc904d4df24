package consensus

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"crawlnode/crawl"
)

// TestDelta tells each view of long random histories by what it changes in the one before: joins,
// restarts, leaves, drains, places, forgotten nodes. What comes out is the view.
func TestDelta(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		rnd := rand.New(rand.NewPCG(seed, 5))
		v := &View{Number: 1, Cluster: testCluster, Members: []Member{{ID: "n0000", Name: "a", Boot: 1, Since: 1}}}
		for range 200 {
			next := randomNext(rnd, v)
			d := deltaOf(v, next)
			if d == nil {
				t.Fatalf("seed %d: %s cannot be told after %s", seed, next, v)
			}
			if got, err := d.Apply(v); err != nil || got.Digest() != next.Digest() {
				t.Fatalf("seed %d: %s instead of %s, %v", seed, got, next, err)
			}
			v = next
		}
	}
}

// randomNext is a view that may follow v.
func randomNext(rnd *rand.Rand, v *View) *View {
	next := &View{
		Number: v.Number + 1, Cluster: v.Cluster, Members: slices.Clone(v.Members),
		Left: slices.Clone(v.Left), Barred: slices.Clone(v.Barred),
	}
	for range 1 + rnd.IntN(3) {
		i := rnd.IntN(len(next.Members))
		m := &next.Members[i]
		switch n := rnd.IntN(10); {
		case n < 4 && len(next.Members) < 40:
			id := crawl.NodeID(fmt.Sprintf("n%04d", rnd.IntN(9000)+1))
			if _, known := find(next.Members, id); known || next.Bars(id) {
				continue
			}
			next.Members = append(next.Members, Member{ID: id, Name: string(id), Boot: 1, Since: next.Number})
			slices.SortFunc(next.Members, compareIDs)
		case n < 6:
			m.Boot++
		case n < 7:
			m.Draining = i > 0 && !m.Draining
		case n < 8:
			m.Weight, m.Zone, m.Changes = 1+rnd.IntN(16), fmt.Sprint("z", rnd.IntN(3)), m.Changes+1
		case i > 0:
			_, removed := slices.BinarySearchFunc(v.Members, *m, compareIDs)
			if !removed {
				continue // it came in this view
			}
			next.Removed = append(next.Removed, Removal{ID: m.ID, Boot: m.Boot, Name: m.Name})
			slices.SortFunc(next.Removed, func(a, b Removal) int { return compareIDs(Member{ID: a.ID}, Member{ID: b.ID}) })
			if n == 8 && len(next.Barred) < MaxBarred {
				next.Barred = append(next.Barred, m.ID)
				slices.Sort(next.Barred)
			} else {
				next.Left = append(next.Left, Departure{m.ID, m.Boot})
				next.Left = next.Left[max(len(next.Left)-maxDepartures, 0):]
			}
			next.Members = slices.Delete(next.Members, i, i+1)
		}
	}
	return next
}

// TestDeltaRefused is what makes no view: each time the receiver must ask for the whole.
func TestDeltaRefused(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(d *Delta, base *View){
		"another base":         func(d *Delta, _ *View) { d.Base++ },
		"another result":       func(d *Delta, _ *View) { d.Sum = "0123456789abcdef" },
		"a base that differs":  func(_ *Delta, base *View) { base.Members[0].Name = "another" },
		"an odd member":        func(d *Delta, _ *View) { d.Put[0].Boot = 0 },
		"a member of two ids":  func(d *Delta, _ *View) { d.Put = append(d.Put, d.Put[0]) },
		"a barred member":      func(d *Delta, _ *View) { d.Barred = append(d.Barred, "a") },
		"one barred twice":     func(d *Delta, _ *View) { d.Barred = append(d.Barred, "u") },
		"too many departures":  func(d *Delta, _ *View) { d.LeftIn = make([]Departure, maxDepartures+1) },
		"nobody is left":       func(d *Delta, _ *View) { d.Put, d.Gone = nil, []crawl.NodeID{"a", "b"} },
		"a member is not gone": func(d *Delta, _ *View) { d.Gone = nil },
	} {
		d, base := sampleDelta(), *sampleView
		base.Members = slices.Clone(base.Members)
		if _, err := d.Apply(&base); err != nil {
			t.Fatal(err)
		}
		spoil(d, &base)
		if v, err := d.Apply(&base); err == nil {
			t.Errorf("%s: %s", name, v)
		}
	}
	other := *sampleView
	other.Number, other.Cluster.Partitions = 8, 2048
	if d := deltaOf(sampleView, &other); d != nil {
		t.Errorf("a view of another cluster is told as %+v", d)
	}
}

// TestDeltaBehind tells a view to a member that missed the one before, to one of an earlier release,
// and to one whose newer boot may be of an earlier release.
func TestDeltaBehind(t *testing.T) {
	t.Parallel()
	v2 := viewOf(2, "a", "b", "c")
	v3, v4 := viewOf(3, "a", "b", "c", "d"), viewOf(4, "a", "b", "c", "d", "e")
	b := New(Identity{ID: "b", Boot: 1, Cluster: unknownCluster}, State{View: v2})
	late := Message{Kind: KindDecided, Cluster: testCluster.ID, From: "a", Boot: 1, To: "b", Number: 4, Delta: deltaOf(v3, v4)}
	out := b.Step(Received{late})
	if len(out) != 1 || out[0].(Send).Message.Kind != KindHello || b.View() != v2 {
		t.Fatalf("a member that missed a view does %+v", out)
	}
	a := New(Identity{ID: "a", Boot: 1, Cluster: unknownCluster}, State{View: v4})
	out = a.Step(Received{out[0].(Send).Message})
	if len(out) != 1 || out[0].(Send).Message.View != v4 {
		t.Fatalf("its question is answered with %+v", out)
	}
	if b.Step(Received{out[0].(Send).Message}); b.View() != v4 {
		t.Errorf("then it has %s", b.View())
	}
	told := func() (kind string) {
		if a.tell("b", Message{Kind: KindDecided}, v3, v4, deltaOf(v3, v4)).Message.Delta != nil {
			return "the change"
		}
		return "the whole"
	}
	hello := Message{Kind: KindHello, Cluster: testCluster.ID, From: "b", Boot: 1, To: "a", Number: 4}
	a = New(Identity{ID: "a", Boot: 1, Cluster: unknownCluster}, State{View: v4})
	a.Step(Received{hello})
	if got := told(); got != "the whole" {
		t.Errorf("an earlier release is told %s", got)
	}
	hello.ReadsDeltas = true
	a.Step(Received{hello})
	if got := told(); got != "the change" {
		t.Errorf("who reads it is told %s", got)
	}
	hello.ReadsDeltas, hello.Boot = false, 2
	a.Step(Received{hello})
	if got := told(); got != "the whole" {
		t.Errorf("after a restart with an earlier release it is told %s", got)
	}
}

func viewOf(number crawl.Epoch, ids ...crawl.NodeID) *View {
	v := &View{Number: number, Cluster: testCluster}
	for _, id := range ids {
		v.Members = append(v.Members, Member{ID: id, Name: "n" + string(id), Boot: 1, Since: 1})
	}
	return v
}

// TestViewTraffic lets members decide a view without one of them, whose death one member has proof
// of. It counts the bytes that each sends until all have it. Once everybody has heard everybody, no
// view travels as a whole.
func TestViewTraffic(t *testing.T) {
	t.Parallel()
	members := 1000
	if testing.Short() {
		members = 200
	}
	v := &View{Number: 9, Cluster: testCluster}
	v.Cluster.Partitions = 16384
	for i := range members {
		v.Members = append(v.Members, Member{
			ID: crawl.NodeID(fmt.Sprintf("%032d", i)), Name: fmt.Sprintf("node-%04d", i), Boot: 3, Since: 2,
			RPC: "192.168.100.100:7702", HTTP: "192.168.100.100:8080", Gossip: "192.168.100.100:7946",
			Process: Process{Machine: "0123456789abcdef", PID: 12345, Started: 123456789},
		})
	}
	cores := map[crawl.NodeID]*Core{}
	for _, m := range v.Members[:members-1] {
		cores[m.ID] = New(Identity{ID: m.ID, Boot: m.Boot, Cluster: unknownCluster}, State{View: v})
	}
	proposer, dead := v.Members[0].ID, v.Members[members-1]
	for _, m := range v.Members[1 : members-1] {
		cores[proposer].Step(Received{Message{
			Kind: KindHello, Cluster: v.Cluster.ID, From: m.ID, Boot: m.Boot, To: proposer, Number: v.Number, ReadsDeltas: true,
		}})
	}
	var queue []Message
	sent, whole := map[crawl.NodeID]int{}, 0
	take := func(out []Action) {
		for _, a := range out {
			s, ok := a.(Send)
			if !ok || s.Message.To == dead.ID {
				continue
			}
			queue = append(queue, s.Message)
			sent[s.Message.From] += len(Encode([]Message{s.Message}))
			if s.Message.View != nil {
				whole++
			}
		}
	}
	take(cores[proposer].Step(Dead{dead.ID, dead.Boot}))
	for range 3 {
		take(cores[proposer].Step(Tick{}))
	}
	for len(queue) > 0 {
		m := queue[0]
		queue = queue[1:]
		ms, err := Decode(Encode([]Message{m}))
		if err != nil {
			t.Fatal(err)
		}
		take(cores[m.To].Step(Received{ms[0]}))
	}
	for id, c := range cores {
		if got := c.View(); got.Number != v.Number+1 || got.Digest() != cores[proposer].View().Digest() {
			t.Fatalf("%s has %s", id, got)
		}
	}
	most := 0
	for _, n := range sent {
		most = max(most, n)
	}
	t.Logf("%d members: a view of %d bytes, %d sent as a whole; at most %d bytes from one member",
		members, len(Encode([]Message{{View: v}})), whole, most)
	if perMember := most / members; whole > 0 || perMember > 3000 {
		t.Errorf("%d views were sent as a whole, and %d bytes a member from one", whole, perMember)
	}
}

// FuzzDelta: no bytes from outside make a view that is not valid, or another one than they name.
func FuzzDelta(f *testing.F) {
	f.Add(Encode([]Message{{Kind: KindDecided, Cluster: testCluster.ID, From: "a", Boot: 1, To: "b", Number: 8, Delta: sampleDelta()}}))
	f.Fuzz(func(t *testing.T, payload []byte) {
		ms, err := Decode(payload)
		if err != nil {
			return
		}
		for _, m := range ms {
			if m.Delta == nil {
				continue
			}
			v, err := m.Delta.Apply(sampleView)
			if err != nil {
				continue
			}
			if err := v.Validate(); err != nil || v.Digest() != m.Delta.Sum || v.Number != sampleView.Number+1 {
				t.Fatalf("%+v makes %s: %v", m.Delta, v, err)
			}
		}
	})
}
