package importance

import (
	"math/rand/v2"
	"testing"
	"time"

	"crawlnode/crawl"
	"crawlnode/importance/opic"
)

func TestOrders(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		s        *crawl.Settings
		orders   bool
		weighted bool
	}{
		{nil, false, false},
		{&crawl.Settings{}, false, false},
		{&crawl.Settings{Recrawl: crawl.RecrawlAdaptive}, true, false},
		{&crawl.Settings{Priority: "depth=1"}, false, false},
		{&crawl.Settings{Priority: "depth=1", Recrawl: crawl.RecrawlFixed}, false, false},
		{&crawl.Settings{Priority: "depth=1,freshness=0.2"}, true, false},
		{&crawl.Settings{Priority: "authority=1", Recrawl: crawl.RecrawlFixed}, true, false},
		{&crawl.Settings{Priority: "importance=1"}, true, false},
		{&crawl.Settings{Priority: "importance=1", Recrawl: crawl.RecrawlFixed}, true, true},
		{&crawl.Settings{Priority: "nonsense"}, false, false},
	} {
		if _, got := Orders(c.s); got != c.orders || Weighted(c.s) != c.weighted {
			t.Errorf("%+v: ordered %v, weighted %v", c.s, got, Weighted(c.s))
		}
	}
	if w, _ := Orders(&crawl.Settings{Recrawl: crawl.RecrawlAdaptive}); w != opic.DefaultWeights {
		t.Errorf("weights %+v", w)
	}
}

// The frontier is told by what it orders, when that changes; turned off, finders decide again.
func TestOrderFollowsSettings(t *testing.T) {
	t.Parallel()
	k := newNetwork(t, rand.New(rand.NewPCG(1, 1))).members["a"]
	settings := &crawl.Settings{}
	k.opts.Settings = func() *crawl.Settings { return settings }
	k.setOrder()
	if k.front.Order() != nil {
		t.Fatal("queues are ordered by scores without weights")
	}
	settings = &crawl.Settings{Priority: "importance=1,depth=0.5"}
	k.setOrder()
	first := k.front.Order()
	if first == nil || first.Weights != (opic.Weights{Importance: 1, Depth: 0.5}) || first.Focused {
		t.Fatalf("ordered by %+v", first)
	}
	for range orderRounds - 1 {
		k.setOrder()
	}
	if k.front.Order() != first {
		t.Error("cuts were made anew in each round")
	}
	if k.setOrder(); k.front.Order() == first || k.front.Order().Scores != first.Scores {
		t.Error("cuts were not made anew")
	}
	settings = &crawl.Settings{Priority: "importance=1,depth=0.5", Focus: &crawl.Topic{Name: "x"}}
	if k.setOrder(); !k.front.Order().Focused || k.front.Order().Scores == first.Scores {
		t.Error("it does not follow the topic")
	}
	settings = &crawl.Settings{}
	if k.setOrder(); k.front.Order() != nil {
		t.Error("it is not turned off")
	}
}

// A page weighs its rank, where a person wants that.
func TestWeight(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 1))
	n, w := newNetwork(t, rng), newWeb(t, rng, 60)
	for page := range w.urls {
		n.visit(w, page)
	}
	k := n.members["a"]
	now := time.Unix(1e9, 0)
	n.rounds(&now, 5)
	weigh := func(page int) float64 {
		got, err := k.Weight(w.urls[page].Partition, w.urls[page].Target.URL)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	settings := &crawl.Settings{Priority: "importance=1"}
	k.opts.Settings = func() *crawl.Settings { return settings }
	own, best := -1, 0.0
	for page := range w.urls {
		if n.where[w.urls[page].Partition] == "a" {
			if own = page; weigh(page) != 0 {
				t.Fatal("pages are weighed although none is visited again")
			}
		}
	}
	settings = &crawl.Settings{Priority: "importance=1", Recrawl: crawl.RecrawlAdaptive}
	for page := range own + 1 {
		if n.where[w.urls[page].Partition] != "a" {
			continue
		}
		got := weigh(page)
		if got < leastWeight || got > 1 {
			t.Errorf("a weight of %v", got)
		}
		best = max(best, got)
	}
	if best < 0.5 {
		t.Errorf("the best weight is %v", best)
	}
}
