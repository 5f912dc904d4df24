package handoff

import (
	"slices"
	"testing"

	"crawlnode/crawl"
	"crawlnode/handoff/machine"
)

// What a node answers from memory is never ahead of its disk: a partition whose change is
// on its way there, or whose release must be sealed first, has no answer.
func TestAnswersWaitForTheDisk(t *testing.T) {
	m := machine.New("a", 5, 2, Limits{Out: 2})
	m.Step(machine.Loaded{P: 0, State: Holding, Epoch: 1, MaxEpoch: 1})
	m.Step(machine.Loaded{P: 3, State: Released, Epoch: 1, MaxEpoch: 1, To: "gone", View: 2}) // no member took it
	m.Step(machine.Loaded{P: 4, State: Released, Epoch: 1, MaxEpoch: 1, To: "b", View: 2})
	m.Step(ViewInstalled{View: 4, Listed: true, Members: []crawl.NodeID{"a", "b"}})
	d := &Driver{machine: m, opts: Options{Self: "a", Partitions: 5}}
	d.publishOwnership([]machine.Action{machine.StoreCopy{P: 1}, machine.Promote{P: 2}})
	w := d.ownership.Load()
	if want := []bool{false, true, true, true, false}; !slices.Equal(w.pending, want) {
		t.Errorf("no answer about %v, want %v", w.pending, want)
	}
	if !w.held[0] || w.held[1] {
		t.Errorf("held: %v", w.held)
	}
	d.publishOwnership(nil)
	if w := d.ownership.Load(); w.pending[1] || w.pending[2] {
		t.Error("no answer about what is stored")
	}
}
