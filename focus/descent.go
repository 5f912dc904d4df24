package focus

import "math"

const (
	// passes over all pages; the weights hardly change after fewer.
	passes = 12
	// constant is the value of a feature that every page has and that is not in the model: what speaks
	// for or against all pages goes there, so that a word's weight compares it with the usual page.
	constant = 5
	// rare is the number of pages in which a feature must be to be learnt from.
	rare = 2
)

// learner fits weights to pages.
type learner struct {
	pages []example
	idf   []float64 // by feature, what its value is multiplied with; 0: it is not used
}

// newLearner counts in how many pages each feature is.
func newLearner(pages []example) *learner {
	in := make([]int32, features)
	for i := range pages {
		for _, f := range pages[i].features {
			in[f]++
		}
	}
	l := &learner{pages: pages, idf: make([]float64, features)}
	for f, n := range in {
		if n >= rare {
			l.idf[f] = math.Log(1 + float64(len(pages))/float64(n))
		}
	}
	return l
}

// learn fits the weights to the pages whose fold is not held; -1: to all. A page's value of a
// feature is idf over the square root of the number of its features. The weights that are returned
// are those to be summed: idf is in them.
//
// It is dual coordinate descent for logistic regression (Yu, Huang, Lin 2011): each page has a
// variable between 0 and its cost; with all others fixed the best value is the root of
// t + square (cost·σ(t) - old) + label·margin = 0, which rises in t, so that Newton finds it.
func (l *learner) learn(folds []uint8, held int, cost float64, rng *source) []float64 {
	w := make([]float64, features+1) // the last one is that of the constant
	var order []int
	var many [2]float64
	for i := range l.pages {
		if held < 0 || folds[i] != uint8(held) {
			order = append(order, i)
			many[index(l.pages[i].like)]++
		}
	}
	if many[0] == 0 || many[1] == 0 {
		return w[:features]
	}
	dual := make([]float64, len(l.pages)) // the logit of each variable over its cost
	costs := [2]float64{cost * float64(len(order)) / (2 * many[0]),
		cost * float64(len(order)) / (2 * many[1])}
	const first = -6 // near 0
	for _, i := range order {
		dual[i] = first
		l.move(w, i, costs[index(l.pages[i].like)]*sigmoid(first))
	}
	for range passes {
		rng.shuffle(order)
		for _, i := range order {
			p := &l.pages[i]
			c := costs[index(p.like)]
			margin, square := l.margin(w, p)
			old := c * sigmoid(dual[i])
			dual[i] = root(dual[i], c, old, square, sign(p.like)*margin)
			l.move(w, i, c*sigmoid(dual[i])-old)
		}
	}
	for f, idf := range l.idf {
		w[f] *= idf
	}
	return w[:features]
}

func sign(like bool) float64 {
	if like {
		return 1
	}
	return -1
}

// root solves t + square (cost·σ(t) - old) + b = 0.
func root(t, cost, old, square, b float64) float64 {
	low, high := -b-square*(cost-old), -b+square*old
	for range 30 {
		if t < low || t > high {
			t = (low + high) / 2
		}
		s := sigmoid(t)
		v := t + square*(cost*s-old) + b
		if math.Abs(v) < 1e-6 {
			break
		}
		if v > 0 {
			high = t
		} else {
			low = t
		}
		t -= v / (1 + square*cost*s*(1-s))
	}
	return t
}

// margin is the product of the weights and a page, and the page's square.
func (l *learner) margin(w []float64, p *example) (sum, square float64) {
	for _, f := range p.features {
		sum += w[f] * l.idf[f]
		square += l.idf[f] * l.idf[f]
	}
	n := float64(len(p.features))
	return sum/math.Sqrt(n) + constant*w[features], square/n + constant*constant
}

// move adds a page, by so much, to the weights.
func (l *learner) move(w []float64, i int, by float64) {
	p := &l.pages[i]
	by *= sign(p.like)
	w[features] += by * constant
	by /= math.Sqrt(float64(len(p.features)))
	for _, f := range p.features {
		w[f] += by * l.idf[f]
	}
}

// source is a sequence of random numbers (splitmix64).
type source struct{ state uint64 }

func (s *source) next() uint64 {
	s.state += 0x9e3779b97f4a7c15
	z := s.state
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

func (s *source) shuffle(list []int) {
	for i := len(list) - 1; i > 0; i-- {
		j := int(s.next() % uint64(i+1))
		list[i], list[j] = list[j], list[i]
	}
}
