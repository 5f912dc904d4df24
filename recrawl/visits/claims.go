package visits

import (
	"encoding/binary"
	"math"
)

// Claims counts the checks of one kind of claim of one site, old ones for less. Its zero value:
// nothing was checked yet.
//
// Sites claim changes: a sitemap's lastmod that moved, an entry in a feed, a Last-Modified header.
// Some tell the truth, some set every date to today, some list nothing. Each visit of a page checks
// one claim, or the absence of one, against what was found. Nothing is believed in advance.
//
// The worth of a claim is a likelihood ratio: how much more often the site claims a change where
// there is one. A site whose claims come with and without changes has a ratio of 1, so its claims
// bring no visit forward, and a site that begins to lie loses its weight within some twenty visits,
// because old checks are forgotten. The result is a probability that the page has changed;
// policy.Effective makes a time of it.
type Claims struct {
	// Hits were claimed and found, Alarms claimed and not found, Misses found and not claimed,
	// Quiet neither.
	Hits, Alarms, Misses, Quiet float64
}

// claimMemory is after how many checks more a check counts 1/e.
const claimMemory = 64

// Check adds a visit.
func (c Claims) Check(claimed, changed bool) Claims {
	const keep = 1 - 1.0/claimMemory
	c.Hits, c.Alarms, c.Misses, c.Quiet = c.Hits*keep, c.Alarms*keep, c.Misses*keep, c.Quiet*keep
	switch {
	case claimed && changed:
		c.Hits++
	case claimed:
		c.Alarms++
	case changed:
		c.Misses++
	default:
		c.Quiet++
	}
	return c
}

// Plus adds the checks of another part of the site.
func (c Claims) Plus(o Claims) Claims {
	return Claims{c.Hits + o.Hits, c.Alarms + o.Alarms, c.Misses + o.Misses, c.Quiet + o.Quiet}
}

// claimPrior is the weight of each of the two outcomes in a beta distribution before the first
// check. It is more than the one half or one of the textbooks: a site must prove itself some times.
const claimPrior = 2

// among is the expected share of part in part and rest.
func among(part, rest float64) float64 {
	part, rest = max(part, 0), max(rest, 0)
	return (part + claimPrior) / (part + rest + 2*claimPrior)
}

// Ratio is how much more likely a claim is (or a silence, when claimed is false) if the page has
// changed than if it has not. 1 says nothing.
func (c Claims) Ratio(claimed bool) float64 {
	ifChanged, ifNot := among(c.Hits, c.Misses), among(c.Alarms, c.Quiet)
	if !claimed {
		ifChanged, ifNot = 1-ifChanged, 1-ifNot
	}
	if q := ifChanged / ifNot; !math.IsNaN(q) {
		return min(max(q, 1.0/claimMemory), claimMemory)
	}
	return 1
}

// Changed is the probability that a page has changed, when it is probability without the claim.
func (c Claims) Changed(probability float64, claimed bool) float64 {
	p := min(max(probability, 0), 1)
	q := c.Ratio(claimed)
	if changed := p * q / (p*q + 1 - p); !math.IsNaN(changed) {
		return min(changed, 1) // rounding
	}
	return 0
}

// TrustsDates reports whether the site's dates of changes may be taken for what they say: a
// date that moves means a change, and there is no change without.
func (c Claims) TrustsDates() bool {
	const least, most = 0.9, 0.1
	return among(c.Hits, c.Alarms) >= least && among(c.Misses, c.Quiet) <= most
}

// Proved reports whether the site's silence about a page may put off a visit: it has claimed some
// changes that visits found, and at least twice as many as it has kept silent about. A few of those
// are no lies: a page may change between the time at which the site was asked and the visit.
func (c Claims) Proved() bool {
	const some, each = 2, 2
	return c.Hits >= some && c.Hits >= each*c.Misses
}

// packedClaims is the form for the disk, in bytes.
const packedClaims = 8

const claimSteps = 1000

// Append writes c in packedClaims bytes.
func (c Claims) Append(b []byte) []byte {
	for _, v := range [...]float64{c.Hits, c.Alarms, c.Misses, c.Quiet} {
		if math.IsNaN(v) {
			v = 0
		}
		steps := min(max(math.Round(v*claimSteps), 0), math.MaxUint16)
		b = binary.BigEndian.AppendUint16(b, uint16(steps))
	}
	return b
}

// unpackClaims reads what Append has written. Any bytes are some Claims.
func unpackClaims(b [packedClaims]byte) Claims {
	n := func(i int) float64 { return float64(binary.BigEndian.Uint16(b[i:])) / claimSteps }
	return Claims{n(0), n(2), n(4), n(6)}
}
