package policy

import (
	"math"
	"time"

	"crawlnode/recrawl/policy/estimate"
)

// Bounds are the shortest and the longest interval (--recrawl-min, --recrawl-max), and the
// probability of a change that a visit needs (--recrawl-worth as it acts), from 0 to below 1. Max
// is the strongest: a page is visited then at the latest, whatever it is worth.
type Bounds struct {
	Min, Max time.Duration
	Worth    float64
}

// Least is the shortest interval of a page of which g is believed, in seconds: Min, and the time
// after which it has changed with probability Worth. It is at most Max.
func (b Bounds) Least(g estimate.Gamma) float64 { return b.clip(g, 0) }

// clip is seconds within the bounds. The price decides above them alone: it asks for a longer
// interval than Worth does, or has no effect.
func (b Bounds) clip(g estimate.Gamma, seconds float64) float64 {
	least := b.Min.Seconds()
	if b.Worth > 0 {
		least = max(least, Effective(g, b.Worth))
	}
	return min(max(seconds, least), b.Max.Seconds())
}

// MinWeight is the smallest weight of a page. Importance has no lower bound, but a page without
// any is visited at the longest interval all the same.
const MinWeight = 1.0 / (1 << 10)

// Plan is after how long a page is visited again: when a visit is worth the price to a page of its
// weight, within the bounds.
func Plan(g estimate.Gamma, weight, price float64, b Bounds) time.Duration {
	return time.Duration(b.clip(g, Interval(g, price/max(weight, MinWeight))) * float64(time.Second))
}

// Check is when a page that waits is looked at again, before its next visit if that is far: the
// price falls when nodes join, and a site's other pages teach something about it. elapsed is the
// time since its last visit, interval that of Plan, usual the mean interval of the pages. Each
// check is twice as far from the visit as the one before, so there are few.
func Check(elapsed, interval, usual time.Duration) time.Duration {
	next := 2 * max(elapsed, usual)
	if next <= 0 || next > interval/2 {
		return interval
	}
	return next
}

// Effective is the time after which a page would have changed with probability stale: what a
// claim of change is worth as time since the visit (Worth, Plan), and what --recrawl-worth asks
// for. It solves 1 - (Rate/(Rate+t))^Shape = stale, the expectation of 1 - exp(-rt) under the
// belief.
func Effective(g estimate.Gamma, stale float64) float64 {
	g = g.Valid()
	const sure = 1 - 1e-6
	seconds := g.Rate * math.Expm1(-math.Log1p(-min(max(stale, 0), sure))/g.Shape)
	return min(seconds, 1e12)
}
