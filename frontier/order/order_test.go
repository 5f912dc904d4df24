package order

import (
	"math"
	"testing"
	"time"

	"crawlnode/crawl"
	"crawlnode/importance/opic"
)

var noon = time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)

func policy(w opic.Weights) *Policy {
	return &Policy{Weights: w, Cuts: opic.EvenCuts, Scores: &Scores{}}
}

// Which URLs are scored, and what counts for them before links do.
func TestAdmit(t *testing.T) {
	t.Parallel()
	plain := policy(opic.Weights{Depth: 0.5, Freshness: 0.5, Importance: 1})
	focused := policy(plain.Weights)
	focused.Focused = true
	given, givenTopic := *plain, *focused
	given.Given = func(*crawl.Target) bool { return true }
	givenTopic.Given = given.Given
	for name, c := range map[string]struct {
		p    *Policy
		t    crawl.Target
		want float64 // the base, 0 to 1; negative: not scored
	}{
		"link": {plain, crawl.Target{Via: crawl.ViaLink, Depth: 1, Band: 1},
			(0.25 + 0.25) / 2},
		"deeper": {plain, crawl.Target{Via: crawl.ViaLink, Depth: 4, Band: 4},
			(0.1 + 0.25) / 2},
		"redirect": {plain, crawl.Target{Via: crawl.ViaRedirect, Depth: 1, Band: 1}, 0.25},
		"sitemap":  {plain, crawl.Target{Via: crawl.ViaSitemap, Depth: 9, Band: 1}, 0.25},
		"sitemap, fresh": {plain, crawl.Target{Via: crawl.ViaSitemap, Band: 1, Claimed: noon},
			(0.25 + 0.5) / 2},
		"sitemap, a week old": {plain,
			crawl.Target{Via: crawl.ViaSitemap, Band: 1, Claimed: noon.Add(-freshFor)}, 0.25},
		"sitemap, of tomorrow": {plain,
			crawl.Target{Via: crawl.ViaSitemap, Band: 1, Claimed: noon.Add(24 * time.Hour)},
			(0.25 + 0.5) / 2},
		"on the topic": {focused, crawl.Target{Via: crawl.ViaLink, Depth: 1, Band: 1},
			(2 + 0.5) / 4},
		"off the topic": {focused, crawl.Target{Via: crawl.ViaLink, Depth: 1, Band: Lowest},
			0.5 / 4},
		"of no topic": {focused, crawl.Target{Via: crawl.ViaRedirect, Depth: 1, Band: 1},
			(1 + 0.5) / 4},
		"by a rule": {&given, crawl.Target{Via: crawl.ViaLink, Depth: 9, Band: 1}, 0.25},
		"last by a rule": {&given, crawl.Target{Via: crawl.ViaRedirect, Depth: 1, Band: Lowest},
			(0.5/7 + 0.25) / 2},
		"a topic by a rule": {&givenTopic, crawl.Target{Via: crawl.ViaRedirect, Depth: 1, Band: 1},
			(2 + 0.5) / 4},
		"seed and a rule":    {&given, crawl.Target{Via: crawl.ViaSeed, Band: 0}, -1},
		"seed":               {plain, crawl.Target{Via: crawl.ViaSeed, Band: 2}, -1},
		"file with sitemaps": {plain, crawl.Target{Via: crawl.ViaSitemapFile, Band: 1}, -1},
		"wanted again":       {plain, crawl.Target{Via: crawl.ViaLink, Again: true}, -1},
		"suspicious": {plain, crawl.Target{Via: crawl.ViaLink, Suspicious: true, Band: 7},
			-1},
		"of a host that mirrors": {plain, crawl.Target{Via: crawl.ViaLink, Band: 7}, -1},
	} {
		base, band, ok := c.p.Admit(&c.t, noon)
		if ok != (c.want >= 0) || ok && math.Abs(float64(base)/maxBase-c.want) > 0.003 {
			t.Errorf("%s: base %.3f, %v, want %.3f", name, float64(base)/maxBase, ok, c.want)
		}
		if !ok && band != c.t.Band || ok && (band != c.p.Band(c.p.Score(base, 0)) || band > Lowest) {
			t.Errorf("%s: band %d", name, band)
		}
	}
}

// Links lift a URL: by its rank, and by the sites that link to its host.
func TestLink(t *testing.T) {
	t.Parallel()
	var h opic.Histogram
	for i := range opic.Cash(100) {
		h.Add(i*opic.Unit, 1)
	}
	p := policy(opic.Weights{Importance: 0.5, Authority: 0.5})
	var none, many opic.Sites
	for i := range 200 {
		many.Add(opic.SiteOf(uint64(i+1) * 0x9e3779b97f4a7c15))
	}
	if got := p.Link(50*opic.Unit, &none); got != 0 {
		t.Errorf("without ranks: %v", got)
	}
	p.Ranks = h.Ranks()
	low, high, known := p.Link(10*opic.Unit, &none), p.Link(90*opic.Unit, &none),
		p.Link(10*opic.Unit, &many)
	if math.Abs(low-0.05) > 0.01 || math.Abs(high-0.45) > 0.01 || known < low+0.2 {
		t.Errorf("link parts %.3f, %.3f, with many sites %.3f", low, high, known)
	}
	p.Typical = 0.2
	level, worth := p.Worth(0, high)
	if again, more := p.Worth(level, high); !worth || more || again != level {
		t.Errorf("level %d, %v; again %d, %v", level, worth, again, more)
	}
	if level, worth := p.Worth(0, 0); worth {
		t.Errorf("without links it is worth a look, level %d", level)
	}
}

// Cuts follow what is found: the best band holds a small part of it, however the scores are spread.
func TestCutsFollowScores(t *testing.T) {
	t.Parallel()
	s := &Scores{}
	for i := range 3 * mostScores {
		s.admitted(uint8(i % 50))
		s.Linked(0.1, []Change{{Before: -1, Now: float64(i%1000) / 2000}})
	}
	s.Count(-1, 7) // out of all bounds
	s.Count(0.99, -7)
	h := s.Histogram()
	if h.Total() < mostScores/3 || h.Total() > mostScores {
		t.Errorf("%d scores", h.Total())
	}
	if typical := s.Typical(); math.Abs(typical-24.5/maxBase) > 0.02 {
		t.Errorf("typical base %.3f", typical)
	}
	p := policy(opic.DefaultWeights)
	p.Cuts = opic.CutsOf(h)
	var bands [crawl.Bands]int
	for i := range 10_000 {
		bands[p.Band(float64(i%50)/maxBase+float64(i%997)/1994)]++
	}
	if bands[0] < 100 || bands[0] > 400 || bands[Lowest] < 2_000 || bands[crawl.Bands-1] != 0 {
		t.Errorf("bands %v", bands)
	}
}
