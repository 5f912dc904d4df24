package visits

import (
	"math/bits"
	"time"
)

// Answer is what kind of answer a visit of a known page got.
type Answer uint8

// The answers.
const (
	// Content: a status that brings content, or a redirect; the digest says which.
	Content Answer = iota
	// NotModified is 304.
	NotModified
	// Missing is 404, Removed 410: the page is tried again at growing distances, and forgotten.
	Missing
	Removed
	// Failed is every other answer, or none: it says nothing of the page. Repeating it is the
	// scheduler's.
	Failed
)

// AnswerOf is the answer of an HTTP status; 0: there was none.
func AnswerOf(status int) Answer {
	switch {
	case status == 304:
		return NotModified
	case status == 404:
		return Missing
	case status == 410:
		return Removed
	case status >= 200 && status < 400:
		return Content
	}
	return Failed
}

// Visit is what one fetch of a known page brought.
type Visit struct {
	// since the visit before; 0 or less: not known, so nothing is learnt of the rate
	Elapsed time.Duration
	// Blurred: most of the elapsed time may be missing. Nothing is learnt of the rate either.
	Blurred bool
	Took    time.Duration
	Status  int
	Digest  [20]byte // of the payload; of the target, for a redirect; zero: a worker has not told it
	Text    uint64   // fingerprint of the text without numbers (simhash.MaskNumbers); 0: none
	// Dated: the answer has a Last-Modified, Age before the visit, and the site's dates are trusted.
	Dated bool
	Age   time.Duration
}

// Compare says which differences count as change (--recrawl-changed).
type Compare uint8

// The kinds of comparison.
const (
	ByText    Compare = iota // more than MaxDistance bits of the fingerprints
	ByPayload                // any byte
)

// MaxDistance is the number of bits by which the fingerprints of a text may differ that has not
// changed.
const MaxDistance = 3

// Verdict is what a visit means.
type Verdict uint8

// The verdicts.
const (
	Unchanged Verdict = iota
	Changed
	Gone    // not there
	Unknown // nothing is learnt
)

// String is the name in events and logs.
func (v Verdict) String() string {
	return [...]string{"unchanged", "changed", "gone", "unknown"}[min(v, Unknown)]
}

// Judge compares a visit with the content that is known: digest and r.Text. A page that was gone
// and is there again has changed.
func (r *Record) Judge(digest [20]byte, v *Visit, by Compare) Verdict {
	switch AnswerOf(v.Status) {
	case Missing, Removed:
		return Gone
	case Failed:
		return Unknown
	case NotModified:
		return Unchanged
	default:
	}
	switch {
	case r.Misses > 0:
		return Changed
	case v.untold() && (by == ByPayload || r.Text == 0 || v.Text == 0):
		return Unknown
	case v.Digest == digest && !v.untold():
		return Unchanged
	case by == ByPayload || r.Text == 0 || v.Text == 0:
		return Changed
	case bits.OnesCount64(r.Text^v.Text) <= MaxDistance:
		return Unchanged
	}
	return Changed
}

// untold reports whether nothing is known of the payload that a visit brought.
func (v *Visit) untold() bool {
	return v.Digest == [20]byte{} && v.Status >= 200 && v.Status < 300
}
