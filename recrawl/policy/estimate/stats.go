package estimate

import (
	"math"
	"time"
)

// Observation is what one visit says of a page that was visited before.
type Observation struct {
	// Interval is the time since the visit before.
	Interval time.Duration
	Changed  bool
	// Dated: the time of the last change is known, Age before this visit (Last-Modified of a site
	// that has proved right). It counts only with Changed, and only within the interval.
	Dated bool
	Age   time.Duration
}

// Stats is what the visits of a page say of its rate of change. Its zero value: nothing yet. With
// r changes a second, the likelihood of the visits is
//
//	r^Dated · exp(-r·Quiet) · (1 - exp(-r·Span))^Found
//
// It is exact but for Span, which stands for the intervals of all changes found.
type Stats struct {
	Quiet float64 // seconds in which the page did not change
	Dated float64 // changes whose time is known
	Found float64 // visits that found a change of unknown time
	Span  float64 // seconds: the geometric mean of the intervals before those
}

// Bounds of an interval, in seconds. Clocks that jump, and records that were tampered with, give
// any number.
const (
	minSpan = 1e-3
	maxSpan = 10 * 365 * 86400
)

// Memory is after how many visits more a visit counts 1/e: rates change themselves.
const Memory = 64

// keep is the weight of all visits before, when another one comes.
const keep = 1 - 1.0/Memory

// Observe adds a visit.
func (s Stats) Observe(o Observation) Stats {
	interval := clamp(o.Interval.Seconds(), minSpan, maxSpan)
	s.Quiet, s.Dated, s.Found = s.Quiet*keep, s.Dated*keep, s.Found*keep
	switch {
	case !o.Changed:
		s.Quiet += interval
	case o.Dated && o.Age >= 0 && o.Age <= o.Interval:
		s.Quiet += clamp(o.Age.Seconds(), minSpan, interval)
		s.Dated++
	default:
		s.Found++
		if !(s.Span > 0) {
			s.Span = interval
		}
		s.Span *= math.Exp(math.Log(interval/s.Span) / s.Found)
	}
	return s
}

// Posterior is what is believed of the page after its visits, when prior was believed before.
//
// The mode of the logarithm of the rate solves the likelihood equation of Cho and Garcia-Molina
// (2003, section 5) with the prior's terms:
//
//	(Shape + Dated)/r + Found·Span/(exp(r·Span) - 1) = Rate + Quiet
//
// With no prior but half an unchanged visit, and equal intervals, its solution is their
// bias-reduced estimator. Around the mode, mean and mean logarithm are integrated.
func (s Stats) Posterior(prior Gamma) Gamma {
	prior = prior.Valid()
	p := product{
		shape: prior.Shape + clamp(s.Dated, 0, Memory), rate: prior.Rate + clamp(s.Quiet, 0, maxRate),
		found: clamp(s.Found, 0, Memory), span: clamp(s.Span, minSpan, maxSpan),
	}
	if p.found == 0 {
		return Gamma{p.shape, p.rate}.Valid()
	}
	mode := p.mode()
	mean, meanLog := p.moments(mode)
	return ofLogs(meanLog, math.Log(mean)-meanLog)
}

// product is a gamma density, times (1-exp(-r·span))^found.
type product struct{ shape, rate, found, span float64 }

// mode solves shape/r + found·span/(exp(r·span)-1) = rate. The left side falls and is convex, so
// Newton's method, begun left of the solution, comes near to it from there.
func (p *product) mode() float64 {
	r := max(p.shape/p.rate, math.Log1p(p.found*p.span/p.rate)/p.span)
	for range 40 {
		f, slope := p.shape/r-p.rate, -p.shape/(r*r)
		if x := r * p.span; x < 300 {
			e := math.Expm1(x)
			f += p.found * p.span / e
			slope -= p.found * p.span * p.span * (e + 1) / (e * e)
		}
		step := -f / slope
		r += step
		if !(step > 1e-5*r) {
			break
		}
	}
	return r
}

// nodes is the number of points on either side of the mode at which the density is computed.
const nodes = 5

// moments are the mean and the mean logarithm. The density of the logarithm of the rate is
// smooth and has one peak, so that few equal steps are enough.
func (p *product) moments(mode float64) (mean, meanLog float64) {
	// The density's curvature at the mode gives the width of the steps.
	narrow := p.rate * mode
	if x := mode * p.span; x < 300 {
		e := math.Expm1(x)
		narrow += p.found * (x / e) * (x*(e+1)/e - 1)
	}
	step := 4 / math.Sqrt(max(narrow, minShape)) / nodes
	grow := math.Exp(step)
	r := mode * math.Exp(-nodes*step)
	atMode := p.found * math.Log(-math.Expm1(-mode*p.span))
	var sum, sumRate, sumLog float64
	for i := -nodes; i <= nodes; i++ {
		t := float64(i) * step
		w := math.Exp(p.shape*t - p.rate*(r-mode) + p.found*math.Log(-math.Expm1(-r*p.span)) - atMode)
		sum += w
		sumRate += w * r
		sumLog += w * t
		r *= grow
	}
	return sumRate / sum, math.Log(mode) + sumLog/sum
}
