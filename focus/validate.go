package focus

import (
	"cmp"
	"math"
	"slices"
)

// folds is into how many parts the pages are divided for validation.
const folds = 5

// costs are the costs of an error that validation chooses among; the least one that is best wins.
var costs = [...]float64{1, 4, 16}

// measured is a margin of a page that was not learnt from.
type measured struct {
	like   bool
	margin float64
}

// validation is what held-out pages tell of one cost.
type validation struct {
	cost  float64
	pages []measured
	links []measured
	auc   float64
}

// divide gives each page a fold, of both sets the same share.
func divide(pages []example, rng *source) []uint8 {
	order := make([]int, len(pages))
	for i := range order {
		order[i] = i
	}
	rng.shuffle(order)
	var next [2]int
	fold := make([]uint8, len(pages))
	for _, i := range order {
		k := index(pages[i].like)
		fold[i] = uint8(next[k] % folds)
		next[k]++
	}
	return fold
}

// validate learns from four folds and measures the fifth, five times.
func (l *learner) validate(
	fold []uint8,
	cost float64,
	rng *source,
	step func() error,
) (validation, error) {
	v := validation{cost: cost}
	for held := range folds {
		w := l.learn(fold, held, cost, rng)
		for i := range l.pages {
			if p := &l.pages[i]; int(fold[i]) == held {
				v.pages = append(v.pages, measured{p.like, total(w, p.features)})
				if len(p.link) > 0 {
					v.links = append(v.links, measured{p.like, total(w, p.link)})
				}
			}
		}
		if err := step(); err != nil {
			return v, err
		}
	}
	v.auc = auc(v.pages)
	return v, nil
}

// total is the margin of a list of features, as a Model has it.
func total(w []float64, list []uint32) float64 {
	sum := 0.0
	for _, f := range list {
		sum += w[f]
	}
	return sum / math.Sqrt(float64(len(list)))
}

// auc is the probability that of two pages the one of the topic has the greater margin; 0.5 when
// there are not both.
func auc(list []measured) float64 {
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b measured) int { return cmp.Compare(a.margin, b.margin) })
	ranks, like := 0.0, 0.0
	for i := 0; i < len(list); {
		j := i
		for j < len(list) && list[j].margin <= list[i].margin { // equal ones share their ranks
			j++
		}
		for k := i; k < j; k++ {
			if list[k].like {
				ranks += float64(i+j+1) / 2
				like++
			}
		}
		i = j
	}
	other := float64(len(list)) - like
	if like == 0 || other == 0 {
		return 0.5
	}
	return (ranks - like*(like+1)/2) / (like * other)
}

// accuracy is the share of pages on the right side of 0.5, both sets counting the same.
func accuracy(list []measured, c curve) float64 {
	var right, many [2]float64
	for _, m := range list {
		many[index(m.like)]++
		if c.logit(m.margin) > 0 == m.like {
			right[index(m.like)]++
		}
	}
	if many[0] == 0 || many[1] == 0 {
		return 0
	}
	return (right[0]/many[0] + right[1]/many[1]) / 2
}

// fit finds the logistic curve of margins (Platt 1999, with the smoothed targets and the Newton
// steps of Lin, Lin and Weng 2007). Both sets count the same. A curve that would fall is flat: the
// margins say nothing. Without an intercept the curve passes through 0.5 at margin 0: so a link
// whose words are all unknown is neither on the topic nor off it.
func fit(list []measured, intercept bool) curve {
	var many [2]float64
	for _, m := range list {
		many[index(m.like)]++
	}
	if many[0] == 0 || many[1] == 0 {
		return curve{}
	}
	targets := [2]float64{1 / (many[0] + 2), (many[1] + 1) / (many[1] + 2)}
	weights := [2]float64{0.5 / many[0], 0.5 / many[1]}
	c := curve{slope: 1}
	for range 100 {
		var ga, gb, aa, ab, bb float64
		for _, m := range list {
			k := index(m.like)
			p := sigmoid(c.slope*m.margin + c.intercept)
			d, h := weights[k]*(p-targets[k]), weights[k]*p*(1-p)
			ga, gb = ga+d*m.margin, gb+d
			aa, ab, bb = aa+h*m.margin*m.margin, ab+h*m.margin, bb+h
		}
		if !intercept {
			gb, ab, bb = 0, 0, 1
		}
		aa, bb = aa+1e-9, bb+1e-9
		det := aa*bb - ab*ab
		if math.Abs(ga)+math.Abs(gb) < 1e-9 || det <= 0 {
			break
		}
		da, db := (bb*ga-ab*gb)/det, (aa*gb-ab*ga)/det
		// no leaps
		most := max(math.Abs(da)/(1+math.Abs(c.slope)), math.Abs(db)/(1+math.Abs(c.intercept)), 1)
		c.slope, c.intercept = c.slope-da/most, c.intercept-db/most
	}
	if !(c.slope > 0) || math.IsInf(c.slope, 0) || math.IsNaN(c.intercept) {
		return curve{}
	}
	return curve{min(c.slope, 1e6), max(min(c.intercept, 1e6), -1e6)}
}
