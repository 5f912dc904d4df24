package visits

import (
	"time"

	"crawlnode/recrawl/policy"
	"crawlnode/recrawl/policy/estimate"
)

// Mode is --recrawl.
type Mode uint8

// The modes.
const (
	Off Mode = iota
	Fixed
	Adaptive
)

// Rules are the settings of revisits.
type Rules struct {
	Mode    Mode
	Compare Compare
	// Interval is the fixed one, or the first guess of the adaptive ones.
	Interval time.Duration
	Bounds   policy.Bounds
	// ForgetAfter is how many answers in a row that a page is missing make it forgotten; an answer
	// that it was removed counts like RemovedCounts of them.
	ForgetAfter int
}

// RemovedCounts is how many 404 a 410 is worth: it is meant.
const RemovedCounts = 3

// Prior is what is believed of a page of which nothing is known: the usual interval, within a
// factor of ten.
func (r *Rules) Prior() estimate.Gamma {
	const shape = 0.5
	return estimate.Gamma{Shape: shape, Rate: shape * max(r.Interval.Seconds(), 1e-3)}.Valid()
}

// Surroundings are what a page's next visit depends on beside its own record.
type Surroundings struct {
	Prior estimate.Gamma // of the pages of its site
	Price float64        // times the host's factor
	// MaxAge is how long the answer may be kept by its own account (Cache-Control, Expires); 0:
	// nothing is said. It counts as half a visit.
	MaxAge time.Duration
	// Sitemap is what the dates in the site's sitemap and feeds are worth.
	Sitemap Claims
	// Hides: its site hides changes (Hides), so that an answer that nothing has changed says nothing.
	Hides bool
}

// Visited takes in a visit: the record afterwards has the next interval. digest is that of the
// content known so far.
func (r Record) Visited(
	digest [20]byte,
	v *Visit,
	rules *Rules,
	by *Surroundings,
) (Record, Verdict) {
	verdict := r.Judge(digest, v, rules.Compare)
	r.Silent = 0 // it is of the time before
	since := r.unanswered() + v.Elapsed
	if by.Hides && r.Full > 0 {
		since = r.sinceContent() + v.Elapsed
	}
	// That a page is gone is a change the first time, for people; the rate of change leaves it out.
	changed := verdict == Changed || verdict == Gone && r.Misses == 0
	r.note(Past{Before: v.Elapsed, Status: v.Status, Took: v.Took, Changed: changed})
	switch verdict {
	case Unknown:
		if AnswerOf(v.Status) == Content { // it is there, and that is all
			r.Moved = false
			r = r.Planned(rules, by)
		}
		return r, verdict
	case Gone:
		r.miss(v.Status, rules)
		return r, verdict
	default:
	}
	r.Misses = 0
	r = r.doubted(by)
	r.Full++
	told := AnswerOf(v.Status) != NotModified
	if told {
		r.Full = 0
		r.Text = v.Text
	}
	r.Moved = false
	if v.Elapsed > 0 && !v.Blurred && (told || !by.Hides) {
		r.Stats = r.Stats.Observe(
			estimate.Observation{Interval: since, Changed: verdict == Changed, Dated: v.Dated, Age: v.Age})
	}
	return r.Planned(rules, by), verdict
}

// First takes in the first visit, or one of a page of whose visits nothing is known.
func (r Record) First(v *Visit, rules *Rules, by *Surroundings) Record {
	r.Silent = 0
	r = r.Planned(rules, by)
	if v.Status != 0 {
		r.note(Past{Status: v.Status, Took: v.Took})
	}
	switch AnswerOf(v.Status) {
	case Missing, Removed:
		r.miss(v.Status, rules)
	case NotModified:
		r.Full = 1
	case Content:
		r.Text = v.Text
	default:
	}
	return r
}

// miss counts an answer that the page is not there.
func (r *Record) miss(status int, rules *Rules) {
	r.Misses++
	if AnswerOf(status) == Removed {
		r.Misses += RemovedCounts - 1
	}
	r.Interval = rules.gone(r.Misses)
}

// unanswered is the time before the newest visit that brought no answer, since the last one that
// did: a visit that says something speaks of all of it.
func (r *Record) unanswered() (d time.Duration) {
	for _, p := range r.Past {
		if AnswerOf(p.Status) != Failed {
			break
		}
		d += p.Before
	}
	return d
}

// Planned believes and plans anew, without a visit: after the first fetch, and at a check.
func (r Record) Planned(rules *Rules, by *Surroundings) Record {
	prior := by.Prior
	if by.MaxAge > 0 {
		const visits = 0.5
		prior.Shape += visits
		prior.Rate += visits * min(by.MaxAge, rules.Bounds.Max).Seconds()
	}
	r = r.doubted(by)
	r.Belief = round(r.Stats.Posterior(prior))
	r.Weight = RoundWeight(r.Weight)
	if rules.Mode == Fixed {
		r.Interval = min(max(rules.Interval, rules.Bounds.Min), rules.Bounds.Max)
		return r
	}
	r.Interval = policy.Plan(r.Belief, r.Weight, by.Price, rules.Bounds)
	r.Interval = r.silence(by.Sitemap, rules)
	return r
}

// round is g as the record keeps it.
func round(g estimate.Gamma) estimate.Gamma {
	return estimate.UnpackGamma([estimate.PackedGamma]byte(g.Append(nil)))
}

// gone is when a missing page is tried again: each time twice as far away.
func (r *Rules) gone(misses int) time.Duration {
	d := max(r.Interval, r.Bounds.Min)
	for range min(misses-1, 40) {
		if d >= r.Bounds.Max/2 {
			return r.Bounds.Max
		}
		d *= 2
	}
	return min(d, r.Bounds.Max)
}

// Forgotten reports whether a page has been missing for so long that it is not tried again.
func (r *Record) Forgotten(rules *Rules) bool {
	return rules.ForgetAfter > 0 && r.Misses >= rules.ForgetAfter
}

// Claimed is the interval of a page after its site has claimed a change, or has kept silent where
// it lists the page; elapsed is the time since the visit. A claim by a site that has proved right
// counts as time that has passed: the interval becomes shorter by it, and ends at the earliest
// with the shortest one allowed.
func (r *Record) Claimed(
	claimed bool,
	site Claims,
	elapsed time.Duration,
	rules *Rules,
) time.Duration {
	if rules.Mode != Adaptive || r.Misses > 0 {
		return r.Interval
	}
	passed := elapsed.Seconds()
	counts := policy.Effective(r.Belief, site.Changed(1-r.Belief.Unchanged(passed), claimed))
	sooner := min(max(counts-passed, -passed), rules.Bounds.Max.Seconds())
	next := r.Interval - time.Duration(sooner*float64(time.Second))
	return min(max(next, rules.Bounds.Min), rules.Bounds.Max)
}

// How many visits in a row there are of which one asks for the content, to see whether the site's
// validators tell the truth, and the others may rely on them.
const (
	auditEach = 16
	// of a site of which hardly anything is known: fewer than newChecks audits, or two that found a
	// change
	auditNew  = 8
	auditLiar = 2 // of one whose validators have hidden a change, but fewer than they have told of
	newChecks = 16
)

// Conditional reports whether the next visit may send the page's validators. validators counts what
// the audits saw: an alarm is a new validator with the old content, a miss the contrary. A site
// whose validators hide more changes than they tell of is asked without: each of its visits is an
// audit then, so it is believed again when it deserves it.
func (r *Record) Conditional(validators Claims) bool {
	const some = 0.5
	each := auditEach
	switch v := &validators; {
	case r.Misses > 0, Hides(validators):
		return false
	case v.Misses > some:
		each = auditLiar
	case v.Hits+v.Misses < 2-some && v.Hits+v.Misses+v.Alarms+v.Quiet < newChecks:
		each = auditNew
	}
	return (r.Full+1)%each != 0
}
