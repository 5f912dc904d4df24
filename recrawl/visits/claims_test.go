package visits

import (
	"math"
	"math/rand/v2"
	"testing"
)

// after is the record of a site after so many visits; half of the pages have changed.
func after(r Claims, visits int, claims func(changed bool, rnd *rand.Rand) bool) Claims {
	rnd := rand.New(rand.NewPCG(1, uint64(visits)))
	for i := range visits {
		changed := i%2 == 0
		r = r.Check(claims(changed, rnd), changed)
	}
	return r
}

func honest(changed bool, _ *rand.Rand) bool { return changed }
func always(bool, *rand.Rand) bool           { return true }
func never(bool, *rand.Rand) bool            { return false }
func noise(_ bool, r *rand.Rand) bool        { return r.IntN(2) == 0 }
func mostly(changed bool, r *rand.Rand) bool { return changed == (r.IntN(10) > 0) }
func reversed(changed bool, _ *rand.Rand) bool {
	return !changed
}

func TestWorthOfAClaim(t *testing.T) {
	for _, c := range []struct {
		name   string
		site   func(bool, *rand.Rand) bool
		visits int
		from   float64 // what the probability of 0.2 becomes with a claim
		to     float64
	}{
		{"nothing was checked", honest, 0, 0.2, 0.2},
		{"two checks prove little", honest, 2, 0.2, 0.4},
		{"an honest site", honest, 40, 0.65, 1},
		{"a site that is right in nine of ten", mostly, 60, 0.5, 0.85},
		{"a site that claims changes always", always, 60, 0.19, 0.21},
		{"a site that says nothing", never, 60, 0.15, 0.25},
		{"a site that draws lots", noise, 200, 0.1, 0.35},
		{"a site that says the contrary", reversed, 60, 0, 0.05},
	} {
		r := after(Claims{}, c.visits, c.site)
		if got := r.Changed(0.2, true); got < c.from-1e-9 || got > c.to+1e-9 {
			t.Errorf("%s: after a claim the probability of 0.2 is %.3f, want %.2f to %.2f (%+v)", c.name,
				got, c.from, c.to, r)
		}
	}
}

// TestLiarsClaims: a site that was honest and then claims everything loses its weight within forty
// visits.
func TestLiarsClaims(t *testing.T) {
	r := after(Claims{}, 200, honest)
	if !r.TrustsDates() {
		t.Fatalf("an honest site is not believed: %+v", r)
	}
	before := r.Changed(0.2, true)
	r = after(r, 10, always)
	if r.TrustsDates() {
		t.Errorf("after ten visits its dates are believed still: %+v", r)
	}
	r = after(r, 30, always)
	if now := r.Changed(0.2, true); now > 0.45 || now > before/1.5 {
		t.Errorf("a claim makes %.2f of a probability of 0.2 after forty lies, %.2f before", now, before)
	}
}

func TestSilenceOfAnHonestSite(t *testing.T) {
	r := after(Claims{}, 60, honest)
	if got := r.Changed(0.5, false); got > 0.15 {
		t.Errorf("an honest site says nothing: the page has changed with probability %.2f", got)
	}
}

func FuzzClaims(f *testing.F) {
	f.Add([]byte{0, 1, 2, 3, 4, 5, 6, 7}, 0.5)
	f.Fuzz(func(t *testing.T, b []byte, p float64) {
		if len(b) != packedClaims {
			return
		}
		r := unpackClaims([packedClaims]byte(b))
		for _, claimed := range []bool{true, false} {
			if c := r.Changed(p, claimed); !(c >= 0 && c <= 1) {
				t.Errorf("%+v: probability %g", r, c)
			}
			if q := r.Ratio(claimed); !(q > 0) || math.IsInf(q, 0) {
				t.Errorf("%+v: ratio %g", r, q)
			}
		}
		if again := unpackClaims([packedClaims]byte(r.Append(nil))); again != r {
			t.Errorf("%+v became %+v", r, again)
		}
	})
}

func BenchmarkChanged(b *testing.B) {
	r := after(Claims{}, 40, mostly)
	for b.Loop() {
		r.Check(true, true).Changed(0.3, true)
	}
}
