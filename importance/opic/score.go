package opic

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"crawlnode/crawl"
)

// Weights say how much each signal counts for the score of a queued URL, 0 to 1.
type Weights struct {
	Importance float64 // rank of the URL by its links
	Authority  float64 // distinct sites that link to its host
	Change     float64 // how often its content is expected to change
	Depth      float64 // links followed from a seed: fewer are better
	Freshness  float64 // how new its content is expected to be
}

// DefaultWeights are those of --priority.
var DefaultWeights = Weights{
	Importance: 0.3,
	Authority:  0.25,
	Change:     0.2,
	Depth:      0.15,
	Freshness:  0.1,
}

// fields lists the weights with their names, in the order of --priority.
func (w *Weights) fields() []weight {
	return []weight{{"importance", &w.Importance}, {"authority", &w.Authority}, {"change", &w.Change},
		{"depth", &w.Depth}, {"freshness", &w.Freshness}}
}

type weight struct {
	name  string
	value *float64
}

// ParseWeights reads the form importance=0.3,depth=0.15; what is left out weighs 0. All that is
// wrong is reported at once.
func ParseWeights(text string) (Weights, error) {
	var w Weights
	var errs []error
	given := map[string]bool{}
	for part := range strings.SplitSeq(text, ",") {
		name, number, _ := strings.Cut(strings.TrimSpace(part), "=")
		if err := w.set(name, number, given); err != nil {
			errs = append(errs, err)
		}
	}
	if len(errs) == 0 && w.sum() == 0 {
		errs = append(errs,
			errors.New("all weights are 0: give one, such as depth=1 for the order of discovery"))
	}
	return w, errors.Join(errs...)
}

// set reads one weight.
func (w *Weights) set(name, number string, given map[string]bool) error {
	var names []string
	for _, f := range w.fields() {
		names = append(names, f.name)
		if f.name != name {
			continue
		}
		v, err := strconv.ParseFloat(number, 64)
		switch {
		case given[name]:
			return fmt.Errorf("%s is given twice", name)
		case err != nil || !(v >= 0 && v <= 1):
			return fmt.Errorf("%s=%s: the weight must be a number from 0 to 1", name, number)
		}
		given[name] = true
		*f.value = v
		return nil
	}
	return fmt.Errorf("%q is no weight; there are %s, each as NAME=NUMBER", name,
		strings.Join(names, ", "))
}

func (w *Weights) sum() (sum float64) {
	for _, f := range w.fields() {
		sum += *f.value
	}
	return sum
}

// String is the form that ParseWeights reads, without zeros.
func (w Weights) String() string {
	var parts []string
	for _, f := range w.fields() {
		if *f.value != 0 {
			parts = append(parts, f.name+"="+strconv.FormatFloat(*f.value, 'g', -1, 64))
		}
	}
	return strings.Join(parts, ",")
}

// Signals are what is known of a queued URL, each 0 to 1, 1 the best.
type Signals struct {
	Importance, Authority, Change, Depth, Freshness float64
}

// Score is the weighted mean of the signals, 0 to 1.
func (w *Weights) Score(s Signals) float64 {
	sum := w.sum()
	if sum == 0 {
		return 0
	}
	return (w.Importance*s.Importance + w.Authority*s.Authority + w.Change*s.Change + w.Depth*s.Depth +
		w.Freshness*s.Freshness) / sum
}

// fullAuthority is the number of linking sites from which on a host has all authority, as log2.
const fullAuthority = 12

// Authority is the signal of a host to which that many sites link: each doubling counts the same.
func Authority(sites float64) float64 {
	return min(math.Log2(1+max(sites, 0))/fullAuthority, 1)
}

// Depth is the signal of a URL that is that many links from a seed.
func Depth(links int) float64 { return 1 / float64(1+max(links, 0)) }

// scoreScale makes scores countable in a Histogram.
const scoreScale = 1 << 20

// CountScore counts a queued URL n times more in a histogram of scores.
func CountScore(h *Histogram, score float64, n int64) { h.Add(Cash(score*scoreScale), n) }

// Cuts are the least scores of all bands but the last, descending.
type Cuts [crawl.Bands - 1]float64

// EvenCuts hold while no scores are known.
var EvenCuts = Cuts{0.875, 0.75, 0.625, 0.5, 0.375, 0.25, 0.125}

// bandShares are the parts of the queued URLs that the bands up to each one are cut to hold: the
// best bands are narrow, since a small part of the pages has most of the importance.
var bandShares = [crawl.Bands - 1]float64{0.02, 0.06, 0.14, 0.26, 0.42, 0.6, 0.8}

// CutsOf cuts the scores of the cluster's queued URLs. Few scores say nothing: EvenCuts.
func CutsOf(scores *Histogram) Cuts {
	const enough = 1000
	if scores.Total() < enough {
		return EvenCuts
	}
	var c Cuts
	r := scores.Ranks()
	for i, share := range bandShares {
		c[i] = float64(r.Quantile(1-share)) / scoreScale
	}
	return c
}

// Band is the band for a score.
func (c *Cuts) Band(score float64) crawl.Band {
	for i, least := range c {
		if score >= least {
			return crawl.Band(i)
		}
	}
	return crawl.Bands - 1
}

// MaxMoves bounds how often a queued URL moves to a better band: each move writes its place in
// the queue anew.
const MaxMoves = 3

// Better is the band to which a queued URL moves, and whether it does. It never moves back: a
// better place that it once had is no harm.
func (c *Cuts) Better(now crawl.Band, score float64, moves uint8) (crawl.Band, bool) {
	band := c.Band(score)
	// The last move must be worth it: two bands at least.
	return band, band < now && moves < MaxMoves && (moves < MaxMoves-1 || now-band > 1)
}
