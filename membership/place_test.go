package membership

import (
	"errors"
	"fmt"
	"testing"

	"crawlnode/crawl"
	"crawlnode/membership/storage"
)

func toWeight(n int) PlaceChange  { return PlaceChange{Weight: &n} }
func toZone(s string) PlaceChange { return PlaceChange{Zone: &s} }

// TestPlace: weights and zones of flags are in the views and tables of all; a change while a node
// runs is one more view, outlives a restart with the same flags, and ends with other flags.
func TestPlace(t *testing.T) {
	t.Parallel()
	x := new(exchange)
	o1, o2 := x.options("n1"), x.options("n2")
	o1.Zone, o2.Weight, o2.Zone = "east", 3, "west"
	n1 := x.run(t, o1)
	o2.Join = []string{n1.Self().Gossip}
	n2 := x.run(t, o2)
	place := func(n *running, want string) *Snapshot {
		t.Helper()
		var s *Snapshot
		for _, at := range []*running{n1, n2} {
			s = at.await(fmt.Sprintf("%s in %s", want, at.self.Name), func(s *Snapshot) bool {
				if s.View == nil {
					return false
				}
				m, ok := s.View.Member(n.self.ID)
				return ok && m.Boot == n.self.Boot && fmt.Sprint(m.Share(), " ", m.Zone) == want
			})
		}
		for _, p := range s.Peers {
			if got := fmt.Sprint(p.Weight, " ", p.Zone); p.ID == n.self.ID && got != want {
				t.Errorf("the peers show %s, the view %s", got, want)
			}
		}
		return s
	}
	place(n1, "1 east")
	s := place(n2, "3 west")
	if own, others := len(s.Table.OwnedBy(n2.self.ID)), len(s.Table.OwnedBy(n1.self.ID)); own <= others {
		t.Errorf("the heavy node owns %d partitions, the light one %d", own, others)
	}
	number := s.View.Number

	if err := n1.SetPlace(t.Context(), toWeight(5)); err != nil {
		t.Fatal(err)
	}
	raw, err := o1.Storage.Load()
	if err != nil {
		t.Fatal(err)
	}
	if doc, err := storage.Decode(raw); err != nil || doc.Weight == nil || *doc.Weight != (storage.Changed[int]{Value: 5, Flag: 1}) {
		t.Fatalf("SetPlace has returned, and the disk has %+v, %v", doc.Weight, err)
	}
	for _, n := range []*running{n1, n2} {
		if err := n.AwaitPlace(t.Context(), n1.self.ID, toWeight(5)); err != nil {
			t.Fatal(err)
		}
	}
	s = place(n1, "5 east")
	if s.View.Number != number+1 || len(s.View.Removed) != 0 {
		t.Errorf("the change gives %s after view %d", s.View, number)
	}
	if m, _ := s.View.Member(n1.self.ID); m.Since != 1 || m.Boot != n1.self.Boot {
		t.Errorf("the change made a new member of it: %+v", m)
	}
	if err := n1.SetPlace(t.Context(), toZone("north")); err != nil {
		t.Fatal(err)
	}
	place(n1, "5 north")
	for _, wrong := range []PlaceChange{toWeight(0), toWeight(17), toZone("a\x07"), toZone("123456789012345678901234567890123")} {
		if err := n1.SetPlace(t.Context(), wrong); !errors.Is(err, crawl.ErrPlace) {
			t.Errorf("%+v: %v, want crawl.ErrPlace", wrong, err)
		}
	}

	o1.Bind, o2.Bind = n1.Self().Gossip, n2.Self().Gossip
	n1.end()
	n1 = x.run(t, o1) // the same flags
	place(n1, "5 north")
	n1.end()
	o1.Weight = 2 // another flag: the weight's change is over, the zone's is not
	n1 = x.run(t, o1)
	place(n1, "2 north")
	n1.end()
	o1.Weight = 1 // it does not come back
	n1 = x.run(t, o1)
	place(n1, "1 north")
	n1.SetPlaceFlags(3, "") // SIGHUP: the flags are other ones now
	place(n1, "3 ")
	if err := n1.SetPlace(t.Context(), toWeight(7)); err != nil {
		t.Fatal(err)
	}
	n1.SetPlaceFlags(3, "south") // the weight's flag is as it was
	place(n1, "7 south")
	n1.end()
	o1.Weight, o1.Zone = 3, "south"
	n1 = x.run(t, o1)
	place(n1, "7 south")
	n1.end()
	if err := n1.SetPlace(t.Context(), toWeight(2)); !errors.Is(err, ErrStopped) {
		t.Errorf("after the end: %v", err)
	}
}

// TestPlaceInTheFile: a damaged change in the state file is found.
func TestPlaceInTheFile(t *testing.T) {
	t.Parallel()
	for _, d := range []storage.Document{
		{Weight: &storage.Changed[int]{Value: 0, Flag: 1}},
		{Weight: &storage.Changed[int]{Value: 17, Flag: 1}},
		{Zone: &storage.Changed[string]{Value: "\x00"}},
	} {
		d.ID, d.Boot = "a", 1
		if _, err := storage.Decode(storage.Encode(&d)); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%+v is read: %v", d, err)
		}
	}
	d := storage.Document{ID: "a", Boot: 1, Weight: &storage.Changed[int]{Value: 4, Flag: 1}, Zone: &storage.Changed[string]{Flag: "east"}}
	got, err := storage.Decode(storage.Encode(&d))
	if err != nil || *got.Weight != *d.Weight || *got.Zone != *d.Zone {
		t.Errorf("%+v, %v", got, err)
	}
	for _, c := range []struct {
		weight int
		zone   string
		want   Place
	}{
		{1, "east", Place{Weight: 4}},
		{2, "east", Place{Weight: 2}},
		{4, "west", Place{Weight: 4, Zone: "west"}},
	} {
		again := *got
		if p := placeOf(&Options{Weight: c.weight, Zone: c.zone}, &again); p != c.want {
			t.Errorf("flags %d and %q: %+v, want %+v", c.weight, c.zone, p, c.want)
		}
	}
}

// TestOpenRefusesPlaces: flags that no node can have.
func TestOpenRefusesPlaces(t *testing.T) {
	t.Parallel()
	for _, c := range []Place{{Weight: -1}, {Weight: 17}, {Zone: "a\nb"}} {
		o := new(exchange).options("n1")
		o.Weight, o.Zone = c.Weight, c.Zone
		if m, err := Open(o); !errors.Is(err, crawl.ErrPlace) {
			t.Errorf("%+v: %v", c, err)
			if err == nil {
				m.Close()
			}
		}
	}
}
