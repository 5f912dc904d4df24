package visits

import (
	"time"

	"crawlnode/recrawl/policy"
)

// Copy says for how long a page's copy was as the page, between two visits, in seconds times the
// page's weight: by its belief, so it is an expectation and not what the visit has found.
type Copy struct {
	// Fresh is of the time that has passed. Planned is of the same time, had the page been visited
	// each time when the price alone asks for it; 0: nothing is said.
	Fresh, Planned float64
}

// Copied returns what the copy of a page was in the time before v, which r does not know yet. price
// is the one for which freshness is expected (policy.Curve.Expected): without the surcharges of
// node and host. A visit that brought no content refreshes nothing, so the copy may be older than
// the visit before. What the site says of itself, by, is what it was worth before v.
func (r *Record) Copied(v *Visit, price float64, rules *Rules, by *Surroundings) Copy {
	if rules.Mode != Adaptive || !(price > 0) || r.Misses > 0 || v.Elapsed <= 0 || v.Blurred {
		return Copy{}
	}
	old := r.unanswered()
	if by.Hides && r.Full > 0 {
		old = r.sinceContent()
	}
	passed, silent := r.believedSilence(by.Sitemap)
	passed = min(passed, v.Elapsed.Seconds())
	age := func(d time.Duration) float64 { return policy.FreshTime(r.Belief, d.Seconds()) }
	planned := policy.Plan(r.Belief, r.Weight, price, rules.Bounds).Seconds()
	return Copy{
		Fresh: r.Weight *
			(silent + max(age(old+v.Elapsed-time.Duration(passed*float64(time.Second)))-age(old), 0)),
		Planned: r.Weight * v.Elapsed.Seconds() * policy.Freshness(r.Belief, planned),
	}
}
