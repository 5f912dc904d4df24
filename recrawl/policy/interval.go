package policy

import (
	"math"
	"time"

	"crawlnode/recrawl/policy/estimate"
)

// Bounds are the shortest and the longest interval (--recrawl-min, --recrawl-max).
type Bounds struct{ Min, Max time.Duration }

// clip is seconds within the bounds.
func (b Bounds) clip(seconds float64) float64 {
	return min(max(seconds, b.Min.Seconds()), b.Max.Seconds())
}

// MinWeight is the smallest weight of a page. Importance has no lower bound, but a page without
// any is visited at the longest interval all the same.
const MinWeight = 1.0 / (1 << 10)

// Plan is after how long a page is visited again: when a visit is worth the price to a page of its
// weight, within the bounds.
func Plan(g estimate.Gamma, weight, price float64, b Bounds) time.Duration {
	return time.Duration(b.clip(Interval(g, price/max(weight, MinWeight))) * float64(time.Second))
}

// Check is when a page that waits is looked at again, before its next visit if that is far: the
// price falls when nodes join, and a site's other pages teach something about it. elapsed is the time
// since its last visit, interval that of Plan, usual the mean interval of the pages. Each check is
// twice as far from the visit as the one before, so there are few.
func Check(elapsed, interval, usual time.Duration) time.Duration {
	next := 2 * max(elapsed, usual)
	if next <= 0 || next > interval/2 {
		return interval
	}
	return next
}

// Effective is the time after which a page would have changed with probability stale: what a
// claim of change is worth as time since the visit (Worth, Plan).
func Effective(g estimate.Gamma, stale float64) float64 {
	g = g.Valid()
	const sure = 1 - 1e-6
	seconds := g.Rate * math.Expm1(-math.Log1p(-min(max(stale, 0), sure))/g.Shape)
	return min(seconds, 1e12)
}
