package handoff

import (
	"slices"
	"testing"

	"crawlnode/crawl"
)

// What a node says from memory is never ahead of its disk: about a partition whose
// change is on its way there, or whose release must be sealed first, it says nothing.
func TestWordsWaitForTheDisk(t *testing.T) {
	m := &Machine{view: 4, listed: true, parts: make([]part, 5)}
	m.members = []crawl.NodeID{"a", "b"}
	m.parts[0].state = Holding
	m.parts[3].state, m.parts[3].to = Released, "gone" // no member took it
	m.parts[4].state, m.parts[4].to = Released, "b"
	d := &Driver{machine: m}
	d.sayWords([]Action{StoreCopy{P: 1}, Promote{P: 2}})
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
