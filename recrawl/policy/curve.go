package policy

import (
	"encoding/binary"
	"errors"
	"math"
)

// Prices is the number of prices of a Curve: 2^-10 s, each twice the one before.
const Prices = 44

const leastPrice = -10 // log2

// Curve says what pages want at each of a fixed list of prices.
type Curve struct {
	// Capacity is how many visits a second there are for revisits.
	Capacity float64
	// Weight is the sum of the pages' weights.
	Weight float64
	// Visits are the visits a second that the pages want, Gain the sum of weight times freshness.
	// Both fall from price to price, but for the first one, at which Bounds.Worth acts in full.
	Visits, Gain [Prices]float64
}

// Curve computes what the pages want. ease is the share of b.Worth that acts (Curve.Ease); at the
// lowest price, which is next to nothing, all of it does, so that the curve says what pages with a
// reason want alone.
func (d *Demand) Curve(b Bounds, ease, capacity float64) Curve {
	c := Curve{Capacity: capacity}
	for i := range d.cells {
		for j := range d.cells[i] {
			c.Weight += max(d.cells[i][j].weight, 0)
		}
	}
	for k := range c.Visits {
		c.Visits[k], c.Gain[k] = d.at(math.Exp2(float64(k+leastPrice)), b)
		if k == 0 {
			b.Worth *= ease
		}
	}
	return c
}

// leastEase is the share of Bounds.Worth that always acts: so much costs no freshness, and pages
// that never change get few visits by it also where others want more than there are.
const leastEase = 0.3

// Ease is the share of Bounds.Worth that acts, leastEase to 1. When the pages that have a reason
// alone want twice as many visits as there are, Worth would save none, and only move visits from
// pages that change slowly to those that change too fast: there most is left to the price. When
// they want no more than there are, all of it acts.
func (c *Curve) Ease() float64 {
	if !(c.Visits[0] > 0) {
		return 1
	}
	return min(max(2*c.Capacity/c.Visits[0]-1, leastEase), 1)
}

// Plus adds another node's curve.
func (c *Curve) Plus(o *Curve) {
	c.Capacity += o.Capacity
	c.Weight += o.Weight
	for k := range c.Visits {
		c.Visits[k] += o.Visits[k]
		c.Gain[k] += o.Gain[k]
	}
}

// Price is the price at which the pages want Capacity visits: between two prices of the list,
// visits are interpolated in logarithms. When all the pages could be visited as often as the bounds
// allow, it is the lowest.
func (c *Curve) Price() float64 {
	for k := range c.Visits {
		if c.Visits[k] > c.Capacity {
			continue
		}
		if k == 0 {
			return math.Exp2(leastPrice)
		}
		part := math.Log(c.Visits[k-1]/c.Capacity) / math.Log(c.Visits[k-1]/c.Visits[k])
		if !(part >= 0 && part <= 1) {
			part = 1
		}
		return math.Exp2(float64(k-1+leastPrice) + part)
	}
	return math.Exp2(Prices - 1 + leastPrice)
}

// Expected is the freshness that the model expects at a price: the weighted share of the pages
// that are fresh, 0 to 1. ok is false when there is no page.
func (c *Curve) Expected(price float64) (share float64, ok bool) {
	if !(c.Weight > 0) {
		return 0, false
	}
	k, part := split(math.Log2(max(price, math.SmallestNonzeroFloat64))-leastPrice, Prices)
	gain := c.Gain[k] + part*(c.Gain[k+1]-c.Gain[k])
	return min(max(gain/c.Weight, 0), 1), true
}

// CurveBytes is the size of an encoded curve.
const CurveBytes = 1 + 2*(2+2*Prices)

const curveVersion = 1

// errCurve says that bytes are no curve.
var errCurve = errors.New(
	"recrawl: not a summary of revisits: this node and its sender differ in their version")

// Numbers of a curve are written as 16 bits each, by their logarithm: 0 for zero, then from 1e-12
// in steps of 1/600 of a factor of e, up to 1e35.
const (
	leastNumber = 1e-12
	numberSteps = 600
)

// Append writes c in CurveBytes bytes.
func (c *Curve) Append(b []byte) []byte {
	b = append(b, curveVersion)
	c.each(func(v *float64) {
		var n uint16
		if *v > 0 {
			n = uint16(min(max(math.Round(math.Log(*v/leastNumber)*numberSteps)+1, 1), math.MaxUint16))
		}
		b = binary.BigEndian.AppendUint16(b, n)
	})
	return b
}

// DecodeCurve reads what Append has written.
func DecodeCurve(b []byte) (c Curve, err error) {
	if len(b) != CurveBytes || b[0] != curveVersion {
		return c, errCurve
	}
	b = b[1:]
	c.each(func(v *float64) {
		if n := binary.BigEndian.Uint16(b); n > 0 {
			*v = leastNumber * math.Exp(float64(n-1)/numberSteps)
		}
		b = b[2:]
	})
	return c, nil
}

func (c *Curve) each(f func(*float64)) {
	f(&c.Capacity)
	f(&c.Weight)
	for k := range c.Visits {
		f(&c.Visits[k])
		f(&c.Gain[k])
	}
}
