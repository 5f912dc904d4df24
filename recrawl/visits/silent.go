package visits

import (
	"encoding/binary"
	"time"

	"crawlnode/recrawl/policy"
)

// silentMost bounds what a sitemap can do: the interval of a page that it lists as unchanged is at
// most so many times as long as without it. So of the visits that the page would have, one in so
// many is made all the same, and shows whether the silence is a lie (Claims.Proved).
const silentMost = 4

// silence is the interval of a page after its site has listed it as unchanged: the time until then
// counts for little, as far as the site has proved right.
func (r *Record) silence(site Claims, rules *Rules) time.Duration {
	if r.Silent <= 0 || r.Moved || !site.Proved() {
		return r.Interval
	}
	longest := min(silentMost*r.Interval, rules.Bounds.Max)
	return max(r.Interval, min(r.Claimed(false, site, r.Silent, rules), longest))
}

// believedSilence is for how much of the time before a visit the silence of its site stands in for
// a visit: this time, and for how long the copy was fresh in it.
func (r *Record) believedSilence(site Claims) (passed, fresh float64) {
	if r.Silent <= 0 || r.Moved || !site.Proved() {
		return 0, 0
	}
	silent := r.Silent.Seconds()
	counts := policy.Effective(r.Belief, site.Changed(1-r.Belief.Unchanged(silent), false))
	passed = max(silent-counts, 0)
	return passed, passed * policy.Freshness(r.Belief, counts)
}

// What may stand behind a record, each with a mark. An older node passes over it.
const markSilent = 1

// AppendAll writes r as Append does, and behind it what was added to records later:
//
//	mark 1, u silent in ms
func (r *Record) AppendAll(b []byte) []byte {
	b = r.Append(b)
	if ms := bound(r.Silent).Milliseconds(); ms > 0 {
		b = binary.AppendUvarint(append(b, markSilent), uint64(ms))
	}
	return b
}

// DecodeAll reads what AppendAll has written, and what Append has. What cannot be read behind the
// record is passed over: a later version wrote it.
func DecodeAll(b []byte) (Record, error) {
	r, rest, err := Decode(b)
	if err != nil || len(rest) == 0 || rest[0] != markSilent {
		return r, err
	}
	d := decoder{b: rest[1:]}
	r.Silent = time.Duration(d.u(uint64(maxWait/time.Millisecond))) * time.Millisecond
	return r, nil
}
