package finish

import (
	"encoding/json"
	"testing"
	"time"

	"crawlnode/crawl"
	"crawlnode/membership"
	"crawlnode/peer"
	"crawlnode/settings/crawldoc"
)

// answersOf are the answers of the members of a view when all are idle and hold each partitions.
func answersOf(v *membership.View, each int) map[crawl.NodeID]answer {
	answers := map[crawl.NodeID]answer{}
	for _, m := range v.Members {
		a := answer{Boot: m.Boot, Idle: true, Activity: 7}
		a.Block.Node.Partitions.Held = &each
		answers[m.ID] = a
	}
	return answers
}

// TestRounds checks that the end needs two rounds in a row without activity: a link on its way
// during the first one makes a member active before the second.
func TestRounds(t *testing.T) {
	t.Parallel()
	quiet := func() map[crawl.NodeID]answer { return answersOf(viewOf("a", "b", "c"), 4) }
	with := func(change func(*answer)) map[crawl.NodeID]answer {
		answers := quiet()
		answers["b"] = changed(answers["b"], change)
		return answers
	}
	type round struct {
		view    crawl.Epoch
		answers map[crawl.NodeID]answer
	}
	for name, tc := range map[string]struct {
		rounds []round
		want   []bool
	}{
		"quiet": {[]round{{3, quiet()}, {3, quiet()}}, []bool{false, true}},
		"each end needs two": {[]round{{3, quiet()}, {3, quiet()}, {3, quiet()}, {3, quiet()}},
			[]bool{false, true, false, true}},
		"somebody was busy between": {[]round{{3, quiet()}, {3, nil}, {3, quiet()}, {3, quiet()}},
			[]bool{false, false, false, true}},
		"something happened": {[]round{{3, quiet()}, {3, with(func(a *answer) { a.Activity++ })}},
			[]bool{false, false}},
		"one was restarted": {[]round{{3, quiet()}, {3, with(func(a *answer) { a.Boot++ })}},
			[]bool{false, false}},
		"another view": {[]round{{3, quiet()}, {4, quiet()}, {4, quiet()}}, []bool{false, false, true}},
		"one is gone": {[]round{{3, quiet()}, {3, answersOf(viewOf("a", "b"), 6)}},
			[]bool{false, false}},
	} {
		var r rounds
		for i, o := range tc.rounds {
			if got := r.agree(o.view, o.answers); got != tc.want[i] {
				t.Errorf("%s: round %d: %v, want %v", name, i+1, got, tc.want[i])
			}
		}
	}
}

// TestAllIdle checks that no round counts while a member is away, works, or holds too few
// partitions: the links of a partition without a holder wait elsewhere.
func TestAllIdle(t *testing.T) {
	t.Parallel()
	v := viewOf("a", "b", "c")
	for name, tc := range map[string]struct {
		change func(map[crawl.NodeID]answer)
		want   bool
	}{
		"all":           {func(map[crawl.NodeID]answer) {}, true},
		"one is silent": {func(a map[crawl.NodeID]answer) { delete(a, "c") }, false},
		"one works": {
			func(a map[crawl.NodeID]answer) { a["c"] = changed(a["c"], func(x *answer) { x.Idle = false }) },
			false,
		},
		"one was restarted": {
			func(a map[crawl.NodeID]answer) { a["c"] = changed(a["c"], func(x *answer) { x.Boot++ }) },
			false,
		},
		"a partition is on its way": {func(a map[crawl.NodeID]answer) { a["c"] = thatHolds(a["c"], 3) },
			false},
		"a partition is held twice": {func(a map[crawl.NodeID]answer) { a["c"] = thatHolds(a["c"], 5) },
			false},
	} {
		answers := answersOf(v, 4)
		tc.change(answers)
		if got := allIdle(v.Members, answers, 12); got != tc.want {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
}

func changed(a answer, change func(*answer)) answer {
	change(&a)
	return a
}

func thatHolds(a answer, n int) answer {
	a.Block.Node.Partitions.Held = &n
	return a
}

func answerOf(boot crawl.Boot, activity uint64, pages, queued int64) answer {
	a := answer{Boot: boot, Idle: true, Activity: activity}
	a.Block.Counters.Pages, a.Block.Counters.Queued[3] = pages, queued
	return a
}

func TestSame(t *testing.T) {
	t.Parallel()
	type answers = map[crawl.NodeID]answer
	a := answers{"a": answerOf(1, 5, 10, 0), "b": answerOf(2, 6, 20, 0)}
	for _, c := range []struct {
		name string
		b    answers
		same bool
	}{
		{"nothing happened", answers{"a": answerOf(1, 5, 10, 0), "b": answerOf(2, 6, 20, 0)}, true},
		{"something happened", answers{"a": answerOf(1, 5, 10, 0), "b": answerOf(2, 7, 20, 0)}, false},
		{"a restart", answers{"a": answerOf(1, 5, 10, 0), "b": answerOf(3, 6, 20, 0)}, false},
		{"one left", answers{"a": answerOf(1, 5, 10, 0)}, false},
		{"another one", answers{"a": answerOf(1, 5, 10, 0), "c": answerOf(2, 6, 20, 0)}, false},
		{"one more", answers{"a": answerOf(1, 5, 10, 0), "b": answerOf(2, 6, 20, 0), "c": answerOf(1, 1, 1, 0)}, false},
	} {
		if same(a, c.b) != c.same || same(c.b, a) != c.same {
			t.Errorf("%s: same is not %v", c.name, c.same)
		}
	}
}

func TestVerdict(t *testing.T) {
	t.Parallel()
	type answers = map[crawl.NodeID]answer
	for _, c := range []struct {
		answers answers
		want    string
	}{
		{answers{"a": answerOf(1, 1, 0, 0)}, crawl.FinishExhausted},
		{answers{"a": answerOf(1, 1, 30, 0)}, crawl.FinishExhausted},
		{answers{"a": answerOf(1, 1, 20, 5), "b": answerOf(1, 1, 10, 0)}, crawl.FinishMaxPages},
		{answers{"a": answerOf(1, 1, 20, 5), "b": answerOf(1, 1, 9, 0)}, ""},
	} {
		if got := verdict(c.answers, &crawl.Settings{MaxPages: 30}); got != c.want {
			t.Errorf("%+v: %q, want %q", c.answers, got, c.want)
		}
	}
}

// TestVerdictWithRevisits checks that a crawl that visits known pages again ends by its limit only.
func TestVerdictWithRevisits(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pages, queued, limit int64
		want                 string
	}{
		{30, 0, 0, waits},
		{29, 0, 30, waits},
		{30, 0, 30, crawl.FinishMaxPages},
		{30, 5, 30, crawl.FinishMaxPages},
		{29, 5, 30, ""},
	} {
		answers := map[crawl.NodeID]answer{"a": answerOf(1, 1, c.pages, c.queued)}
		if got := verdict(answers, &crawl.Settings{
			MaxPages: c.limit,
			Recrawl:  crawl.RecrawlFixed,
		}); got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
}

// TestWaits checks that two rounds make the crawl wait, that a due page ends that with the next
// round, and that the crawl ends when revisits are turned off.
func TestWaits(t *testing.T) {
	t.Parallel()
	n := newFake(0)
	n.doc.Settings.Recrawl = crawl.RecrawlAdaptive
	f := New(n.options(), permitsOf(n))
	var last rounds
	judge := func() bool {
		t.Helper()
		if err := f.judge(t.Context(), &last); err != nil {
			t.Fatal(err)
		}
		return f.Waiting()
	}
	if judge() || !judge() || !judge() || n.doc.State != crawl.CrawlRunning {
		t.Errorf("waiting %v, document %s after three quiet rounds", f.Waiting(), n.doc.State)
	}
	n.work.Due = 1
	if judge() {
		t.Error("it waits although a page is due")
	}
	n.work.Due = 0
	if judge() || !judge() {
		t.Errorf("waiting %v after the visit", f.Waiting())
	}
	n.doc.Settings.Recrawl = crawl.RecrawlOff
	if judge(); judge() || n.doc.State != crawl.CrawlFinished ||
		n.doc.Reason != crawl.FinishExhausted {
		t.Errorf("%s (%s) without revisits", n.doc.State, n.doc.Reason)
	}
}

func TestTimeIsUp(t *testing.T) {
	t.Parallel()
	begun := time.Now()
	d := &crawldoc.Document{State: crawl.CrawlRunning, RunSince: &begun, RanFor: time.Minute}
	for _, c := range []struct {
		limit time.Duration
		after time.Duration
		want  string
	}{{0, time.Hour, ""}, {2 * time.Minute, 59 * time.Second, ""},
		{2 * time.Minute, time.Minute, crawl.FinishMaxDuration}} {
		d.Settings.MaxDuration = c.limit
		if got := timeIsUp(d, begun.Add(c.after)); got != c.want {
			t.Errorf("limit %v, a minute and %v: %q, want %q", c.limit, c.after, got, c.want)
		}
	}
}

// TestWhyNotIdle checks that each kind of work keeps a node from being idle, and that URLs held
// back by the page limit do not.
func TestWhyNotIdle(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		change func(*Work)
		want   string
	}{
		{func(*Work) {}, ""},
		{func(w *Work) { w.Joined = false }, "it has not joined yet"},
		{func(w *Work) { w.Fetches = 2 }, "2 fetches are open"},
		{func(w *Work) { w.Moving = 1 }, "1 partition is moving"},
		{func(w *Work) { w.Leased = false }, "it has no lease"},
		{func(w *Work) { w.SeedLists = 1 }, "1 list of seeds is being stored"},
		{func(w *Work) { w.Outbox = 3 }, "3 links wait in the outbox"},
		{func(w *Work) { w.Queued = 4 }, "4 URLs are queued"},
		{func(w *Work) { w.Queued, w.LimitReached = 4, true }, ""},
		{func(w *Work) { w.Due = 5 }, "5 known pages are due"},
		{func(w *Work) { w.Due, w.LimitReached = 5, true }, ""},
		{func(w *Work) { w.Outbox, w.LimitReached = 3, true }, "3 links wait in the outbox"},
	} {
		w := Work{Joined: true, Leased: true}
		c.change(&w)
		if got := w.WhyNotIdle(); got != c.want {
			t.Errorf("%+v: %q, want %q", w, got, c.want)
		}
	}
}

// TestLowestAsks checks that one member asks, the lowest that gossip reaches, and only while the
// crawl runs.
func TestLowestAsks(t *testing.T) {
	t.Parallel()
	n := newFake(0)
	f := New(n.options(), permitsOf(n))
	n.view = viewOf("a", "b")
	if !f.asks() {
		t.Error("a does not ask b")
	}
	n.view = viewOf("A", "a")
	if f.asks() {
		t.Error("a asks A")
	}
	n.unreachable = "A"
	if !f.asks() {
		t.Error("a does not ask for A, which cannot be reached")
	}
	n.doc.State = crawl.CrawlPaused
	if f.asks() {
		t.Error("a asks in a pause")
	}
}

// TestEndIsTold checks that the end reaches another node: state, reason and the totals of all.
func TestEndIsTold(t *testing.T) {
	t.Parallel()
	a, b := newFake(0), newFake(0)
	a.view, b.view = viewOf("a", "b"), viewOf("a", "b")
	two := 2
	a.block.Node.Partitions.Held, b.block.Node.Partitions.Held = &two, &two
	b.block.Counters.Pages = 17
	other := New(b.options(), permitsOf(b))
	a.answerer = func(_ membership.Member, r *peer.IdleRequest) (*peer.IdleReply, error) {
		if ended := a.Current().Doc.State == crawl.CrawlFinished; ended &&
			(a.taken == nil || b.taken == nil) {
			t.Errorf("the crawl has ended, and a renewal may say so, while a has the blocks %+v, b %+v",
				a.taken, b.taken)
		}
		return other.Serve(r)
	}
	f := New(a.options(), permitsOf(a))

	answers := f.round(t.Context(), 2)
	if len(answers) != 2 || answers["b"].Block.Counters.Pages != 17 {
		t.Fatalf("a round of two idle nodes: %+v", answers)
	}
	if f.round(t.Context(), 3) != nil {
		t.Error("an answer from another view counts")
	}
	b.work.Outbox = 1
	if f.round(t.Context(), 2) != nil {
		t.Error("a round counts while b has links to send")
	}
	if err := f.end(t.Context(), crawl.FinishExhausted, answers); err != nil {
		t.Fatal(err)
	}
	for name, n := range map[string]*fakeNode{"a": a, "b": b} {
		d := n.Current().Doc
		if d.State != crawl.CrawlFinished || d.Reason != crawl.FinishExhausted || d.By != "a" ||
			n.changed != 1 || n.taken["b"].Counters.Pages != 17 {
			t.Errorf("%s: %s (%s) by %s, %d changes, blocks %+v", name, d.State, d.Reason, d.By, n.changed,
				n.taken)
		}
	}
	if err := f.end(t.Context(), crawl.FinishExhausted, answers); err != nil || a.changed != 1 {
		t.Errorf("a second end: %v, %d changes", err, a.changed)
	}

	// A renewal may bring the document first: the blocks are accepted all the same.
	b.taken = nil
	raw, err := json.Marshal(note{Document: a.doc, Blocks: map[crawl.NodeID]crawl.NodeBlock{"a": {}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := other.takeEnd(raw); err != nil || len(b.taken) != 1 || b.changed != 1 {
		t.Errorf("the same end again: %v, blocks %+v, %d changes", err, b.taken, b.changed)
	}
	if err := other.takeEnd([]byte("{}")); err == nil {
		t.Error("an end without a document is taken")
	}
}
