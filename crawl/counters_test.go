package crawl

import "testing"

// TestCountersKeepTheirPlaces: stores identify the counters by their place in Each, so a new one
// must come last.
func TestCountersKeepTheirPlaces(t *testing.T) {
	t.Parallel()
	var c Counters
	var places []*int64
	c.Each(func(p *int64) { places = append(places, p) })
	const plain, errors = 11, 8 // and 8 bands, 4 classes of answers, 8 old reasons
	for i, want := range map[int]*int64{
		0: &c.Pages, plain - 1: &c.Outbox, plain: &c.Queued[0], plain + 8: &c.Responses[0],
		plain + 12:          &c.Errors[0],
		plain + 12 + errors: &c.Skipped[SkipOutOfScope], plain + 27: &c.Skipped[SkipInvalid],
		plain + 28: &c.Latency[0], plain + 28 + 24: &c.Latency[24],
		plain + 28 + 25:                     &c.Skipped[SkipNoFollow],
		plain + 28 + 33 + NumOverdueBuckets: &c.Skipped[SkipFocus],
		plain + 28 + 34 + NumOverdueBuckets: &c.QueuedRevisits,
	} {
		if places[i] != want {
			t.Errorf("place %d has another counter", i)
		}
	}
	// ErrProxy is younger than all others but what clients say, and shares no place with what is given
	// up.
	if places[len(places)-5] != &c.Errors[ErrProxy] || places[len(places)-1] != &c.NoteBytes ||
		GaveUpLimited != 8 || NumGiveUpReasons != 10 {
		t.Error(
			"the counters of failed proxies and of notes are not the last, or a reason to give up has moved")
	}
	seen := map[*int64]bool{}
	for _, p := range places {
		if seen[p] {
			t.Error("a counter stands in two places")
		}
		seen[p] = true
	}
}

// TestCountersAddUp: no counter is left out or mixed up with another.
func TestCountersAddUp(t *testing.T) {
	t.Parallel()
	var a, b Counters
	n := int64(0)
	a.Each(func(p *int64) { n++; *p = n })
	b.Each(func(p *int64) { *p = 1000 })
	b.Plus(&a)
	n = 0
	b.Each(func(p *int64) {
		if n++; *p != 1000+n {
			t.Errorf("place %d is %d after Plus", n, *p)
		}
	})
	b.Minus(&a)
	b.Each(func(p *int64) {
		if *p != 1000 {
			t.Errorf("%d after Minus", *p)
		}
	})
}
