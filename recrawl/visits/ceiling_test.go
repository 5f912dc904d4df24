package visits

import (
	"math"
	"slices"
	"testing"
)

// A ceiling is what the exact Bayesian gains who knows from which gamma distribution the pages'
// rates were drawn, and of each page how many of its visits, at equal intervals, found a change. No
// policy can plan better from such visits.
type ceiling struct {
	rates, share []float64 // the distribution, on a grid of rates
	waits        []float64 // intervals, on a grid
	budget       float64   // visits of a page in the time in which it changes once in the mean
}

func newCeiling(shape, budget float64) *ceiling {
	const n = 200
	c := &ceiling{budget: budget}
	var sum float64
	for i := range n {
		r := math.Exp(math.Log(1e-7) + (math.Log(60)-math.Log(1e-7))*float64(i)/(n-1))
		c.rates = append(c.rates, r)
		c.share = append(c.share, math.Pow(r, shape)*math.Exp(-shape*r))
		c.waits = append(c.waits, math.Exp(math.Log(1e-2)+math.Log(1e5)*float64(i)/(n-1))/budget)
		sum += c.share[i]
	}
	for i := range c.share {
		c.share[i] /= sum
	}
	return c
}

// group is the pages that cannot be told apart.
type group struct {
	share        float64
	worth, fresh []float64 // for each wait
}

func (c *ceiling) group(shares []float64) group {
	g := group{worth: make([]float64, len(c.waits)), fresh: make([]float64, len(c.waits))}
	for i, s := range shares {
		g.share += s
		for j, t := range c.waits {
			if s > 0 {
				x := c.rates[i] * t
				g.worth[j] += s * (1 - (1+x)*math.Exp(-x)) / c.rates[i]
				g.fresh[j] += s * -math.Expm1(-x) / x
			}
		}
	}
	return g
}

// freshness is the most that the groups can have under the budget.
func (c *ceiling) freshness(groups []group) float64 {
	at := func(price float64) (visits, fresh float64) {
		for _, g := range groups {
			if j, _ := slices.BinarySearch(g.worth, price*g.share); g.share > 0 && j < len(c.waits) {
				visits += g.share / c.waits[j]
				fresh += g.fresh[j]
			}
		}
		return visits, fresh
	}
	low, high := 1e-6, 1e6
	for range 50 {
		mid := math.Sqrt(low * high)
		if visits, _ := at(mid); visits > c.budget {
			low = mid
		} else {
			high = mid
		}
	}
	// The waits are steps; the budget is met between two prices.
	more, best := at(low)
	fewer, least := at(high)
	if more > fewer {
		return least + (c.budget-fewer)/(more-fewer)*(best-least)
	}
	return least
}

// gain is the ceiling after so many visits of each page, as a share of what known rates gain.
func (c *ceiling) gain(visits int) float64 {
	var known, seen []group
	var equal float64
	for i, s := range c.share {
		alone := make([]float64, len(c.rates))
		alone[i] = s
		known = append(known, c.group(alone))
		x := c.rates[i] / c.budget
		equal += s * -math.Expm1(-x) / x
	}
	for found := range visits + 1 {
		shares := make([]float64, len(c.rates))
		for i, s := range c.share {
			p := -math.Expm1(-c.rates[i] / c.budget)
			shares[i] = s * choose(visits, found) * math.Pow(p, float64(found)) *
				math.Pow(1-p, float64(visits-found))
		}
		seen = append(seen, c.group(shares))
	}
	return (c.freshness(seen) - equal) / (c.freshness(known) - equal)
}

func choose(n, k int) float64 {
	c := 1.0
	for i := range k {
		c *= float64(n-i) / float64(i+1)
	}
	return c
}

// TestWhatVisitsCanTeach is why 0.95 of the optimum's gain cannot be had after ten visits of each
// page, if all that is known before is the distribution of all rates
// (docs/decisions/0210-adaptive-revisits.md).
func TestWhatVisitsCanTeach(t *testing.T) {
	for _, c := range []struct{ budget, ten, forty float64 }{{0.2, 0.36, 0.66}, {1, 0.75, 0.90},
		{3, 0.71, 0.89}} {
		of := newCeiling(0.5, c.budget)
		if ten, forty := of.gain(10), of.gain(40); math.Abs(ten-c.ten) > 0.02 ||
			math.Abs(forty-c.forty) > 0.02 {
			t.Errorf("%.1f visits a change: at most %.3f of the gain after ten visits and %.3f after "+
				"forty, want %.2f and %.2f", c.budget, ten, forty, c.ten, c.forty)
		}
	}
}
