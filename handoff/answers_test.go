package handoff

import (
	"slices"
	"testing"

	"crawlnode/crawl"
	"crawlnode/handoff/machine"
)

// What a node says from memory is never ahead of its disk: about a partition whose
// change is on its way there, or whose release must be sealed first, it says nothing.
func TestWordsWaitForTheDisk(t *testing.T) {
	m := machine.New("a", 5, 2, Limits{Out: 2})
	m.Step(machine.Loaded{P: 0, State: Holding, Epoch: 1, MaxEpoch: 1})
	m.Step(machine.Loaded{P: 3, State: Released, Epoch: 1, MaxEpoch: 1, To: "gone", View: 2}) // no member took it
	m.Step(machine.Loaded{P: 4, State: Released, Epoch: 1, MaxEpoch: 1, To: "b", View: 2})
	m.Step(ViewInstalled{View: 4, Listed: true, Members: []crawl.NodeID{"a", "b"}})
	d := &Driver{machine: m, opts: Options{Self: "a", Partitions: 5}}
	d.sayWords([]machine.Action{machine.StoreCopy{P: 1}, machine.Promote{P: 2}})
	w := d.words.Load()
	if want := []bool{false, true, true, true, false}; !slices.Equal(w.unsaid, want) {
		t.Errorf("nothing is said about %v, want %v", w.unsaid, want)
	}
	if !w.held[0] || w.held[1] {
		t.Errorf("held: %v", w.held)
	}
	d.sayWords(nil)
	if w := d.words.Load(); w.unsaid[1] || w.unsaid[2] {
		t.Error("nothing is said about what is stored")
	}
}
