package visits

import (
	"time"

	"crawlnode/recrawl/policy/estimate"
)

// Hides reports whether a site's validators have hidden at least as many changes as they have told
// of, as far as audits have seen (Conditional).
func Hides(validators Claims) bool {
	const some = 0.5
	return validators.Misses > some && validators.Misses >= validators.Hits
}

// doubted is r without what it was taught by answers that nothing has changed, of a site that hides
// changes. What was learnt before the last content cannot be told apart, and goes with it.
func (r Record) doubted(by *Surroundings) Record {
	if by.Hides && r.Full > 0 {
		r.Stats = estimate.Stats{}
	}
	return r
}

// sinceContent is the time from the last visit that brought content to the newest one. It is too
// short when more visits than the history has were answered that nothing has changed.
func (r *Record) sinceContent() (d time.Duration) {
	left := r.Full
	for _, p := range r.Past {
		if left == 0 && AnswerOf(p.Status) != Failed {
			break
		}
		d += p.Before
		if AnswerOf(p.Status) == NotModified {
			left--
		}
	}
	return d
}
