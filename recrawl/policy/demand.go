package policy

import (
	"math"

	"crawlnode/recrawl/policy/estimate"
)

// The cells of a Demand: the shape of a belief in steps of a factor of two, and weight divided by
// the mean rate likewise, from 2^-10 s to 2^37 s. A page is shared among its four nearest cells, in
// proportion, so that sums are as if the steps were small.
const (
	shapes     = 9
	leastShape = -3 // log2
	ratios     = 96
	leastRatio = -10 // log2
)

// cell sums up pages that want visits at the same price.
type cell struct {
	pages  float64
	rate   float64 // sum of the mean rates
	weight float64
}

// Demand counts pages by belief and weight. Its size is fixed. Those of disjoint sets of pages are
// added.
type Demand struct {
	cells [shapes][ratios]cell
}

// Add counts a page.
func (d *Demand) Add(g estimate.Gamma, weight float64) { d.add(g, weight, 1) }

// Remove takes back what Add has counted with the same arguments.
func (d *Demand) Remove(g estimate.Gamma, weight float64) { d.add(g, weight, -1) }

func (d *Demand) add(g estimate.Gamma, weight, times float64) {
	g = g.Valid()
	weight = max(weight, MinWeight)
	i, s := split(math.Log2(g.Shape)-leastShape, shapes)
	j, t := split(2*(math.Log2(weight/g.Mean())-leastRatio), ratios)
	for _, part := range [...]struct {
		c *cell
		w float64
	}{
		{&d.cells[i][j], (1 - s) * (1 - t)}, {&d.cells[i][j+1], (1 - s) * t},
		{&d.cells[i+1][j], s * (1 - t)}, {&d.cells[i+1][j+1], s * t},
	} {
		w := part.w * times
		part.c.pages += w
		part.c.rate += w * g.Mean()
		part.c.weight += w * weight
	}
}

// split is the cell below v, of n, and how far v is on the way to the next one.
func split(v float64, n int) (i int, part float64) {
	v = min(max(v, 0), float64(n-1))
	i = min(int(v), n-2)
	return i, v - float64(i)
}

// Plus adds the pages of o.
func (d *Demand) Plus(o *Demand) { d.sum(o, 1) }

// Minus takes away the pages of o.
func (d *Demand) Minus(o *Demand) { d.sum(o, -1) }

func (d *Demand) sum(o *Demand, times float64) {
	for i := range d.cells {
		for j := range d.cells[i] {
			c, p := &d.cells[i][j], &o.cells[i][j]
			c.pages += times * p.pages
			c.rate += times * p.rate
			c.weight += times * p.weight
		}
	}
}

// least is the smallest part of a page that counts: less is what rounding left.
const least = 1e-6

// at is what the pages want, and gain, at a price.
func (d *Demand) at(price float64, b Bounds) (visits, gain float64) {
	for i := range d.cells {
		shape := math.Exp2(float64(i + leastShape))
		for j := range d.cells[i] {
			c := &d.cells[i][j]
			if c.pages < least || c.rate <= 0 {
				continue
			}
			// All pages of the cell want the same at a weight of one and a mean rate of 1/ratio.
			ratio := math.Exp2(float64(j)/2 + leastRatio)
			g := estimate.Gamma{Shape: shape, Rate: shape * c.pages / c.rate}
			weight := ratio * c.rate / c.pages
			seconds := b.clip(g, Interval(g, price/weight))
			visits += c.pages / seconds
			gain += c.weight * Freshness(g, seconds)
		}
	}
	return visits, gain
}
