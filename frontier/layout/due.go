package layout

import (
	"encoding/binary"
	"math"
	"slices"
	"time"

	"crawlnode/crawl"
)

// Estimate is what the sums of pages count a planned page with. The store does not read it but for
// DueVisit.
type Estimate struct {
	Belief [4]byte // estimate.Gamma.Append
	Weight byte    // recrawl.PackWeight
	Flags  byte
}

// Flags of an Estimate.
const (
	// DueKind masks the kind of page (recrawl.Kind).
	DueKind = 1<<2 - 1
	// DueVisit: the page is visited at its time. Without it the page is only planned anew.
	DueVisit = 1 << 2
	// DueKnown: something is known of the page's rate, so it counts in the pools.
	DueKnown = 1 << 3
)

// DueSlot is a page's position in the order of due times.
type DueSlot struct {
	ns          uint64 // on the partition's timeline, nanoseconds since 1970
	Host        crawl.Host
	Fingerprint Fingerprint // of its record, see Fingerprint.Probe
}

// DueAt is the place of a page that is due at a time on the partition's timeline.
func DueAt(at time.Time, h crawl.Host, fp Fingerprint) DueSlot {
	return DueSlot{ns: uint64(max(at.UnixNano(), 0)), Host: h, Fingerprint: fp}
}

// Time is the time of the place on the partition's timeline.
func (d *DueSlot) Time() time.Time { return time.Unix(0, int64(min(d.ns, math.MaxInt64))).UTC() }

// dueFixed is what a relative key has beside the host: table, time, zero byte, fingerprint.
const dueFixed = 1 + 8 + 1 + len(Fingerprint{})

// AppendDueKey appends the relative key of a due page.
func AppendDueKey(b []byte, d *DueSlot) []byte {
	b = slices.Grow(b, dueFixed+len(d.Host))
	b = binary.BigEndian.AppendUint64(append(b, TableDue), d.ns)
	b = append(append(b, d.Host...), 0)
	return append(b, d.Fingerprint[:]...)
}

// ParseDueKey reads a relative key of a due page.
func ParseDueKey(rel []byte) (d DueSlot, ok bool) {
	host := len(rel) - dueFixed
	if host < 1 || rel[0] != TableDue || rel[9+host] != 0 {
		return d, false
	}
	d.ns = binary.BigEndian.Uint64(rel[1:])
	d.Host = crawl.Host(rel[9 : 9+host])
	copy(d.Fingerprint[:], rel[10+host:])
	return d, true
}

// EncodeDue writes the value of a due page.
//
//	version, 4 bytes belief, byte weight, byte flags
func EncodeDue(e Estimate) []byte {
	b := append(make([]byte, 0, 1+len(e.Belief)+2), FormatVersion)
	return append(append(b, e.Belief[:]...), e.Weight, e.Flags)
}

// DecodeDue reads what EncodeDue has written.
func DecodeDue(b []byte) (e Estimate, err error) {
	r := newDecoder(b)
	copy(e.Belief[:], r.take(uint64(len(e.Belief))))
	e.Weight, e.Flags = r.byte(), r.byte()
	return e, r.end("due page")
}
