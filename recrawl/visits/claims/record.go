package claims

import (
	"encoding/binary"
	"math"
)

// Record counts the checks of one kind of claim of one site, old ones for less. Its zero value:
// nothing was checked yet.
type Record struct {
	// Hits were claimed and found, Alarms claimed and not found, Misses found and not claimed,
	// Quiet neither.
	Hits, Alarms, Misses, Quiet float64
}

// Memory is after how many checks more a check counts 1/e.
const Memory = 64

// Check adds a visit.
func (r Record) Check(claimed, changed bool) Record {
	const keep = 1 - 1.0/Memory
	r.Hits, r.Alarms, r.Misses, r.Quiet = r.Hits*keep, r.Alarms*keep, r.Misses*keep, r.Quiet*keep
	switch {
	case claimed && changed:
		r.Hits++
	case claimed:
		r.Alarms++
	case changed:
		r.Misses++
	default:
		r.Quiet++
	}
	return r
}

// Plus adds the checks of another part of the site.
func (r Record) Plus(o Record) Record {
	return Record{r.Hits + o.Hits, r.Alarms + o.Alarms, r.Misses + o.Misses, r.Quiet + o.Quiet}
}

// prior is the weight of each of the two outcomes in a beta distribution before the first check.
// It is more than the one half or one of the textbooks: a site must prove itself some times.
const prior = 2

// among is the expected share of part in part and rest.
func among(part, rest float64) float64 {
	part, rest = max(part, 0), max(rest, 0)
	return (part + prior) / (part + rest + 2*prior)
}

// Ratio is how much more likely a claim is (or a silence, when claimed is false) if the page has
// changed than if it has not. 1 says nothing.
func (r Record) Ratio(claimed bool) float64 {
	ifChanged, ifNot := among(r.Hits, r.Misses), among(r.Alarms, r.Quiet)
	if !claimed {
		ifChanged, ifNot = 1-ifChanged, 1-ifNot
	}
	if q := ifChanged / ifNot; !math.IsNaN(q) {
		return min(max(q, 1.0/Memory), Memory)
	}
	return 1
}

// Changed is the probability that a page has changed, when it is probability without the claim.
func (r Record) Changed(probability float64, claimed bool) float64 {
	p := min(max(probability, 0), 1)
	q := r.Ratio(claimed)
	if changed := p * q / (p*q + 1 - p); !math.IsNaN(changed) {
		return min(changed, 1) // rounding
	}
	return 0
}

// TrustsDates reports whether the site's dates of changes may be taken for what they say: a
// date that moves means a change, and there is no change without.
func (r Record) TrustsDates() bool {
	const least, most = 0.9, 0.1
	return among(r.Hits, r.Alarms) >= least && among(r.Misses, r.Quiet) <= most
}

// Proved reports whether the site's silence about a page may put off a visit: it has claimed some
// changes that visits found, and at least twice as many as it has kept silent about. A few of those are no
// lies: a page may change between the time at which the site was asked and the visit.
func (r Record) Proved() bool {
	const some, each = 2, 2
	return r.Hits >= some && r.Hits >= each*r.Misses
}

// Packed is the form for the disk, in bytes.
const Packed = 8

const steps = 1000

// Append writes r in Packed bytes.
func (r Record) Append(b []byte) []byte {
	for _, v := range [...]float64{r.Hits, r.Alarms, r.Misses, r.Quiet} {
		if math.IsNaN(v) {
			v = 0
		}
		b = binary.BigEndian.AppendUint16(b, uint16(min(max(math.Round(v*steps), 0), math.MaxUint16)))
	}
	return b
}

// Unpack reads what Append has written. Any bytes are some Record.
func Unpack(b [Packed]byte) Record {
	n := func(i int) float64 { return float64(binary.BigEndian.Uint16(b[i:])) / steps }
	return Record{n(0), n(2), n(4), n(6)}
}
