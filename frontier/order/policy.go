package order

import (
	"math"
	"time"

	"crawlnode/crawl"
	"crawlnode/importance/opic"
)

// Lowest is the last band that a score makes. Behind it only URLs wait that look like a trap.
const Lowest = crawl.Bands - 2

// maxBase is the base of a URL of which everything but its links is best.
const maxBase = math.MaxUint8

// Policy is how URLs are ordered at a moment. It is never changed.
type Policy struct {
	// Weights are those of the settings.
	Weights opic.Weights
	// Focused: links of pages ask for a band by their topic. How well they fit it then weighs as much
	// as all that Weights name. A priority that a rule gives stands for it.
	Focused bool
	// Given reports whether a rule for sites has given a target its priority, which its finder
	// has made the band that it asks for; nil: there are no such rules.
	Given func(*crawl.Target) bool
	// Ranks of all known URLs of the cluster; nil: nothing is known yet.
	Ranks *opic.Ranks
	Cuts  opic.Cuts
	// Typical is the mean base of the URLs that were found last, 0 to 1.
	Typical float64
	// Scores count what is scored.
	Scores *Scores
}

// unknown is the signal of what nothing is known of.
const unknown = 0.5

// freshFor is the age at which the content of a URL counts half.
const freshFor = 7 * 24 * time.Hour

// Admit returns the base of the score of a URL that is found at a time, and the band where it
// begins to wait; ok is false for one that keeps the band it asks for: a seed, a file with
// sitemaps, what a person wants again, and what looks like a trap.
func (p *Policy) Admit(t *crawl.Target, now time.Time) (base uint8, band crawl.Band, ok bool) {
	if t.Suspicious || t.Again || t.Via.Named() || t.Via == crawl.ViaSitemapFile || t.Via.Errand() ||
		t.Band > Lowest {
		return 0, t.Band, false
	}
	given := p.Given != nil && p.Given(t)
	topical := p.Focused && (t.Via == crawl.ViaLink || given)
	s := opic.Signals{Change: unknown, Freshness: unknown, Depth: opic.Depth(t.Depth)}
	if (t.Via == crawl.ViaSitemap || given) && !p.Focused {
		s.Depth = opic.Depth(int(t.Band)) // by the priority that its site, or a rule, gives it
	}
	if !t.Claimed.IsZero() {
		age := max(now.Sub(t.Claimed), 0)
		s.Freshness = freshFor.Seconds() / (freshFor + age).Seconds()
	}
	w := &p.Weights
	sum := w.Change*s.Change + w.Depth*s.Depth + w.Freshness*s.Freshness
	if p.Focused {
		topic := unknown
		if topical {
			topic = float64(Lowest-t.Band) / (Lowest - 1)
		}
		sum += p.given() * min(topic, 1)
	}
	base = uint8(min(maxBase*sum/p.sum(), maxBase) + 0.5)
	p.Scores.admitted(base)
	if !p.ByLinks() {
		p.Scores.Count(-1, p.Score(base, 0))
	}
	return base, p.Band(p.Score(base, 0)), true
}

// ByLinks reports whether what links say counts.
func (p *Policy) ByLinks() bool { return p.Weights.Importance > 0 || p.Weights.Authority > 0 }

// Link is the part of a score that links make: of a URL with so much cash, whose host has these
// sites that link to it.
func (p *Policy) Link(c opic.Cash, sites *opic.Sites) float64 {
	rank := 0.0
	if p.Ranks != nil {
		rank = p.Ranks.Rank(c)
	}
	return (p.Weights.Importance*rank + p.Weights.Authority*opic.Authority(sites.Count())) / p.sum()
}

// Score adds the two parts.
func (p *Policy) Score(base uint8, link float64) float64 { return float64(base)/maxBase + link }

// Band is where a URL with this score waits.
func (p *Policy) Band(score float64) crawl.Band { return min(p.Cuts.Band(score), Lowest) }

// Better is the band to which a queued URL moves that was moved so often, and whether it does.
func (p *Policy) Better(now crawl.Band, score float64, moved int) (crawl.Band, bool) {
	return p.Cuts.Better(now, score, uint8(min(moved, opic.MaxMoves)))
}

// Level is how high a usual URL with this link part would stand, 0 for the last band.
func (p *Policy) Level(
	link float64,
) uint8 {
	return crawl.Bands - 1 - uint8(p.Band(p.Typical+link))
}

// Worth reports whether a queued URL is looked up in its queue, as its link part is now: it would
// stand higher than it would without links, and higher than when it was last looked up.
func (p *Policy) Worth(level uint8, link float64) (now uint8, worth bool) {
	now = p.Level(link)
	return now, now > level && now > p.Level(0)
}

// given is the sum of the weights.
func (p *Policy) given() float64 {
	w := &p.Weights
	return w.Importance + w.Authority + w.Change + w.Depth + w.Freshness
}

// sum is what a score is divided by.
func (p *Policy) sum() float64 {
	sum := p.given()
	if p.Focused {
		sum *= 2
	}
	return max(sum, 1e-9)
}
