package estimate

import "math"

// Pool is what is believed of many pages: the sums of which empirical Bayes makes the prior of
// the next one. Pools of disjoint sets of pages are summed up by adding them.
//
// A page counts once, with the belief of its last visit: each visit replaces it. Counting visits
// instead would count the pages that change often many times, and those that are not worth a
// visit never.
type Pool struct {
	Pages   float64
	Mean    float64 // sum of the expected rates
	MeanLog float64 // sum of the expected logarithms of the rates
}

// Add counts a page.
func (p *Pool) Add(g Gamma) { p.sum(Pool{1, g.Mean(), g.MeanLog()}, 1) }

// Remove takes back what Add has counted with the same belief.
func (p *Pool) Remove(g Gamma) { p.sum(Pool{1, g.Mean(), g.MeanLog()}, -1) }

// Plus adds the pages of o.
func (p *Pool) Plus(o Pool) { p.sum(o, 1) }

// Minus takes away the pages of o.
func (p *Pool) Minus(o Pool) { p.sum(o, -1) }

func (p *Pool) sum(o Pool, times float64) {
	p.Pages += times * o.Pages
	p.Mean += times * o.Mean
	p.MeanLog += times * o.MeanLog
	if p.Pages < 0.5 {
		*p = Pool{} // what rounding left
	}
}

// priorPages is how many pages of a site the prior of the level above is worth.
const priorPages = 3

// Prior is what to believe of the pool's next page, when over is believed of such pages
// elsewhere: the maximisation step of empirical Bayes, shrunk towards over. It is taken in
// logarithms, so that one page that changes every second does not decide for a site.
func (p *Pool) Prior(over Gamma) Gamma {
	over = over.Valid()
	if !(p.Pages >= 0.5 && p.Mean > 0) {
		return over
	}
	const minGap = 0.02 // shape 25: no site's pages are all alike
	meanLog := p.MeanLog / p.Pages
	gap := max(math.Log(p.Mean/p.Pages)-meanLog, minGap)
	overLog := over.MeanLog()
	overGap := max(math.Log(over.Mean())-overLog, minGap)
	own := p.Pages / (p.Pages + priorPages)
	return ofLogs(own*meanLog+(1-own)*overLog, own*gap+(1-own)*overGap)
}
