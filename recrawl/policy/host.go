package policy

import (
	"math"
	"time"
)

// HostFactor is the next factor of a host's price: factor was the last one, wanted are the
// visits a second that its pages have planned, allowed those that its delay leaves. An interval is
// about proportional to the root of the price, so the quotient's square would be right at once if
// all pages were planned anew; each step is bounded, because they are planned one by one.
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

// busiest is the share of its time that a host may be visited: at twice that distance from one a
// page waits half as long.
const busiest = 0.8

// HostAllows is how many visits a second a host allows when each keeps it from the next one for so
// long: not all that fit, since its pages would wait ever longer for their turn.
func HostAllows(turn time.Duration) float64 {
	const boundless = 1e6
	if turn <= 0 {
		return boundless
	}
	return min(busiest/turn.Seconds(), boundless)
}

// HostWait is how long a page that is due waits on average for its host, of which wanted visits a
// second are planned, each of which keeps it from the next one for so long. Due times are as good
// as random, so it is the wait of a queue with one server, random arrivals and equal services.
func HostWait(wanted float64, turn time.Duration) time.Duration {
	busy := min(max(wanted*turn.Seconds(), 0), busiest)
	if !(busy > 0) { // also when it is no number
		return 0
	}
	return time.Duration(busy / (2 * (1 - busy)) * float64(turn))
}
