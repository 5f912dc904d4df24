//race:none

package policy

import (
	"bytes"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"crawlnode/crawl"
	"crawlnode/recrawl/policy/estimate"
)

const day = 86400.0

var bounds = Bounds{Min: time.Minute, Max: 90 * 24 * time.Hour}

// TestFivePages is the example of Cho and Garcia-Molina ("Synchronizing a database to improve
// freshness", SIGMOD 2000, table 2): five pages that change 1 to 5 times a day, five visits a day.
// The page that changes most often is visited least often, and not at all.
func TestFivePages(t *testing.T) {
	want := []float64{1.15, 1.36, 1.35, 1.14, 0}
	var low, high = 1.0, day
	visits := func(price float64) (each []float64, sum float64) {
		for rate := 1.0; rate <= 5; rate++ {
			v := day / Interval(estimate.Known(rate/day), price)
			each, sum = append(each, v), sum+v
		}
		return each, sum
	}
	for range 60 {
		mid := (low + high) / 2
		if _, sum := visits(mid); sum > 5 {
			low = mid
		} else {
			high = mid
		}
	}
	each, _ := visits(high)
	for i, v := range each {
		if math.Abs(v-want[i]) > 0.02 {
			t.Errorf("a page that changes %d times a day is visited %.3f times, want %.2f", i+1, v, want[i])
		}
	}
}

// TestWorthIsTheExpectation compares with a sum over a fine grid of rates.
func TestWorthIsTheExpectation(t *testing.T) {
	for _, g := range []estimate.Gamma{{Shape: 0.5, Rate: day}, {Shape: 1, Rate: day},
		{Shape: 3, Rate: 7 * day}} {
		for _, seconds := range []float64{10, 3600, day, 30 * day} {
			var sum, worth, fresh float64
			for l := -60.0; l < 5; l += 1e-3 {
				r := math.Exp(l)
				x := r * seconds
				w := math.Exp(g.Shape*l - g.Rate*r)
				sum += w
				if x > 1e-5 {
					worth += w * (1 - (1+x)*math.Exp(-x)) / r
				} else {
					worth += w * x * x / 2 / r
				}
				fresh += w * -math.Expm1(-x) / x
			}
			if got := Worth(g, seconds); math.Abs(got/(worth/sum)-1) > 0.01 {
				t.Errorf("%+v after %g s: a visit is worth %.5g s, want %.5g", g, seconds, got, worth/sum)
			}
			if got := Freshness(g, seconds); math.Abs(got-fresh/sum) > 0.002 {
				t.Errorf("%+v each %g s: %.5f of the time fresh, want %.5f", g, seconds, got, fresh/sum)
			}
		}
	}
}

// TestProperties: for any belief, an interval is where a visit is worth the price; it grows with
// the price and falls with the weight.
func TestProperties(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 20000 {
		g := estimate.Gamma{
			Shape: math.Exp(r.Float64()*14 - 3),
			Rate:  math.Exp(r.Float64()*34 - 6),
		}.Valid()
		price := math.Exp(r.Float64()*30 - 7)
		i := Interval(g, price)
		if math.IsNaN(i) || i < 0 {
			t.Fatalf("%+v at %g s: interval %g", g, price, i)
		}
		if !math.IsInf(i, 1) && i < 1e11*g.Rate && i > 1e-6*g.Rate {
			if w := Worth(g, i); math.Abs(w/price-1) > 0.01 {
				t.Fatalf("%+v at %g s: the interval is %g s, where a visit is worth %g s", g, price, i, w)
			}
		}
		if more := Interval(g, price*1.5); more < i*0.999 {
			t.Fatalf("%+v: interval %g s at %g s, %g s when it costs half as much again", g, i, price, more)
		}
		if p, q := Plan(g, 0.2, price, bounds), Plan(g, 0.9, price, bounds); p < bounds.Min ||
			p > bounds.Max || q > p+p/1000 {
			t.Fatalf("%+v at %g s: planned after %v, with more weight after %v", g, price, p, q)
		}
		if f := Freshness(g, i); !(f >= 0 && f <= 1) {
			t.Fatalf("%+v each %g s: freshness %g", g, i, f)
		}
		stale := r.Float64()
		if e := Effective(g, stale); stale > 1e-6 && stale < 0.999 && e < 1e11 &&
			math.Abs(1-g.Unchanged(e)-stale) > 1e-3 {
			t.Fatalf("%+v: %g s count for a probability of %g, which has %g", g, e, stale, 1-g.Unchanged(e))
		}
	}
	for _, g := range []estimate.Gamma{{}, {Shape: math.NaN(), Rate: math.NaN()},
		{Shape: math.Inf(1), Rate: 1}, {Shape: -1, Rate: -1}} {
		for _, price := range []float64{0, -1, math.NaN(), math.Inf(1)} {
			if p := Plan(g, math.NaN(), price, bounds); p < bounds.Min || p > bounds.Max {
				t.Errorf("%+v at %g: planned after %v", g, price, p)
			}
		}
	}
}

func TestCheck(t *testing.T) {
	const usual, interval = time.Hour, 100 * time.Hour
	var at []time.Duration
	for elapsed := time.Duration(0); elapsed < interval; {
		elapsed = Check(elapsed, interval, usual)
		at = append(at, elapsed)
	}
	want := []time.Duration{2 * time.Hour, 4 * time.Hour, 8 * time.Hour, 16 * time.Hour,
		32 * time.Hour, interval}
	if len(at) != len(want) || at[3] != want[3] || at[5] != want[5] {
		t.Errorf("a page with an interval of %v is looked at after %v, want %v", interval, at, want)
	}
	if got := Check(0, time.Hour, time.Hour); got != time.Hour {
		t.Errorf("a page with the usual interval is looked at after %v", got)
	}
}

// pages are beliefs and weights of every kind.
func pages(n int, seed uint64) (gs []estimate.Gamma, weights []float64) {
	r := rand.New(rand.NewPCG(seed, 2))
	for range n {
		gs = append(gs, estimate.Gamma{Shape: math.Exp(r.Float64()*4 - 1), Rate: 1}.Valid())
		gs[len(gs)-1].Rate = gs[len(gs)-1].Shape * math.Exp(r.Float64()*8+7)
		weights = append(weights, math.Pow(r.Float64(), 2)+0.01)
	}
	return gs, weights
}

// TestPrice: at the price of the cells, the pages themselves want the visits that there are.
func TestPrice(t *testing.T) {
	gs, weights := pages(5000, 1)
	var d Demand
	for i, g := range gs {
		d.Add(g, weights[i])
	}
	for _, capacity := range []float64{0.05, 0.5, 2} {
		c := d.Curve(bounds, 1, capacity)
		price := c.Price()
		var wanted, gain, weight float64
		for i, g := range gs {
			p := Plan(g, weights[i], price, bounds).Seconds()
			wanted += 1 / p
			gain += weights[i] * Freshness(g, p)
			weight += weights[i]
		}
		if math.Abs(wanted/capacity-1) > 0.05 {
			t.Errorf("for %g visits a second, the pages want %.4g at the price of %.4g s", capacity, wanted,
				price)
		}
		if share, ok := c.Expected(price); !ok || math.Abs(share-gain/weight) > 0.01 {
			t.Errorf("for %g visits a second, %.4f are expected to be fresh, want %.4f", capacity, share,
				gain/weight)
		}
	}
	for i, g := range gs {
		d.Remove(g, weights[i])
	}
	c := d.Curve(bounds, 1, 1)
	if _, ok := c.Expected(c.Price()); ok && c.Weight > 1e-6 || c.Visits[0] > 1e-6 {
		t.Errorf("without pages, %g visits are wanted and the weight is %g", c.Visits[0], c.Weight)
	}
}

// TestPriceAfterDeath: when a member leaves with its pages and its capacity, the others compute
// the same price, each alone, from the curves that remain; repeats and reordering change nothing.
func TestPriceAfterDeath(t *testing.T) {
	ids := []crawl.NodeID{"a", "b", "c"}
	var sent []Curve
	var pagesOf []Demand
	for k := range ids {
		var d Demand
		gs, weights := pages(2000, uint64(k))
		for i, g := range gs {
			d.Add(g, weights[i])
		}
		pagesOf = append(pagesOf, d)
		c := d.Curve(bounds, 1, 0.2*float64(k+1))
		back, err := DecodeCurve(c.Append(nil))
		if err != nil {
			t.Fatal(err)
		}
		sent = append(sent, back)
	}
	r := rand.New(rand.NewPCG(9, 9))
	var prices []float64
	for range 3 {
		var s Curves
		for range 50 {
			k := r.IntN(len(ids))
			s.Put(ids[k], Version{1, 2}, sent[k])
			s.Put(ids[k], Version{1, 1}, Curve{Capacity: 99}) // late
		}
		for k, id := range ids {
			s.Put(id, Version{1, 2}, sent[k])
		}
		s.Keep(ids[:2])
		sum := s.Sum()
		prices = append(prices, sum.Price())
	}
	d := pagesOf[0]
	d.Plus(&pagesOf[1])
	c := d.Curve(bounds, 1, 0.2+0.4)
	if want := c.Price(); prices[0] != prices[1] || prices[1] != prices[2] ||
		math.Abs(prices[0]/want-1) > 0.01 {
		t.Errorf("the members compute %v, the price of their pages is %v", prices, want)
	}
	// The pages of the one that died are with the others after a take-over, its capacity is not.
	d.Plus(&pagesOf[2])
	c = d.Curve(bounds, 1, 0.2+0.4)
	if after := c.Price(); after <= prices[0] {
		t.Errorf("more pages for the same visits: the price goes from %g to %g", prices[0], after)
	}
}

// TestNoCapacity: without visits nothing is worth one; with more than the bounds allow, all is.
func TestNoCapacity(t *testing.T) {
	var d Demand
	d.Add(estimate.Known(1/day), 1)
	for _, c := range []struct{ capacity, want float64 }{{0, math.Exp2(Prices - 1 + leastPrice)},
		{1e9, math.Exp2(leastPrice)}} {
		curve := d.Curve(bounds, 1, c.capacity)
		if got := curve.Price(); got != c.want {
			t.Errorf("with %g visits a second the price is %g, want %g", c.capacity, got, c.want)
		}
	}
}

// TestHostFactor: a host whose pages want ten times what its delay allows gets the factor at
// which they want just that, and loses it when the pages are gone.
func TestHostFactor(t *testing.T) {
	const allowed, price = 0.3, 10.0
	gs, _ := pages(2000, 3)
	wanted := func(factor float64) (sum float64) {
		for _, g := range gs {
			sum += 1 / Plan(g, 1, price*factor, bounds).Seconds()
		}
		return sum
	}
	if w := wanted(1); w < 5*allowed {
		t.Fatalf("the pages want only %g visits a second", w)
	}
	factor := 1.0
	for range 300 {
		factor = HostFactor(factor, wanted(factor), allowed)
	}
	if w := wanted(factor); math.Abs(w/allowed-1) > 0.05 {
		t.Errorf("with the factor %g the pages want %g visits a second, %g are allowed", factor, w,
			allowed)
	}
	for range 300 {
		factor = HostFactor(factor, 0, allowed)
	}
	if factor != 1 {
		t.Errorf("without pages the factor is %g", factor)
	}
	for _, v := range []float64{0, -1, math.NaN(), math.Inf(1)} {
		if f := HostFactor(v, v, v); !(f >= 1) || math.IsInf(f, 0) {
			t.Errorf("of %g the factor %g is made", v, f)
		}
	}
}

// TestHostWait: the mean wait of a simulated host with random arrivals is what HostWait says, and a
// host that allows no more keeps no page waiting without end.
func TestHostWait(t *testing.T) {
	const turn = 1350 * time.Millisecond
	r := rand.New(rand.NewPCG(7, 1))
	for _, busy := range []float64{0.1, 0.4, 0.7} {
		wanted := busy / turn.Seconds()
		now, free, waited := 0.0, 0.0, 0.0
		const n = 200_000
		for range n {
			now += r.ExpFloat64() / wanted
			waited += max(free-now, 0)
			free = max(free, now) + turn.Seconds()
		}
		if got, want := HostWait(wanted, turn).Seconds(), waited/n; math.Abs(got/want-1) > 0.05 {
			t.Errorf("busy for %g of the time: %.3f s, want %.3f", busy, got, want)
		}
	}
	if got := HostAllows(turn); math.Abs(got-0.8/1.35) > 1e-9 {
		t.Errorf("%g visits a second are allowed", got)
	}
	if got := HostAllows(0); !(got >= 1e6) || math.IsInf(got, 0) {
		t.Errorf("without a gap %g visits a second are allowed", got)
	}
	for _, wanted := range []float64{0, -1, math.NaN(), math.Inf(1), 1e300} {
		for _, turn := range []time.Duration{0, -1, turn, math.MaxInt64 / 4} {
			if w := HostWait(wanted, turn); w < 0 || turn >= 0 && float64(w) > 2.001*float64(turn) ||
				turn < 0 && w != 0 {
				t.Errorf("%g visits a second, each %v: the wait is %v", wanted, turn, w)
			}
		}
	}
}

func FuzzDecodeCurve(f *testing.F) {
	c := Curve{Capacity: 3, Weight: 2}
	f.Add(c.Append(nil))
	f.Add([]byte{curveVersion})
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := DecodeCurve(b)
		if err != nil {
			return
		}
		if p := c.Price(); !(p >= math.Exp2(leastPrice) && p <= math.Exp2(Prices)) {
			t.Errorf("the price is %g", p)
		}
		if share, ok := c.Expected(c.Price()); ok && !(share >= 0 && share <= 1) {
			t.Errorf("%g of the pages are expected to be fresh", share)
		}
		again, err := DecodeCurve(c.Append(nil))
		if err != nil || !bytes.Equal(again.Append(nil), c.Append(nil)) {
			t.Errorf("encoded again it is another curve: %v", err)
		}
	})
}

func BenchmarkPlan(b *testing.B) {
	g := estimate.Gamma{Shape: 2.5, Rate: 2.5 * day}
	for b.Loop() {
		Plan(g, 0.7, 5000, bounds)
	}
}

func BenchmarkDemand(b *testing.B) {
	var d Demand
	g := estimate.Gamma{Shape: 2.5, Rate: 2.5 * day}
	for b.Loop() {
		d.Add(g, 0.7)
	}
}

func BenchmarkCurve(b *testing.B) {
	var d Demand
	gs, weights := pages(5000, 1)
	for i, g := range gs {
		d.Add(g, weights[i])
	}
	for b.Loop() {
		d.Curve(bounds, 1, 1)
	}
}

// TestWorth compares the shortest intervals with the closed form b((1-w)^(-1/a) - 1), computed by
// hand for shapes whose powers are simple, and checks which bound wins.
func TestWorth(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	for _, c := range []struct {
		name  string
		g     estimate.Gamma
		b     Bounds
		price float64
		want  float64 // seconds
	}{
		{"shape 1: b/(1-w) - b", estimate.Gamma{Shape: 1, Rate: 9000}, Bounds{Min: time.Second, Max: 90 * day, Worth: 0.1}, 0, 1000},
		{"shape 1/2: b/(1-w)^2 - b", estimate.Gamma{Shape: 0.5, Rate: 8100}, Bounds{Min: time.Second, Max: 90 * day, Worth: 0.1}, 0, 1900},
		{"even odds", estimate.Gamma{Shape: 1, Rate: 5000}, Bounds{Min: time.Second, Max: 90 * day, Worth: 0.5}, 0, 5000},
		{"none: the shortest", estimate.Gamma{Shape: 1, Rate: 9000}, Bounds{Min: time.Second, Max: 90 * day}, 0, 1},
		{"the shortest is longer", estimate.Gamma{Shape: 1, Rate: 9000}, Bounds{Min: time.Hour, Max: 90 * day, Worth: 0.1}, 0, 3600},
		{"the longest wins", estimate.Gamma{Shape: 1, Rate: 9e9}, Bounds{Min: time.Second, Max: day, Worth: 0.1}, 0, 86400},
		{"the price asks for more", estimate.Gamma{Shape: 1, Rate: 9000}, Bounds{Min: time.Second, Max: day, Worth: 0.1}, 1e9, 86400},
	} {
		got := Plan(c.g, 1, c.price, c.b).Seconds()
		if math.Abs(got-c.want) > 1e-6*c.want {
			t.Errorf("%s: %v s, want %v", c.name, got, c.want)
		}
		if least := c.b.Least(c.g); least > got*(1+1e-9) {
			t.Errorf("%s: the least is %v s, the plan %v", c.name, least, got)
		}
	}
}

// TestWorthEases checks that the probability that a visit needs acts where there are visits for all
// pages that have a reason, and only a part of it where those alone want twice as many as there
// are.
func TestWorthEases(t *testing.T) {
	var d Demand
	pages := []estimate.Gamma{estimate.Known(1.0 / 3600), estimate.Known(1.0 / 86400),
		estimate.Known(1.0 / 864000)}
	for _, g := range pages {
		d.Add(g, 1)
	}
	b := Bounds{Min: time.Minute, Max: 90 * 24 * time.Hour, Worth: 0.1}
	reason := 0.0
	for _, g := range pages {
		reason += 1 / b.Least(g)
	}
	for _, c := range []struct{ capacity, ease float64 }{
		{2 * reason, 1}, {reason, 1}, {0.75 * reason, 0.5}, {0.5 * reason, leastEase}, {0.01 * reason, leastEase},
	} {
		first := d.Curve(b, 0, c.capacity)
		if got := first.Ease(); math.Abs(got-c.ease) > 0.1 {
			t.Errorf("%.2g of the visits that pages with a reason want: ease %.3f, want %.3f",
				c.capacity/reason, got, c.ease)
		}
		again := d.Curve(b, first.Ease(), c.capacity)
		if again.Ease() != first.Ease() {
			t.Errorf("ease %v makes %v of itself", first.Ease(), again.Ease())
		}
		part := b
		part.Worth *= leastEase
		plain := d.Curve(part, 1, c.capacity)
		switch {
		case c.ease == leastEase && again.Price() != plain.Price():
			t.Errorf("scarce: the price is %v, %v with that part", again.Price(), plain.Price())
		case c.ease == 1 && (again.Price() != math.Exp2(leastPrice) || again.Visits[0] > c.capacity*1.05):
			t.Errorf("not scarce: the price is %v, and %v of %v visits are wanted", again.Price(),
				again.Visits[0], c.capacity)
		}
	}
	var empty Demand
	if c := empty.Curve(b, 0, 1); c.Ease() != 1 {
		t.Errorf("without a page %v", c.Ease())
	}
}
