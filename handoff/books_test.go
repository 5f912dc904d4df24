package handoff

import "testing"

// checkBooks holds the machine's own books against its states.
func checkBooks(t testing.TB, m *Machine) {
	t.Helper()
	out := 0
	for i := range m.parts {
		p := &m.parts[i]
		if p.running {
			out++
		}
		if p.state == Freezing && !p.running {
			t.Fatalf("partition %d is freezing and nothing runs", i)
		}
		if p.running && p.state != Freezing && p.state != Released {
			t.Fatalf("a move of partition %d runs, which is %v", i, p.state)
		}
		if p.state == Absent && (len(p.links) > 0 || p.proposed != nil) {
			t.Fatalf("partition %d is not here and has links %v, a proposal %v", i, p.linked(), p.proposed)
		}
		if p.proposed != nil && !p.proposed.newer(p.set) {
			t.Fatalf("partition %d: %v is proposed over %v", i, *p.proposed, p.set)
		}
	}
	if out != m.out || out > m.limits.Out {
		t.Fatalf("the machine counts %d moves, its states say %d, the limit is %d", m.out, out, m.limits.Out)
	}
}
