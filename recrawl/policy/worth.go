package policy

import (
	"math"

	"crawlnode/recrawl/policy/estimate"
)

// knownShape is the shape from which a rate counts as known.
const knownShape = 1e4

// Worth is what a visit of a page of weight 1 brings, in seconds of freshness, when the last one
// was so many seconds ago: the expectation of (1 - (1+rt)·exp(-rt))/r under the belief g.
func Worth(g estimate.Gamma, seconds float64) float64 {
	g = g.Valid()
	if g.Shape > knownShape {
		return knownWorth(seconds*g.Mean()) / g.Mean()
	}
	return g.Rate * worth(g.Shape, max(seconds, 0)/g.Rate)
}

// Interval is after how many seconds a visit of a page of weight 1 is worth price. It is infinite
// when that is never so.
func Interval(g estimate.Gamma, price float64) float64 {
	g = g.Valid()
	if g.Shape > knownShape {
		return inverse(price*g.Mean(), 1, knownWorth, knownSlope) / g.Mean()
	}
	a := g.Shape
	return g.Rate * inverse(price/g.Rate, a,
		func(u float64) float64 { return worth(a, u) },
		func(u float64) float64 { return a * u * math.Exp(-(a+1)*math.Log1p(u)) })
}

// Freshness is the expected share of the time in which a page is fresh that is visited each so
// many seconds.
func Freshness(g estimate.Gamma, seconds float64) float64 {
	g = g.Valid()
	switch u := seconds / g.Rate; {
	case math.IsInf(seconds, 1):
		return 0
	case !(u*g.Shape > 1e-6):
		return 1
	case g.Shape > knownShape:
		return -math.Expm1(-seconds*g.Mean()) / (seconds * g.Mean())
	default:
		return area(g.Shape, u) / u
	}
}

// FreshTime is for how many of so many seconds after a visit a copy is expected to be as its page.
func FreshTime(g estimate.Gamma, seconds float64) float64 {
	return max(seconds, 0) * Freshness(g, max(seconds, 0))
}

// area is the integral of (1+v)^-a from 0 to u.
func area(a, u float64) float64 {
	l := math.Log1p(u)
	if d := a - 1; math.Abs(d*l) > 1e-9 {
		return -math.Expm1(-d*l) / d
	}
	return l
}

// worth is Worth for a Rate of 1: area - u·(1+u)^-a.
func worth(a, u float64) float64 {
	if u*(a+1) < 1e-4 {
		return a * u * u / 2 // where the difference would lose its digits
	}
	return area(a, u) - u*math.Exp(-a*math.Log1p(u))
}

func knownWorth(x float64) float64 {
	if x < 1e-4 {
		return x * x / 2
	}
	return -math.Expm1(-x) - x*math.Exp(-x)
}

func knownSlope(x float64) float64 { return x * math.Exp(-x) }

// inverse is where f reaches y; f begins as a·x²/2, rises, and has the slope given. It is infinite
// when f never does. Newton's method in the logarithms of both: f is nearly straight there.
func inverse(y, a float64, f, slope func(float64) float64) float64 {
	const (
		far      = 1e12
		exact    = 1e-4 // a page's interval need not be more exact
		longStep = 2
	)
	if !(y > 0) {
		return 0
	}
	if !(y < f(far)) {
		return math.Inf(1)
	}
	x := math.Sqrt(2 * y / a)
	for range 40 {
		value := f(x)
		step := math.Log(y/value) * value / (x * slope(x))
		if !(math.Abs(step) < longStep) {
			step = math.Copysign(longStep, step)
		}
		x *= math.Exp(step)
		if math.Abs(step) < exact {
			break
		}
	}
	return min(x, far)
}
