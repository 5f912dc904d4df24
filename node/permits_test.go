package node

import (
	"math/rand/v2"
	"testing"
	"time"

	"crawlnode/crawl"
	"crawlnode/peer"
)

// granterOf is a node alone, whose granter is asked for purses of a model.
func granterOf(t *testing.T, limit int64) *running {
	t.Helper()
	c := testConfig(t, "granter")
	c.MaxPages = limit
	n := startNode(t, c)
	converged(t, 1, n)
	return n
}

func ask(t *testing.T, n *running, returned, wanted int64) *peer.PermitReply {
	t.Helper()
	r, err := handler{n.Node}.Permits(t.Context(), "n2", &peer.PermitRequest{Returned: returned, Wanted: wanted})
	if err != nil || r.Granted < 0 || r.Granted > max(wanted, 0) {
		t.Fatalf("asked for %d: %+v, %v", wanted, r, err)
	}
	return r
}

// Whatever purses ask for and give back, they never hold more than the limit.
// A granter alone believes that it knows every purse, so its count is kept from
// starting again: the limit is not reached by what it sees.
func TestGranterNeverExceedsTheLimit(t *testing.T) {
	t.Parallel()
	const limit = 500
	n := granterOf(t, limit)
	rng := rand.New(rand.NewPCG(1, 2))
	purses := make([]int64, 5)
	var pages, out int64
	for range 20000 {
		i := rng.IntN(len(purses))
		p := &purses[i]
		switch rng.IntN(4) {
		case 0: // pages
			k := rng.Int64N(*p + 1)
			*p, pages = *p-k, pages+k
		case 1: // give some back
			if out >= limit {
				continue
			}
			k := rng.Int64N(*p + 1)
			ask(t, n, k, 0)
			*p, out = *p-k, out-k
		default:
			if out >= limit {
				continue
			}
			r := ask(t, n, 0, rng.Int64N(100))
			*p, out = *p+r.Granted, out+r.Granted
			if r.Exhausted != (out >= limit) {
				t.Fatalf("%d of %d are out and the answer is %+v", out, limit, r)
			}
		}
		if out > limit || pages > limit {
			t.Fatalf("%d permits are out, %d became pages, the limit is %d", out, pages, limit)
		}
	}
	if out != limit {
		t.Errorf("only %d of %d permits were given", out, limit)
	}
	if r := ask(t, n, -100, -5); r.Granted != 0 {
		t.Errorf("a negative request: %+v", r)
	}
}

// Permits that nobody has any more are found by the next count.
func TestGranterCountsAgain(t *testing.T) {
	t.Parallel()
	n := granterOf(t, 100)
	if r := ask(t, n, 0, 64); r.Granted != 64 || r.Exhausted {
		t.Fatalf("%+v", r)
	}
	if r := ask(t, n, 0, 64); r.Granted != 36 || !r.Exhausted {
		t.Fatalf("%+v", r)
	}
	// The asker is no member: none of its 100 permits can become a page.
	if r := ask(t, n, 0, 64); r.Granted != 64 {
		t.Fatalf("%+v", r)
	}
	n.granter.acquired(time.Time{}, false)
	if r := ask(t, n, 0, 1); r.Granted != 0 || r.Error == "" {
		t.Fatalf("before the partition was acquired: %+v", r)
	}
}

func TestPurse(t *testing.T) {
	t.Parallel()
	n := granterOf(t, 10)
	p := n.purse
	if p.Take() {
		t.Fatal("a permit that nobody granted")
	}
	p.mu.Lock()
	p.unused = 2
	p.mu.Unlock()
	for i, want := range []bool{true, true, false} {
		if got := p.Take(); got != want {
			t.Fatalf("take %d of two permits: %v", i+1, got)
		}
	}
	p.Settle(false)
	p.Settle(true)
	p.Settle(false) // one too many changes nothing
	if in, _ := p.inHand(); in != 1 {
		t.Errorf("%d in hand after one was used and one was given back", in)
	}
	p.mu.Lock()
	p.calling = 5
	p.mu.Unlock()
	if in, _ := p.inHand(); in != 6 {
		t.Errorf("%d in hand, 5 of them in an open call", in)
	}

	free := startNode(t, testConfig(t, "free"))
	converged(t, 1, free)
	for range 100 {
		if !free.purse.Take() {
			t.Fatal("no permit without a limit")
		}
	}
	free.purse.Settle(true)
	free.purse.Settle(false)
	// A limit that is set now counts what is under way.
	if in, exhausted := free.purse.inHand(); in != 98 || exhausted || free.limitReached() {
		t.Errorf("without a limit: %d in hand, exhausted %v", in, exhausted)
	}
}

func word(boot crawl.Boot, activity uint64, pages, queued int64) idleWord {
	w := idleWord{Boot: boot, Idle: true, Activity: activity}
	w.Block.Counters.Pages, w.Block.Counters.Queued[3] = pages, queued
	return w
}

func TestRoundsAndVerdict(t *testing.T) {
	t.Parallel()
	type words = map[crawl.NodeID]idleWord
	a := words{"a": word(1, 5, 10, 0), "b": word(2, 6, 20, 0)}
	for _, c := range []struct {
		name string
		b    words
		same bool
	}{
		{"nothing happened", words{"a": word(1, 5, 10, 0), "b": word(2, 6, 20, 0)}, true},
		{"something happened", words{"a": word(1, 5, 10, 0), "b": word(2, 7, 20, 0)}, false},
		{"a restart", words{"a": word(1, 5, 10, 0), "b": word(3, 6, 20, 0)}, false},
		{"one left", words{"a": word(1, 5, 10, 0)}, false},
		{"another one", words{"a": word(1, 5, 10, 0), "c": word(2, 6, 20, 0)}, false},
		{"one more", words{"a": word(1, 5, 10, 0), "b": word(2, 6, 20, 0), "c": word(1, 1, 1, 0)}, false},
	} {
		if same(a, c.b) != c.same || same(c.b, a) != c.same {
			t.Errorf("%s: same is not %v", c.name, c.same)
		}
	}
	n := granterOf(t, 30)
	f := &finisher{n.Node}
	for _, c := range []struct {
		words words
		want  string
	}{
		{words{"a": word(1, 1, 0, 0)}, crawl.FinishExhausted},
		{words{"a": word(1, 1, 30, 0)}, crawl.FinishExhausted},
		{words{"a": word(1, 1, 20, 5), "b": word(1, 1, 10, 0)}, crawl.FinishMaxPages},
		{words{"a": word(1, 1, 20, 5), "b": word(1, 1, 9, 0)}, ""},
	} {
		if got := f.verdict(c.words); got != c.want {
			t.Errorf("%+v: %q, want %q", c.words, got, c.want)
		}
	}
}

// Who goes by newer settings than the granter gets nothing by the old limit.
func TestGranterThatHasNotHeardGrantsNothing(t *testing.T) {
	t.Parallel()
	n := granterOf(t, 500)
	until(t, patience, func() string { return ask(t, n, 0, 1).Error })
	own := stampOf(n.doc)
	for _, c := range []struct {
		rules   *peer.RulesStamp
		granted int64
	}{
		{own, 7},
		{&peer.RulesStamp{CrawlVersion: own.CrawlVersion, CrawlBy: own.CrawlBy + "z"}, 0},
		{&peer.RulesStamp{CrawlVersion: own.CrawlVersion + 1}, 0},
	} {
		r, err := handler{n.Node}.Permits(t.Context(), "n2", &peer.PermitRequest{Wanted: 7, Rules: c.rules})
		if err != nil || r.Granted != c.granted || (r.Error == "") != (c.granted > 0) {
			t.Errorf("by %+v, the granter by %+v: %+v, %v", c.rules, own, r, err)
		}
	}
}
