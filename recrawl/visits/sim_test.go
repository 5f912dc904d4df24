package visits

import (
	"container/heap"
	"math"
	"math/rand/v2"
	"time"

	"crawlnode/crawl"
	"crawlnode/recrawl/policy"
	"crawlnode/recrawl/policy/estimate"
)

// The simulated web: pages that change at random times, in virtual time, and a crawler that has
// a fixed number of visits a second. Freshness is not sampled but computed: a page that changes r
// times a second is fresh t seconds after a visit with probability exp(-rt), whatever was decided
// before.

// web is the rates of its pages, in changes a second. Each `per` pages in a row are a site.
type web struct {
	name  string
	per   int
	rates []float64
	dated float64 // share of the visits that find a change whose server says when it was
	lies  float64 // share of the sites whose servers date each answer with the present
	drift float64 // how often a page's rate is drawn anew: in mean intervals, 0 is never
	draw  func(r *rand.Rand, i int) float64
	// prior is the distribution from which a page's rate was drawn, for comparison.
	prior func(i int) estimate.Gamma
}

// meanInterval is the mean of the pages' mean intervals between changes, in seconds; those over a
// year count as a year.
func (w *web) meanInterval() (sum float64) {
	for _, r := range w.rates {
		sum += min(1/r, 365*86400)
	}
	return sum / float64(len(w.rates))
}

// total is the number of changes a second of all pages.
func (w *web) total() (sum float64) {
	for _, r := range w.rates {
		sum += r
	}
	return sum
}

func newWeb(name string, n, per int, draw func(r *rand.Rand, i int) float64) *web {
	r := rand.New(rand.NewPCG(11, uint64(n)))
	w := &web{name: name, per: per, rates: make([]float64, n), draw: draw}
	for i := range w.rates {
		w.rates[i] = max(draw(r, i), 1e-11)
	}
	return w
}

// flatWeb has pages whose rates are drawn from one gamma distribution of shape 1/2, with a mean of
// one change in six hours: 98 % of the pages change once in 1.8 hours to once in 4.5 years.
func flatWeb(n int) *web {
	w := newWeb("flat", n, n,
		func(r *rand.Rand, _ int) float64 { return gammaDraw(r, 0.5) / 0.5 / (6 * 3600) })
	w.prior = func(int) estimate.Gamma { return estimate.Gamma{Shape: 0.5, Rate: 0.5 * 6 * 3600} }
	return w
}

// siteWeb has sites of 100 pages, each with a mean interval between ten minutes and ninety days;
// the pages' rates are drawn from a gamma distribution of shape 1 (exponential) around it.
func siteWeb(n int) *web {
	const per = 100
	sites := rand.New(rand.NewPCG(12, 1))
	means := make([]float64, n/per+1)
	for i := range means {
		means[i] = 1 / (600 * math.Exp(sites.Float64()*math.Log(90*144)))
	}
	w := newWeb("sites", n, per,
		func(r *rand.Rand, i int) float64 { return gammaDraw(r, 1) * means[i/per] })
	w.prior = func(i int) estimate.Gamma { return estimate.Gamma{Shape: 1, Rate: 1 / means[i/per]} }
	return w
}

// gammaDraw draws from the gamma distribution of shape a and rate 1, after Marsaglia and Tsang
// (2000).
func gammaDraw(r *rand.Rand, a float64) float64 {
	if a < 1 {
		return gammaDraw(r, a+1) * math.Pow(r.Float64(), 1/a)
	}
	d := a - 1.0/3
	c := 1 / math.Sqrt(9*d)
	for {
		x := r.NormFloat64()
		v := 1 + c*x
		if v <= 0 {
			continue
		}
		v = v * v * v
		if math.Log(r.Float64()) < 0.5*x*x+d-d*v+d*math.Log(v) {
			return d * v
		}
	}
}

// equalFreshness is the mean freshness of pages that are all visited equally often.
func equalFreshness(rates []float64, budget float64) (sum float64) {
	seconds := float64(len(rates)) / budget
	for _, r := range rates {
		sum += policy.Freshness(estimate.Known(r), seconds)
	}
	return sum / float64(len(rates))
}

// bestFreshness is that of the optimum with known rates, computed from every page and not from
// cells.
func bestFreshness(rates []float64, budget float64) float64 {
	at := func(price float64) (visits, fresh float64) {
		for _, r := range rates {
			s := policy.Interval(estimate.Known(r), price)
			visits += 1 / s
			fresh += policy.Freshness(estimate.Known(r), s)
		}
		return visits, fresh / float64(len(rates))
	}
	low, high := 1e-6, 1e12
	for high/low > 1.0005 {
		mid := math.Sqrt(low * high)
		if visits, _ := at(mid); visits > budget {
			low = mid
		} else {
			high = mid
		}
	}
	_, fresh := at(high)
	return fresh
}

// simPage is a page of the web, and what the crawler keeps of it.
type simPage struct {
	rate        float64
	last, check float64 // of the last visit; when it is looked at again
	due         float64
	drifts      float64 // when its rate is drawn anew
	interval    time.Duration
	stats       [estimate.PackedStats]byte
	belief      estimate.Gamma
	believed    bool // the belief is counted
}

// schedule decides when a page is visited again.
type schedule interface {
	// visited sets due and check of a page.
	visited(s *simulation, p *simPage, i int, o estimate.Observation)
	// ready is false when the page, whose check has come, waits on: check is set then.
	ready(s *simulation, p *simPage, i int) bool
	// tick is called often in a mean interval at first, later once.
	tick(s *simulation)
}

type simulation struct {
	web    *web
	pages  []simPage
	budget float64 // visits a second
	mean   float64 // seconds between two visits of a page, if all are visited equally often
	now    float64
	r      *rand.Rand
	curve  []float64 // freshness in each mean interval
	visits int
	checks int
	early  int // visits before their time, because nothing was due
	heap   []int32
}

func (s *simulation) Len() int { return len(s.heap) }
func (s *simulation) Less(
	i, j int,
) bool {
	return s.pages[s.heap[i]].check < s.pages[s.heap[j]].check
}
func (s *simulation) Swap(i, j int) { s.heap[i], s.heap[j] = s.heap[j], s.heap[i] }
func (s *simulation) Push(any)      {}
func (s *simulation) Pop() any      { return nil }

// simulate crawls w for so many mean intervals, after a first pass over all pages.
func simulate(w *web, budget float64, intervals int, how schedule, seed uint64) *simulation {
	n := len(w.rates)
	s := &simulation{
		web: w, pages: make([]simPage, n), budget: budget, mean: float64(n) / budget,
		r: rand.New(rand.NewPCG(seed, 1)), curve: make([]float64, intervals), heap: make([]int32, n),
	}
	for k, i := range s.r.Perm(n) {
		p := &s.pages[i]
		p.rate = w.rates[i]
		p.last = -s.mean + float64(k)/budget
		p.due = p.last + s.mean
		p.check = p.due
		p.drifts = math.Inf(1)
		if w.drift > 0 {
			p.drifts = s.r.ExpFloat64() * w.drift * s.mean
		}
		s.heap[k] = int32(i)
	}
	heap.Init(s)
	s.run(how, s.mean*float64(intervals))
	return s
}

func (s *simulation) run(how schedule, end float64) {
	ticked := math.Inf(-1)
	for k := 0; ; k++ {
		s.now = float64(k) / s.budget
		if s.now >= end {
			break
		}
		if pause := s.mean / max(20/(1+s.now/s.mean), 1); s.now-ticked >= pause {
			ticked = s.now
			how.tick(s)
		}
		i := int(s.heap[0])
		for s.pages[i].check < s.pages[i].due && !how.ready(s, &s.pages[i], i) {
			s.checks++
			heap.Fix(s, 0)
			i = int(s.heap[0])
		}
		s.visit(how, &s.pages[i], i)
		heap.Fix(s, 0)
	}
	s.now = end
	for i := range s.pages {
		s.count(&s.pages[i])
	}
}

// visit finds out whether the page has changed.
func (s *simulation) visit(how schedule, p *simPage, i int) {
	s.visits++
	if p.check > s.now {
		s.early++
	}
	s.count(p)
	elapsed := s.now - p.last
	age := s.r.ExpFloat64() / p.rate // seconds since its last change
	o := estimate.Observation{Interval: seconds(elapsed), Changed: age < elapsed}
	if lies := s.liar(i); lies || o.Changed && s.web.dated > s.r.Float64() {
		o.Dated, o.Age = true, seconds(age)
		if lies {
			o.Age = time.Second
		}
	}
	p.last = s.now
	if p.drifts <= s.now {
		p.drifts = s.now + s.r.ExpFloat64()*s.web.drift*s.mean
		p.rate = max(s.web.draw(s.r, i), 1e-11)
	}
	how.visited(s, p, i, o)
}

// liar reports whether a page's server lies about its dates.
func (s *simulation) liar(i int) bool {
	return float64(i/s.web.per%10) < 10*s.web.lies
}

// count adds the freshness of a page since its last visit.
func (s *simulation) count(p *simPage) {
	for from := max(p.last, 0); from < s.now; {
		k := int(from / s.mean)
		if k >= len(s.curve) {
			return
		}
		to := min(s.now, float64(k+1)*s.mean)
		if to <= from {
			to = from + 1e-9*s.mean
		}
		s.curve[k] += math.Exp(-p.rate*(from-p.last)) * -math.Expm1(-p.rate*(to-from)) / p.rate / s.mean /
			float64(len(s.pages))
		from = to
	}
}

func seconds(s float64) time.Duration {
	return time.Duration(min(s, 200*365*86400) * float64(time.Second))
}

// doubling is the usual heuristic: half the interval after a change, twice the interval without.
type doubling struct{ bounds policy.Bounds }

func (d doubling) visited(s *simulation, p *simPage, _ int, o estimate.Observation) {
	if p.interval == 0 {
		p.interval = seconds(s.mean)
	}
	if o.Changed {
		p.interval /= 2
	} else {
		p.interval *= 2
	}
	p.interval = min(max(p.interval, d.bounds.Min), d.bounds.Max)
	p.due = s.now + p.interval.Seconds()
	p.check = p.due
}
func (doubling) ready(*simulation, *simPage, int) bool { return true }
func (doubling) tick(*simulation)                      {}

// adaptive is what this package is for: each page by its estimate and the price. Its nodes have
// the sites in turn.
type adaptive struct {
	bounds policy.Bounds
	over   estimate.Gamma // believed before the first visit
	nodes  []simNode
	sites  []estimate.Pool
	dates  []Claims
	prior  estimate.Gamma // of all pages
	all    estimate.Pool
	price  float64
	curves policy.Curves
	sum    policy.Curve
	count  uint64
	told   bool // it knows from which distribution each page's rate was drawn
}

type simNode struct {
	id     crawl.NodeID
	demand policy.Demand
}

func newAdaptive(w *web, budget float64, b policy.Bounds) *adaptive {
	// The usual interval is a guess of a person: it is wrong by a factor of three here.
	guess := 3 * float64(len(w.rates)) / budget
	a := &adaptive{bounds: b, over: estimate.Gamma{Shape: 0.5, Rate: 0.5 * guess}}
	a.prior = a.over
	a.sites = make([]estimate.Pool, (len(w.rates)-1)/w.per+1)
	a.dates = make([]Claims, len(a.sites))
	for _, id := range []crawl.NodeID{"a", "b", "c"} {
		a.nodes = append(a.nodes, simNode{id: id})
	}
	return a
}

func (a *adaptive) node(s *simulation, i int) *simNode {
	return &a.nodes[i/s.web.per%len(a.nodes)]
}

// believe replaces what is believed of a page in the sums.
func (a *adaptive) believe(s *simulation, p *simPage, i int) {
	site, node := &a.sites[i/s.web.per], a.node(s, i)
	node.demand.Remove(p.belief, 1)
	if p.believed {
		site.Remove(p.belief)
		a.all.Remove(p.belief)
	}
	prior := site.Prior(a.prior)
	if a.told {
		prior = s.web.prior(i)
	}
	g := estimate.UnpackStats(p.stats).Posterior(prior)
	p.belief = estimate.UnpackGamma([estimate.PackedGamma]byte(g.Append(nil)))
	node.demand.Add(p.belief, 1)
	p.believed = p.stats != [estimate.PackedStats]byte{}
	if p.believed { // a page of which nothing is known says nothing of others
		site.Add(p.belief)
		a.all.Add(p.belief)
	}
}

func (a *adaptive) plan(s *simulation, p *simPage) {
	p.interval = policy.Plan(p.belief, 1, a.price, a.bounds)
	p.due = p.last + p.interval.Seconds()
	p.check = p.last + policy.Check(seconds(s.now-p.last), p.interval, seconds(s.mean)).Seconds()
}

func (a *adaptive) visited(s *simulation, p *simPage, i int, o estimate.Observation) {
	dates := &a.dates[i/s.web.per]
	if s.web.dated > 0 || s.web.lies > 0 {
		*dates = dates.Check(o.Dated, o.Changed)
	}
	o.Dated = o.Dated && dates.TrustsDates()
	stats := estimate.UnpackStats(p.stats).Observe(o)
	p.stats = [estimate.PackedStats]byte(stats.Append(nil))
	a.believe(s, p, i)
	a.plan(s, p)
}

func (a *adaptive) ready(s *simulation, p *simPage, i int) bool {
	if p.check > s.now {
		return true // nothing is due: it is visited before its time
	}
	a.believe(s, p, i)
	a.plan(s, p)
	return p.due <= s.now
}

func (a *adaptive) tick(s *simulation) {
	if a.count == 0 {
		for i := range s.pages {
			s.pages[i].belief = a.over
			a.node(s, i).demand.Add(a.over, 1)
		}
	}
	a.count++
	a.prior = a.all.Prior(a.over)
	for k := range a.nodes {
		n := &a.nodes[k]
		c := n.demand.Curve(a.bounds, 1, s.budget/float64(len(a.nodes)))
		sent, err := policy.DecodeCurve(c.Append(nil))
		if err != nil {
			panic(err)
		}
		a.curves.Put(n.id, policy.Version{Boot: 1, Count: a.count}, sent)
	}
	a.sum = a.curves.Sum()
	a.price = a.sum.Price()
}
