package visits

import (
	"encoding/binary"
	"errors"
	"math"
	"time"

	"crawlnode/recrawl/policy/estimate"
)

// Site is what the pages of one host have taught together. Its zero value: nothing yet.
type Site struct {
	// Pool counts each planned page of whose rate something is known, with its last belief.
	Pool estimate.Pool
	// What the site's word is worth: dates in its sitemap and feeds, Last-Modified, validators.
	Sitemap, Dates, Validators Claims
	// Factor is by how much its pages pay more than the price, because its delay allows fewer visits
	// than they want (policy.HostFactor); 0 is 1.
	Factor float64
	// Wanted is the sum of the visits a second that its pages have planned.
	Wanted float64
}

// Known reports whether something is known of the page's rate: only then it says something of
// others.
func (r *Record) Known() bool { return r.Stats != estimate.Stats{} }

// Count adds a page's part to the sums. The record must be one that was decoded: what is taken out
// again later is what the store has.
func (s *Site) Count(r *Record) { s.sum(r, 1) }

// Discount takes back what Count has added.
func (s *Site) Discount(r *Record) { s.sum(r, -1) }

func (s *Site) sum(r *Record, times float64) {
	if r.Known() {
		if times > 0 {
			s.Pool.Add(r.Belief)
		} else {
			s.Pool.Remove(r.Belief)
		}
	}
	const shortest = time.Millisecond
	s.Wanted = max(s.Wanted+times/max(r.Interval, shortest).Seconds(), 0)
}

// siteVersion is the first byte of an encoded Site.
const siteVersion = 1

// packedSite is the length of an encoded Site.
const packedSite = 1 + 3*8 + 3*packedClaims + 2*8

// Append writes s:
//
//	version, 8 bytes each pages, mean, mean logarithm of the pool, 8 bytes each claim record,
//	8 bytes factor, 8 bytes wanted
//
// The sums have all their digits: each page that is visited is taken out of them and put in again.
func (s *Site) Append(b []byte) []byte {
	b = append(b, siteVersion)
	for _, v := range [...]float64{s.Pool.Pages, s.Pool.Mean, s.Pool.MeanLog} {
		b = binary.BigEndian.AppendUint64(b, math.Float64bits(v))
	}
	for _, c := range [...]Claims{s.Sitemap, s.Dates, s.Validators} {
		b = c.Append(b)
	}
	b = binary.BigEndian.AppendUint64(b, math.Float64bits(s.Factor))
	return binary.BigEndian.AppendUint64(b, math.Float64bits(s.Wanted))
}

// ErrSite says that bytes are no Site.
var ErrSite = errors.New("recrawl: damaged record of a site's visits")

// DecodeSite reads what Append has written; "" is the zero Site.
func DecodeSite(b string) (s Site, err error) {
	if b == "" {
		return s, nil
	}
	if len(b) != packedSite || b[0] != siteVersion {
		return s, ErrSite
	}
	rest := []byte(b[1:])
	for _, v := range [...]*float64{&s.Pool.Pages, &s.Pool.Mean, &s.Pool.MeanLog} {
		*v, rest = float(rest)
	}
	for _, c := range [...]*Claims{&s.Sitemap, &s.Dates, &s.Validators} {
		*c, rest = unpackClaims([packedClaims]byte(rest)), rest[packedClaims:]
	}
	s.Factor, rest = float(rest)
	s.Wanted, _ = float(rest)
	return s, nil
}

// float reads a number. One that is none, or infinite, is 0: it would spoil every sum from then on.
func float(b []byte) (float64, []byte) {
	v := math.Float64frombits(binary.BigEndian.Uint64(b))
	if math.IsNaN(v) || math.IsInf(v, 0) {
		v = 0
	}
	return v, b[8:]
}
