package recrawl

import (
	"encoding/binary"
	"errors"
	"math"

	"crawlnode/crawl"
	"crawlnode/recrawl/policy"
	"crawlnode/recrawl/policy/estimate"
	"crawlnode/recrawl/visits"
)

// Kinds is the number of kinds of pages, each with a pool of its own.
const Kinds = int(visits.NumKinds)

// Pools are what is believed of the pages of each kind.
type Pools [Kinds]estimate.Pool

// plus adds the pages of o.
func (p *Pools) plus(o *Pools) {
	for i := range p {
		p[i].Plus(o[i])
	}
}

// minus takes away the pages of o.
func (p *Pools) minus(o *Pools) {
	for i := range p {
		p[i].Minus(o[i])
	}
}

// possible is p without what rounding has left, as DecodeSummary takes it.
func (p *Pools) possible() (q Pools) {
	for i, v := range p {
		if v.Pages >= 0.5 && v.Mean >= 0 && v.Mean <= mostRate*v.Pages &&
			math.Abs(v.MeanLog) <= mostLog*v.Pages {
			q[i] = v
		}
	}
	return q
}

// Summary is what a node tells the others of its pages.
type Summary struct {
	Version policy.Version
	Pages   float64 // that are planned
	Curve   policy.Curve
	Pools   Pools
}

// SummaryBytes is the size of an encoded Summary.
const SummaryBytes = 1 + 16 + 8 + policy.CurveBytes + Kinds*24

const summaryVersion = 1

// errSummary says that bytes are no summary.
var errSummary = errors.New(
	"revisits: not a summary of a member's pages: this node and the sender differ in their version")

// Append writes s in SummaryBytes bytes.
func (s *Summary) Append(b []byte) []byte {
	b = append(b, summaryVersion)
	b = binary.BigEndian.AppendUint64(b, uint64(s.Version.Boot))
	b = binary.BigEndian.AppendUint64(b, s.Version.Count)
	b = binary.BigEndian.AppendUint64(b, math.Float64bits(s.Pages))
	b = s.Curve.Append(b)
	for i := range s.Pools {
		for _, v := range [...]float64{s.Pools[i].Pages, s.Pools[i].Mean, s.Pools[i].MeanLog} {
			b = binary.BigEndian.AppendUint64(b, math.Float64bits(v))
		}
	}
	return b
}

// Bounds of what a member may say of its pages.
const (
	mostPages = 1e13
	mostRate  = 1e9 // changes a second of a page
	mostLog   = 100
)

// DecodeSummary reads what Append has written. It comes from another node: numbers that no pages
// have are refused.
func DecodeSummary(b []byte) (s Summary, err error) {
	if len(b) != SummaryBytes || b[0] != summaryVersion {
		return s, errSummary
	}
	s.Version = policy.Version{
		Boot:  crawl.Boot(binary.BigEndian.Uint64(b[1:])),
		Count: binary.BigEndian.Uint64(b[9:]),
	}
	s.Pages = math.Float64frombits(binary.BigEndian.Uint64(b[17:]))
	if !(s.Pages >= 0 && s.Pages <= mostPages) {
		return Summary{}, errSummary
	}
	b = b[25:]
	if s.Curve, err = policy.DecodeCurve(b[:policy.CurveBytes]); err != nil {
		return Summary{}, errSummary
	}
	b = b[policy.CurveBytes:]
	for i := range s.Pools {
		var v [3]float64
		for k := range v {
			v[k] = math.Float64frombits(binary.BigEndian.Uint64(b))
			b = b[8:]
		}
		p := estimate.Pool{Pages: v[0], Mean: v[1], MeanLog: v[2]}
		possible := p.Pages >= 0 && p.Pages <= mostPages && p.Mean >= 0 && p.Mean <= mostRate*p.Pages &&
			math.Abs(p.MeanLog) <= mostLog*p.Pages
		if !possible {
			return Summary{}, errSummary
		}
		s.Pools[i] = p
	}
	return s, nil
}
