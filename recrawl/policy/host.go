package policy

import "math"

// HostFactor is the next factor of a host's price: factor was the last one, wanted are the
// visits a second that its pages have planned, allowed those that its delay leaves. An interval is
// about proportional to the root of the price, so the quotient's square would be right at once if all
// pages were planned anew; each step is bounded, because they are planned one by one.
func HostFactor(factor, wanted, allowed float64) float64 {
	const (
		step = 1.1
		most = 1e9
	)
	if !(factor >= 1) {
		factor = 1 // also when it is no number
	}
	if !(allowed > 0 && wanted >= 0) {
		return min(factor, most)
	}
	q := wanted / allowed
	f := factor * min(max(q*q, 1/step), step)
	if math.IsNaN(f) {
		return min(factor, most)
	}
	return min(max(f, 1), most)
}
