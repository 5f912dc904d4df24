//race:none

package estimate

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// TestBiasReducedEstimator: with half an unchanged visit more and no prior, the mode is the
// estimator of Cho and Garcia-Molina (2003), -log((n-x+0.5)/(n+0.5)) for x changes in n visits.
func TestBiasReducedEstimator(t *testing.T) {
	for _, c := range []struct {
		n, x int
		want float64 // changes in an interval, by that formula
	}{{10, 1, 0.1001}, {10, 3, 0.3365}, {10, 5, 0.6466}, {10, 9, 1.9459}, {10, 10, 3.0445},
		{1, 1, 1.0986}, {50, 20, 0.5043}} {
		const day = 86400.0
		p := product{shape: 1e-12, rate: (float64(c.n-c.x) + 0.5) * day, found: float64(c.x), span: day}
		if got := p.mode() * day; math.Abs(got-c.want) > 0.0002 {
			t.Errorf("%d of %d visits found a change: %.4f changes in an interval, want %.4f", c.x, c.n, got,
				c.want)
		}
	}
}

// TestLikelihoodEquation: at unequal intervals the mode solves the equation of section 5.
func TestLikelihoodEquation(t *testing.T) {
	// Three visits found a change after 1, 1 and 1 hours; none in 2 + 5 hours: 3/(e^r - 1) = 7.
	p := product{shape: 1e-12, rate: 7, found: 3, span: 1}
	if got, want := p.mode(), math.Log(1+3.0/7); math.Abs(got-want) > 1e-4 {
		t.Errorf("%.5f changes an hour, want %.5f", got, want)
	}
}

// TestPosteriorMoments compares with sums over a fine grid.
func TestPosteriorMoments(t *testing.T) {
	for _, p := range []product{
		{0.5, 3600, 1, 3600}, {0.5, 3600, 10, 3600}, {2, 86400, 3, 60}, {0.3, 1e6, 30, 1e4}, {1, 1e5, 1, 1e7}, {5, 1e3, 60, 1e2},
	} {
		var sum, mean, meanLog float64
		mode := p.mode()
		for l := math.Log(mode) - 40; l < math.Log(mode)+12; l += 1e-3 {
			r := math.Exp(l)
			w := math.Exp(p.shape*(l-math.Log(mode)) - p.rate*(r-mode) +
				p.found*math.Log(-math.Expm1(-r*p.span)) - p.found*math.Log(-math.Expm1(-mode*p.span)))
			sum += w
			mean += w * r
			meanLog += w * l
		}
		gotMean, gotLog := p.moments(mode)
		if math.Abs(gotMean/(mean/sum)-1) > 0.05 || math.Abs(gotLog-meanLog/sum) > 0.15 {
			t.Errorf("%+v: mean %.4g, mean logarithm %.3f, want %.4g and %.3f", p, gotMean, gotLog, mean/sum,
				meanLog/sum)
		}
	}
}

// TestTwoVisitsAreNotBelieved: a page whose only two visits found changes is believed to be near
// its site, one with sixty like itself.
func TestTwoVisitsAreNotBelieved(t *testing.T) {
	site := Gamma{Shape: 4, Rate: 4 * 30 * 86400} // once in thirty days
	seen := func(n int) float64 {
		var s Stats
		for range n {
			s = s.Observe(Observation{Interval: time.Hour, Changed: true})
		}
		return 1 / s.Posterior(site).Mean() / 86400
	}
	if two, sixty := seen(2), seen(60); two < 15 || sixty > 3 {
		t.Errorf("the interval is estimated at %.1f days after two visits, and %.1f after sixty", two,
			sixty)
	}
}

// TestRateThatChanges: a page that was quiet for a year and then changes each day is found out.
func TestRateThatChanges(t *testing.T) {
	var s Stats
	for range 365 {
		s = s.Observe(Observation{Interval: 24 * time.Hour})
	}
	prior := Gamma{Shape: 0.5, Rate: 0.5 * 7 * 86400}
	before := s.Posterior(prior).Mean()
	for range 30 {
		s = s.Observe(Observation{Interval: 12 * time.Hour, Changed: true})
	}
	if after := s.Posterior(prior).Mean(); after < 30*before {
		t.Errorf("after thirty changes in a row %.3g changes a day are believed, before %.3g",
			after*86400, before*86400)
	}
}

// TestProperties: whatever is observed, beliefs are finite; more changes never lower the
// estimate and more quiet never raises it; packing changes little.
func TestProperties(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	interval := func() time.Duration {
		switch r.IntN(12) {
		case 0:
			return 0
		case 1:
			return time.Duration(math.MinInt64)
		case 2:
			return time.Duration(math.MaxInt64)
		default:
			return time.Duration(math.Exp(r.Float64()*32) * 1e3)
		}
	}
	for range 20000 {
		var s Stats
		prior := Gamma{math.Exp(r.NormFloat64() * 8), math.Exp(r.NormFloat64() * 20)}
		for range r.IntN(80) {
			s = s.Observe(Observation{
				Interval: interval(),
				Changed:  r.IntN(2) == 0,
				Dated:    r.IntN(3) == 0,
				Age:      interval(),
			})
		}
		g := s.Posterior(prior)
		for _, v := range []float64{g.Shape, g.Rate, g.Mean(), g.MeanLog(), g.Unchanged(3600)} {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				t.Fatalf("%+v with prior %+v gives %+v", s, prior, g)
			}
		}
		i := r.Float64() * 1e6
		quiet, busy := s, s
		quiet.Quiet += i
		busy.Found++
		if s.Found == 0 {
			busy.Span = max(i, minSpan)
		}
		busy.Found = min(busy.Found, Memory)
		// The moments of the posterior are computed to a few hundredths.
		if m := quiet.Posterior(prior).Mean(); m > 1.05*g.Mean() {
			t.Fatalf("%+v, prior %+v: %.4g changes a second, with more quiet %.4g", s, prior, g.Mean(), m)
		}
		if m := busy.Posterior(prior).Mean(); m < 0.95*g.Mean() {
			t.Fatalf("%+v, prior %+v: %.4g changes a second, with one more change %.4g", s, prior, g.Mean(),
				m)
		}
		u := UnpackStats([PackedStats]byte(s.Append(nil))).Posterior(prior)
		if (s.Quiet == 0 || s.Quiet > leastTime) && math.Abs(u.Mean()/g.Mean()-1) > 0.02 {
			t.Fatalf("%+v: %.4g changes a second, packed %.4g", s, g.Mean(), u.Mean())
		}
	}
}

// TestAnyBytes: whatever is on disk, what is read of it is a belief.
func TestAnyBytes(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 20000 {
		var s [PackedStats]byte
		var g [PackedGamma]byte
		for i := range s {
			s[i] = byte(r.Uint32())
		}
		for i := range g {
			g[i] = byte(r.Uint32())
		}
		read := UnpackGamma(g)
		if again := UnpackGamma([PackedGamma]byte(read.Append(nil))); again != read {
			t.Fatalf("%+v is read again as %+v", read, again)
		}
		p := UnpackStats(s).Posterior(read)
		if !(p.Mean() > 0) || math.IsInf(p.Mean(), 0) || math.IsNaN(p.MeanLog()) {
			t.Fatalf("%x with prior %x gives %+v", s, g, p)
		}
	}
}

// TestPool: what is added and removed again leaves nothing; the prior of many pages is what they
// were drawn from, whatever is believed elsewhere.
func TestPool(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	elsewhere := Gamma{Shape: 0.5, Rate: 1}
	var pool, other Pool
	var pages []Gamma
	const day = 86400
	for range 500 {
		// Rates between a half and two a day, each well known.
		g := Known(math.Exp((r.Float64()-0.5)*2*math.Log(2)) / day)
		pages = append(pages, g)
		pool.Add(g)
	}
	if g := pool.Prior(elsewhere); g.Mean()*day < 0.9 || g.Mean()*day > 1.2 || g.Shape < 3 {
		t.Errorf(
			"the pages change about once a day; the next is believed to change %.3f times, shape %.2f",
			g.Mean()*day, g.Shape)
	}
	other.Plus(pool)
	for _, g := range pages[:499] {
		pool.Remove(g)
	}
	if pool.Pages != 1 || math.Abs(pool.Mean/pages[499].Mean()-1) > 1e-6 {
		t.Errorf("one page is left, the pool has %+v", pool)
	}
	pool.Remove(pages[499])
	other.Minus(other)
	if pool != (Pool{}) || other != (Pool{}) || pool.Prior(elsewhere) != elsewhere {
		t.Errorf("nothing is left, the pools have %+v and %+v", pool, other)
	}
}

func TestSpecialFunctions(t *testing.T) {
	for _, c := range []struct{ x, di, tri float64 }{{1, -0.5772156649, 1.6449340668},
		{0.5, -1.9635100260, 4.9348022005}, {10, 2.2517525890, 0.1051663357}} {
		if math.Abs(digamma(c.x)-c.di) > 1e-7 || math.Abs(trigamma(c.x)-c.tri) > 1e-6 {
			t.Errorf("digamma(%g) = %.10f, trigamma = %.10f", c.x, digamma(c.x), trigamma(c.x))
		}
	}
	for _, a := range []float64{0.06, 0.5, 1, 7, 300} {
		if got := shapeOf(math.Log(a) - digamma(a)); math.Abs(got/a-1) > 1e-3 {
			t.Errorf("the shape %g is computed as %g", a, got)
		}
	}
}

func BenchmarkEstimate(b *testing.B) {
	var s Stats
	for i := range 20 {
		s = s.Observe(Observation{Interval: time.Hour, Changed: i%3 == 0})
	}
	prior := Gamma{Shape: 0.5, Rate: 1e5}
	for b.Loop() {
		s.Observe(Observation{Interval: time.Hour, Changed: true}).Posterior(prior)
	}
}
