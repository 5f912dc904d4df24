package recrawl

import (
	"math"
	"testing"

	"crawlnode/recrawl/visits"
)

// TestRecentRevisits checks the counts beside those of a plain list of the newest revisits.
func TestRecentRevisits(t *testing.T) {
	t.Parallel()
	var f recentRevisits
	var all []bool
	for i := range 2*maxRecent + 17 {
		changed := i%7 == 0 || i < 300
		f.add(changed)
		all = append(all, changed)
		if i%991 != 0 && i != 2*maxRecent+16 {
			continue
		}
		newest, want := all[max(len(all)-maxRecent, 0):], int64(0)
		for _, c := range newest {
			if c {
				want++
			}
		}
		if recent, useful := f.read(); recent != int64(len(newest)) || useful != want {
			t.Fatalf("after %d revisits: %d of %d, want %d of %d", i+1, useful, recent, want, len(newest))
		}
	}
}

// TestRecentCopies checks the sums beside those of a plain list of the newest revisits.
func TestRecentCopies(t *testing.T) {
	t.Parallel()
	var r recentCopies
	if _, ok := r.kept(); ok {
		t.Error("something is known before the first revisit")
	}
	for _, c := range []visits.Copy{{}, {Fresh: 5}, {Fresh: 1, Planned: -1},
		{Fresh: math.NaN(), Planned: math.NaN()}} {
		if r.add(c); r.sum != (visits.Copy{}) {
			t.Fatalf("%+v counts", c)
		}
	}
	var all []visits.Copy
	for i := range 3*maxRecent + 17 {
		c := visits.Copy{
			Fresh:   float64(i%1000) * math.Exp(float64(i%20)),
			Planned: 1000 * math.Exp(float64(i%20)),
		}
		if i > maxRecent && i < 2*maxRecent {
			c.Fresh = 3 * c.Planned // sooner than planned
		}
		r.add(c)
		if all = append(all, c); i%4999 != 0 && i != 3*maxRecent+16 {
			continue
		}
		var want visits.Copy
		for _, c := range all[max(len(all)-maxRecent, 0):] {
			want.Fresh += c.Fresh
			want.Planned += c.Planned
		}
		if share, ok := r.kept(); !ok || math.Abs(share-min(want.Fresh/want.Planned, 1)) > 1e-5 {
			t.Fatalf("after %d revisits: %v, %v, want %v", i+1, share, ok, want.Fresh/want.Planned)
		}
	}
}
