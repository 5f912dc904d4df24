package visits

import (
	"encoding/binary"
	"errors"
	"math"
	"time"

	"crawlnode/recrawl/policy/estimate"
)

// Record is what the visits of a page have taught. It has no time of day: the time of the newest
// visit stands beside it, on the partition's timeline, and all else is durations.
type Record struct {
	Stats  estimate.Stats
	Belief estimate.Gamma // after the newest visit or check; what the sums count the page with
	Weight float64        // importance with which the sums count the page, MinWeight to 1
	Text   uint64         // fingerprint of the text without numbers; 0: none
	Kind   Kind
	// Listed: the site's sitemap or feed names the page with a date. Moved: that date is later than
	// the newest visit.
	Listed, Moved bool
	// Silent is how long after the newest visit the site last listed the page with no later date; 0:
	// it did not, or that says nothing. AppendAll keeps it.
	Silent time.Duration
	// Misses counts the answers in a row that the page is not there.
	Misses int
	// Full counts the visits since the last one without validators.
	Full     int
	Interval time.Duration // planned from the newest visit
	Past     []Past        // newest first, at most MaxPast
}

// Past is a visit of the history.
type Past struct {
	Before  time.Duration // from the visit before to this one; 0 for the first
	Status  int
	Took    time.Duration
	Changed bool
}

// Kind is what kind of page it is: the pages of a kind are counted together over the whole cluster.
type Kind uint8

// The kinds.
const (
	KindPage Kind = iota
	KindFeed      // feed or sitemap
	KindFile      // any other file
	NumKinds
)

// MaxPast is how many visits the history has.
const MaxPast = 8

// note adds a visit to the history.
func (r *Record) note(p Past) {
	past := append(make([]Past, 0, MaxPast), p)
	r.Past = append(past, r.Past[:min(len(r.Past), MaxPast-1)]...)
}

// FormatVersion is the first byte of an encoded Record.
const FormatVersion = 1

// Bounds of what a record may say.
const (
	maxCount  = 1 << 20
	maxWait   = 10 * 365 * 24 * time.Hour
	weightLog = 16 // steps of a factor of two
)

// PackWeight is a weight in one byte: 0 is 1, each step a sixteenth of a factor of two less.
func PackWeight(w float64) byte {
	if !(w > 0) {
		return math.MaxUint8
	}
	return byte(min(max(math.Round(-weightLog*math.Log2(w)), 0), math.MaxUint8))
}

// RoundWeight is a weight as a record keeps it. The sums must use this one, or they would not get
// back what they were given.
func RoundWeight(w float64) float64 { return UnpackWeight(PackWeight(w)) }

// UnpackWeight is the weight that PackWeight has written.
func UnpackWeight(b byte) float64 { return math.Exp2(-float64(b) / weightLog) }

// Append writes r:
//
//	version, 8 bytes stats, 4 bytes belief, byte weight, 8 bytes text,
//	u (misses · 16 + listed · 8 + moved · 4 + kind), u full, u interval in ms, u number of past visits,
//	each: u (seconds before · 2 + changed), u status, u milliseconds
//
// u is an unsigned varint. Two visits take about 40 bytes, eight about 80.
func (r *Record) Append(b []byte) []byte {
	b = append(b, FormatVersion)
	b = r.Stats.Append(b)
	b = r.Belief.Append(b)
	b = append(b, PackWeight(r.Weight))
	b = binary.BigEndian.AppendUint64(b, r.Text)
	b = binary.AppendUvarint(b, uint64(min(max(r.Misses, 0), maxCount))<<4|r.marks())
	b = binary.AppendUvarint(b, uint64(min(max(r.Full, 0), maxCount)))
	b = binary.AppendUvarint(b, uint64(bound(r.Interval).Milliseconds()))
	past := r.Past[:min(len(r.Past), MaxPast)]
	b = binary.AppendUvarint(b, uint64(len(past)))
	for _, p := range past {
		before := uint64(bound(p.Before) / time.Second << 1)
		if p.Changed {
			before |= 1
		}
		b = binary.AppendUvarint(b, before)
		b = binary.AppendUvarint(b, uint64(min(max(p.Status, 0), 999)))
		b = binary.AppendUvarint(b, uint64(bound(p.Took).Milliseconds()))
	}
	return b
}

// marks are the small parts, in four bits.
func (r *Record) marks() uint64 {
	m := uint64(min(r.Kind, NumKinds-1))
	if r.Moved {
		m |= markMoved
	}
	if r.Listed {
		m |= markListed
	}
	return m
}

const (
	markMoved  = 1 << 2
	markListed = 1 << 3
)

func bound(d time.Duration) time.Duration { return min(max(d, 0), maxWait) }

// ErrRecord says that bytes are no Record.
var ErrRecord = errors.New("recrawl: damaged record of visits")

// Decode reads what Append has written, and returns what is behind it.
func Decode(b []byte) (r Record, rest []byte, err error) {
	const fixed = 1 + estimate.PackedStats + estimate.PackedGamma + 1 + 8
	if len(b) < fixed || b[0] != FormatVersion {
		return r, nil, ErrRecord
	}
	b = b[1:]
	r.Stats = estimate.UnpackStats([estimate.PackedStats]byte(b))
	b = b[estimate.PackedStats:]
	r.Belief = estimate.UnpackGamma([estimate.PackedGamma]byte(b))
	b = b[estimate.PackedGamma:]
	r.Weight = UnpackWeight(b[0])
	r.Text = binary.BigEndian.Uint64(b[1:])
	d := decoder{b: b[9:]}
	marks := d.u(maxCount<<4 | 15)
	r.Misses, r.Kind = int(marks>>4), min(Kind(marks&3), NumKinds-1)
	r.Moved, r.Listed = marks&markMoved != 0, marks&markListed != 0
	r.Full = int(d.u(maxCount))
	r.Interval = time.Duration(d.u(uint64(maxWait/time.Millisecond))) * time.Millisecond
	n := d.u(MaxPast)
	for range n {
		before := d.u(uint64(maxWait/time.Second)<<1 | 1)
		p := Past{Before: time.Duration(before>>1) * time.Second, Changed: before&1 != 0}
		p.Status = int(d.u(999))
		p.Took = time.Duration(d.u(uint64(maxWait/time.Millisecond))) * time.Millisecond
		r.Past = append(r.Past, p)
	}
	if d.bad {
		return Record{}, nil, ErrRecord
	}
	return r, d.b, nil
}

// decoder takes numbers off a value. After the first that cannot be read, or is too large, all are
// 0.
type decoder struct {
	b   []byte
	bad bool
}

func (d *decoder) u(most uint64) uint64 {
	v, n := binary.Uvarint(d.b)
	if n <= 0 || v > most || d.bad {
		d.bad, d.b = true, nil
		return 0
	}
	d.b = d.b[n:]
	return v
}
