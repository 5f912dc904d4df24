package node

import (
	"testing"

	"crawlnode/crawl"
	"crawlnode/frontier"
	"crawlnode/membership"
	"crawlnode/peer"
	"crawlnode/web/urlnorm"
)

// idleWords are what the members of a view say when all are idle and hold each.
func idleWords(v *membership.View, each int) map[crawl.NodeID]idleWord {
	words := map[crawl.NodeID]idleWord{}
	for _, m := range v.Members {
		w := idleWord{Boot: m.Boot, Idle: true, Activity: 7}
		w.Block.Node.Partitions.Held = &each
		words[m.ID] = w
	}
	return words
}

// TestRounds checks that the end needs two rounds in a row in which nothing has happened:
// a link that was on its way in the first one makes somebody active before the second.
func TestRounds(t *testing.T) {
	quiet := func() map[crawl.NodeID]idleWord { return idleWords(viewOf(3), 4) }
	with := func(change func(*idleWord)) map[crawl.NodeID]idleWord {
		words := quiet()
		w := words["b"]
		change(&w)
		words["b"] = w
		return words
	}
	type round struct {
		view  crawl.Epoch
		words map[crawl.NodeID]idleWord
	}
	for name, tc := range map[string]struct {
		rounds []round
		want   []bool
	}{
		"quiet":                     {[]round{{3, quiet()}, {3, quiet()}}, []bool{false, true}},
		"each end needs two":        {[]round{{3, quiet()}, {3, quiet()}, {3, quiet()}, {3, quiet()}}, []bool{false, true, false, true}},
		"somebody was busy between": {[]round{{3, quiet()}, {3, nil}, {3, quiet()}, {3, quiet()}}, []bool{false, false, false, true}},
		"something happened":        {[]round{{3, quiet()}, {3, with(func(w *idleWord) { w.Activity++ })}}, []bool{false, false}},
		"somebody was started anew": {[]round{{3, quiet()}, {3, with(func(w *idleWord) { w.Boot++ })}}, []bool{false, false}},
		"another view":              {[]round{{3, quiet()}, {4, quiet()}, {4, quiet()}}, []bool{false, false, true}},
		"one is gone":               {[]round{{3, quiet()}, {3, idleWords(viewOf(2), 6)}}, []bool{false, false}},
	} {
		var r rounds
		for i, o := range tc.rounds {
			if got := r.agree(o.view, o.words); got != tc.want[i] {
				t.Errorf("%s: round %d: %v, want %v", name, i+1, got, tc.want[i])
			}
		}
	}
}

// TestAllIdle checks that no round counts while somebody is away, works, or holds less
// than there is: the links of a partition that nobody serves wait elsewhere.
func TestAllIdle(t *testing.T) {
	v := viewOf(3)
	for name, tc := range map[string]struct {
		change func(map[crawl.NodeID]idleWord)
		want   bool
	}{
		"all":                       {func(map[crawl.NodeID]idleWord) {}, true},
		"one is silent":             {func(w map[crawl.NodeID]idleWord) { delete(w, "c") }, false},
		"one works":                 {func(w map[crawl.NodeID]idleWord) { w["c"] = changed(w["c"], func(x *idleWord) { x.Idle = false }) }, false},
		"one was started anew":      {func(w map[crawl.NodeID]idleWord) { w["c"] = changed(w["c"], func(x *idleWord) { x.Boot++ }) }, false},
		"a partition is on its way": {func(w map[crawl.NodeID]idleWord) { w["c"] = thatHolds(w["c"], 3) }, false},
		"a partition is held twice": {func(w map[crawl.NodeID]idleWord) { w["c"] = thatHolds(w["c"], 5) }, false},
	} {
		words := idleWords(v, 4)
		tc.change(words)
		if got := allIdle(v.Members, words, 12); got != tc.want {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
}

func changed(w idleWord, change func(*idleWord)) idleWord {
	change(&w)
	return w
}

func thatHolds(w idleWord, n int) idleWord {
	w.Block.Node.Partitions.Held = &n
	return w
}

// TestEntitled checks that nothing is fetched without a lease, and that what was held before an exclusion is not fetched after it, also
// while it stands in the store yet.
func TestEntitled(t *testing.T) {
	v := viewOf(3) // c joined with view 3
	held := frontier.Meta{State: frontier.Holder, Epoch: 3}
	for name, tc := range map[string]struct {
		view   *membership.View
		boot   crawl.Boot
		change func(*frontier.Meta)
		want   bool

		unleased bool
	}{
		"held since it joined":        {v, 1, func(*frontier.Meta) {}, true, false},
		"without a lease":             {v, 1, func(*frontier.Meta) {}, false, true},
		"held from before":            {v, 1, func(m *frontier.Meta) { m.Epoch = 2 }, false, false},
		"a copy":                      {v, 1, func(m *frontier.Meta) { m.State = frontier.Copy }, false, false},
		"another boot is the member":  {v, 2, func(*frontier.Meta) {}, false, false},
		"no member":                   {viewOf(2), 1, func(*frontier.Meta) {}, false, false},
		"no view was ever installed":  {nil, 1, func(*frontier.Meta) {}, false, false},
		"a copy that is nobody's yet": {v, 1, func(m *frontier.Meta) { *m = frontier.Meta{} }, false, false},
	} {
		m := held
		tc.change(&m)
		if got := entitled(!tc.unleased, tc.view, "c", tc.boot, &m); got != tc.want {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
}

// TestPromise checks that no sender hears that a link is kept before its replicas have it.
func TestPromise(t *testing.T) {
	for _, a := range []frontier.Admission{frontier.Added, frontier.Known, frontier.NotHolder} {
		if got := promiseOf(a, false); got != peer.Verdict_VERDICT_NOT_HOLDER {
			t.Errorf("%v, and not safe: %v is promised", a, got)
		}
	}
	if got := promiseOf(frontier.Added, true); got != peer.Verdict_VERDICT_ADDED {
		t.Errorf("safe: %v", got)
	}
	if got := promiseOf(frontier.NotHolder, true); got != peer.Verdict_VERDICT_NOT_HOLDER {
		t.Errorf("not held: %v", got)
	}
}

// TestTaken checks that a link stays in its outbox until its owner has answered for it.
func TestTaken(t *testing.T) {
	link := func(text string) crawl.Routed {
		u, err := urlnorm.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		return crawl.Routed{Target: crawl.Target{URL: u}}
	}
	a, b := link("http://a.test/"), link("http://b.test/")
	entries := []frontier.OutboxEntry{{Routed: a}, {Routed: b}}
	for _, tc := range []struct {
		left []crawl.Routed
		want int
	}{{nil, 2}, {[]crawl.Routed{a}, 1}, {[]crawl.Routed{a, b}, 0}} {
		done := taken(entries, tc.left)
		if len(done) != tc.want {
			t.Errorf("%d of 2 were left: %d are taken", len(tc.left), len(done))
		}
		if len(done) == 1 && done[0].Routed.Target.URL != b.Target.URL {
			t.Error("the wrong one is taken")
		}
	}
}
