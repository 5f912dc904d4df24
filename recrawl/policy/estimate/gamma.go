package estimate

import "math"

// Gamma is a gamma distribution of a rate of change: what is believed of a page, or of the pages
// of a site.
type Gamma struct {
	// Shape says how narrow it is: the standard deviation is Mean divided by its root.
	Shape float64
	// Rate is in seconds. Shape changes seen in Rate seconds say as much.
	Rate float64
}

// Bounds of what is believed. Outside of them arithmetic would decide and not the page.
const (
	minShape = 0.05
	maxShape = 1 << 20
	minRate  = 1e-5
	maxRate  = 1e19
)

// Known is the belief in a rate that is known, in changes a second.
func Known(rate float64) Gamma { return Gamma{Shape: maxShape, Rate: maxShape / rate}.Valid() }

// Mean is the expected number of changes a second.
func (g Gamma) Mean() float64 { return g.Shape / g.Rate }

// MeanLog is the expected logarithm of the rate.
func (g Gamma) MeanLog() float64 { return digamma(g.Shape) - math.Log(g.Rate) }

// Unchanged is the probability that a page does not change within so many seconds.
func (g Gamma) Unchanged(seconds float64) float64 {
	return math.Exp(-g.Shape * math.Log1p(max(seconds, 0)/g.Rate))
}

// Valid clamps g to what can be believed.
func (g Gamma) Valid() Gamma {
	return Gamma{clamp(g.Shape, minShape, maxShape), clamp(g.Rate, minRate, maxRate)}
}

// clamp is v within the bounds; their geometric mean when v is no number.
func clamp(v, low, high float64) float64 {
	if math.IsNaN(v) {
		return math.Sqrt(low * high)
	}
	return min(max(v, low), high)
}

// ofLogs is the gamma distribution with this mean logarithm, and a logarithm of the mean that
// exceeds it by gap.
func ofLogs(meanLog, gap float64) Gamma {
	a := shapeOf(gap)
	return Gamma{Shape: a, Rate: a / math.Exp(clamp(meanLog+gap, -60, 60))}.Valid()
}

// shapeOf is the shape of the gamma distribution for which log(Mean) - MeanLog is gap:
// log(a) - digamma(a) = gap, after Minka (2002), "Estimating a gamma distribution".
func shapeOf(gap float64) float64 {
	if !(gap > 1e-6) {
		return maxShape
	}
	a := (3 - gap + math.Sqrt((gap-3)*(gap-3)+24*gap)) / (12 * gap)
	for range 4 {
		f := math.Log(a) - digamma(a) - gap
		if math.Abs(f) < 1e-6*gap {
			break
		}
		a = max(a/2, a-f/(1/a-trigamma(a)))
	}
	return clamp(a, minShape, maxShape)
}

// digamma is the derivative of the logarithm of the gamma function, for x > 0.
func digamma(x float64) float64 {
	var below float64
	for ; x < 6; x++ {
		below -= 1 / x
	}
	// The asymptotic series; what is left out is below 1e-9.
	r := 1 / (x * x)
	return below + math.Log(x) - 0.5/x - r*(1.0/12-r*(1.0/120-r*(1.0/252-r*(1.0/240))))
}

// trigamma is the derivative of digamma, for x > 0.
func trigamma(x float64) float64 {
	var below float64
	for ; x < 6; x++ {
		below += 1 / (x * x)
	}
	r := 1 / (x * x)
	return below + 1/x + r/2 + r/x*(1.0/6-r*(1.0/30-r*(1.0/42)))
}
