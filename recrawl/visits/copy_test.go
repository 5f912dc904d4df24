package visits

import (
	"math"
	"testing"
	"time"

	"crawlnode/recrawl/policy"
	"crawlnode/recrawl/policy/estimate"
)

// TestCopied compares with the sum over small steps of the probability that the page has not
// changed.
func TestCopied(t *testing.T) {
	const hour = time.Hour
	belief := estimate.Gamma{Shape: 2, Rate: 2 * 36000}
	sum := func(from, to time.Duration) (fresh float64) {
		for at := from; at < to; at += time.Second {
			fresh += belief.Unchanged(at.Seconds() + 0.5)
		}
		return fresh
	}
	const price = 900
	planned := policy.Freshness(belief, policy.Plan(belief, 1, price, week.Bounds).Seconds())
	half := policy.Freshness(belief, policy.Plan(belief, 0.5, price, week.Bounds).Seconds())
	failed := []Past{{Before: 2 * hour, Status: 503}, {Before: hour}, {Before: 9 * hour, Status: 200}}
	for _, c := range []struct {
		name  string
		page  Record
		visit Visit
		hides bool
		price float64
		want  Copy
	}{
		{"after a visit", Record{Weight: 1}, Visit{Elapsed: 4 * hour}, false, price, Copy{sum(0, 4*hour), 4 * 3600 * planned}},
		{"of half the weight", Record{Weight: 0.5}, Visit{Elapsed: 4 * hour}, false, price, Copy{sum(0, 4*hour) / 2, 2 * 3600 * half}},
		{"two visits that failed", Record{Weight: 1, Past: failed}, Visit{Elapsed: 4 * hour}, false,
			price, Copy{sum(3*hour, 7*hour), 4 * 3600 * planned}},
		{"a 304 of a site that hides changes", Record{
			Weight: 1,
			Full:   1,
			Past:   []Past{{Before: 5 * hour, Status: 304}, {Before: hour, Status: 200}},
		},
			Visit{Elapsed: 4 * hour}, true, price, Copy{sum(5*hour, 9*hour), 4 * 3600 * planned}},
		{"a page that is gone", Record{Weight: 1, Misses: 1}, Visit{Elapsed: 4 * hour}, false, price, Copy{}},
		{"an unknown time", Record{Weight: 1}, Visit{}, false, price, Copy{}},
		{"a time that is too short", Record{Weight: 1}, Visit{Elapsed: 4 * hour, Blurred: true}, false, price, Copy{}},
		{"no price", Record{Weight: 1}, Visit{Elapsed: 4 * hour}, false, 0, Copy{}},
	} {
		c.page.Belief = belief
		got := c.page.Copied(&c.visit, c.price, &week, &Surroundings{Hides: c.hides})
		if math.Abs(got.Fresh-c.want.Fresh) > 1 || math.Abs(got.Planned-c.want.Planned) > 1 {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
	fixed := week
	fixed.Mode = Fixed
	if got := (&Record{Belief: belief, Weight: 1}).Copied(&Visit{
		Elapsed: hour,
	}, price, &fixed, &Surroundings{}); got != (Copy{}) {
		t.Errorf("with fixed intervals %+v", got)
	}
}
