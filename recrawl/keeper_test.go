package recrawl

import (
	"context"
	"math"
	"testing"
	"time"

	"crawlnode/crawl"
	"crawlnode/frontier"
	"crawlnode/frontier/layout"
	"crawlnode/recrawl/visits"
)

// TestNothingBeforeItsTime checks that pages are moved when they are due, the earliest first, and
// that the loop wakes up for the next one.
func TestNothingBeforeItsTime(t *testing.T) {
	t.Parallel()
	b := newBench(t, 4, crawl.RecrawlFixed)
	for p := range crawl.Partition(4) {
		b.pages.add(p, "h", 1, time.Duration(p)*300*time.Millisecond+500*time.Millisecond)
	}
	if next := b.turnAt(0); b.pages.moves != 0 || next > 500*time.Millisecond+10 ||
		next < 499*time.Millisecond {
		t.Errorf("%d moved at the start, next turn in %v", b.pages.moves, next)
	}
	if f := b.Figures(); f.Waiting != 0 || !f.Next.Equal(b.pages.pages[0].at) ||
		b.Pending(start) != 0 || b.Pending(start.Add(time.Second)) != 1 {
		t.Errorf("figures %+v", f)
	}
	b.turnAt(850 * time.Millisecond)
	if !b.pages.pages[0].queued || !b.pages.pages[1].queued || b.pages.moves != 2 {
		t.Errorf("%d moved, want the two that are due", b.pages.moves)
	}
	block := b.Block(start.Add(time.Second), 2)
	if block.Due != 2 || block.NextDue == nil || *block.NextDue < 99*time.Millisecond ||
		*block.NextDue > 101*time.Millisecond {
		t.Errorf("block %+v", block)
	}
	// A page that is planned for an earlier time is seen without a look at the store.
	b.pages.add(3, "new", 1, 900*time.Millisecond)
	b.Replanned(3, nil, nil, start.Add(900*time.Millisecond))
	if len(b.wake) != 1 {
		t.Error("an earlier time does not wake the loop")
	}
	if next := b.turnAt(860 * time.Millisecond); next > 41*time.Millisecond {
		t.Errorf("next turn in %v", next)
	}
}

// TestATurnIsBounded checks that no more pages are in the queue at a time than the node visits in a
// moment, and that pages that wait there for their host hold up no others for long.
func TestATurnIsBounded(t *testing.T) {
	t.Parallel()
	b := newBench(t, 2, crawl.RecrawlFixed)
	b.pages.add(0, "slow", 100, 0)
	b.pages.add(1, "other", 100, 0)
	if next := b.turnAt(time.Second); b.pages.moves != leastAtOnce || next > againEvery {
		t.Fatalf("%d moved, next turn in %v", b.pages.moves, next)
	}
	if b.turnAt(time.Second + 100*time.Millisecond); b.pages.moves != leastAtOnce {
		t.Errorf("%d moved while %d wait", b.pages.moves, b.queued())
	}
	b.visit(10, 0)
	if b.turnAt(time.Second + 200*time.Millisecond); b.pages.moves != leastAtOnce+10 {
		t.Errorf("%d moved after 10 visits", b.pages.moves)
	}
	if b.turnAt(time.Second + ahead + 200*time.Millisecond); b.pages.moves < 2*leastAtOnce+10 {
		t.Errorf("%d moved after a while without visits", b.pages.moves)
	}
	if f := b.Figures(); f.Waiting == 0 || f.Late < time.Second {
		t.Errorf("figures %+v", f)
	}
}

// TestChecksArePlannedAnew checks that a page whose check comes before its visit stays, and needs
// no pay.
func TestChecksArePlannedAnew(t *testing.T) {
	t.Parallel()
	b := newBench(t, 1, crawl.RecrawlAdaptive)
	b.pages.add(0, "h", 40, 0)
	for _, x := range b.pages.pages {
		x.visit = false
	}
	b.pages.fresh["h"] = 100
	b.turnAt(time.Second)
	if b.pages.again != 40 || b.pages.moves != 0 || len(b.mover.recent.moved) != 0 {
		t.Errorf("%d planned anew, %d moved", b.pages.again, b.pages.moves)
	}
	if next := b.turnAt(2 * time.Second); next > lookEvery || b.pages.again != 40 {
		t.Errorf("next turn in %v, %d planned anew", next, b.pages.again)
	}
}

// TestAPartitionThatMoves checks that one that is held no more holds up no other, and that its
// pages are left alone.
func TestAPartitionThatMoves(t *testing.T) {
	t.Parallel()
	b := newBench(t, 3, crawl.RecrawlFixed)
	for p := range crawl.Partition(3) {
		b.pages.add(p, "h", 2, time.Second)
	}
	b.turnAt(0)
	b.pages.gone = 1 // the store refuses before the keeper hears of it
	b.turnAt(2 * time.Second)
	if b.pages.moves != 4 {
		t.Errorf("%d moved", b.pages.moves)
	}
	delete(b.pages.held, 1)
	b.HoldingsChanged()
	b.turnAt(3 * time.Second)
	if _, _, ok := b.mover.heads.first(); ok {
		t.Error("the partition's pages are still waited for")
	}
	b.pages.held[1], b.pages.gone = 2, 9
	b.HoldingsChanged()
	if b.turnAt(4 * time.Second); b.pages.moves != 6 {
		t.Errorf("%d moved after it came back", b.pages.moves)
	}
}

// TestModesChangeLive checks what a change of the settings does to the loop.
func TestModesChangeLive(t *testing.T) {
	t.Parallel()
	b := newBench(t, 2, crawl.RecrawlOff)
	b.pages.add(0, "h", 3, 0)
	b.pages.pages[1].known = false // done while revisits were off
	if next := b.turnAt(time.Second); b.pages.moves != 0 || next < time.Minute || b.Summary() != nil ||
		b.JudgeTerms().Rules.Mode != 0 {
		t.Errorf("off: %d moved, next turn in %v", b.pages.moves, next)
	}
	b.change(func(s *crawl.Settings) { s.Recrawl = crawl.RecrawlFixed })
	b.turnAt(2 * time.Second)
	if b.pages.moves != 2 || b.pages.first != 0 || b.Summary() != nil || b.Terms().Price != 0 ||
		b.Block(start, 0).Expected != nil {
		t.Errorf("fixed: %d moved, %d planned for the first time", b.pages.moves, b.pages.first)
	}
	b.turnAt(3 * time.Second)
	// what waits in d is planned anew after off
	if b.pages.moves != 2 || b.pages.first != 1 || b.pages.again != 1 {
		t.Errorf("fixed: %d moved, %d planned for the first time, %d planned anew", b.pages.moves,
			b.pages.first, b.pages.again)
	}
	b.visit(2, 0)
	b.change(func(s *crawl.Settings) { s.Recrawl = crawl.RecrawlAdaptive })
	b.turnAt(4 * time.Second)
	b.turnAt(5 * time.Second) // the pages are counted now
	if b.pages.again != 4 || b.Summary() == nil || !(b.Terms().Price > 0) ||
		b.Block(start, 0).Expected == nil {
		t.Errorf("adaptive: %d planned anew, %+v", b.pages.again, b.Terms())
	}
	if r := b.JudgeTerms(); !(r.Price > 0) || r.Rules.Mode != 2 || r != b.JudgeTerms() {
		t.Errorf("terms %+v", r)
	}
	b.change(func(s *crawl.Settings) { s.RecrawlInterval *= 2 })
	b.turnAt(6 * time.Second)
	if b.turnAt(7 * time.Second); b.pages.again != 7 {
		t.Errorf("another interval: %d planned anew", b.pages.again)
	}
	b.change(func(s *crawl.Settings) { s.RecrawlWorth = 0.2 })
	b.turnAt(8 * time.Second)
	if b.turnAt(9 * time.Second); b.pages.again != 10 || b.JudgeTerms().Rules.Bounds.Worth != 0.2 {
		t.Errorf("visits need another reason: %d planned anew", b.pages.again)
	}
	b.change(func(s *crawl.Settings) { s.RecrawlShare, s.RecrawlChanged = 0.1, crawl.RecrawlPayload })
	if b.turnAt(11 * time.Second); b.pages.again != 10 || b.JudgeTerms().Rules.Compare != 1 {
		t.Errorf("another share: %d planned anew", b.pages.again)
	}
	b.paused = true
	if b.turnAt(3 * time.Hour); b.pages.moves != 2 {
		t.Errorf("paused: %d moved", b.pages.moves)
	}
	b.paused = false
	b.change(func(s *crawl.Settings) { s.Recrawl = "" })
	if next := b.turnAt(3 * time.Hour); b.pages.moves != 2 || b.Summary() != nil ||
		b.Pending(start.Add(4*time.Hour)) != 0 || next < time.Minute {
		t.Errorf("off again: %d moved", b.pages.moves)
	}
}

// TestBlockOfRevisits checks what a node says of the visits of due pages that its judge has told it
// of.
func TestBlockOfRevisits(t *testing.T) {
	t.Parallel()
	b := newBench(t, 1, crawl.RecrawlAdaptive)
	b.pages.add(0, "h", 10, time.Hour)
	b.turnAt(time.Second)
	b.turnAt(2 * time.Second)
	if got := b.Block(start, 0); got.Recent != 0 || got.FreshPlanned != 0 || b.Expected() == nil ||
		*b.Expected() != *got.Expected {
		t.Errorf("before the first visit %+v", got)
	}
	b.Revisited(frontier.Revisit{
		Answered: true,
		Changed:  true,
		Copy:     visits.Copy{Fresh: 30, Planned: 60},
	})
	b.Revisited(frontier.Revisit{Answered: true, Copy: visits.Copy{Fresh: 30, Planned: 40}})
	b.Revisited(frontier.Revisit{Copy: visits.Copy{Fresh: 0, Planned: 20}}) // without an answer
	b.Revisited(frontier.Revisit{Answered: true})                           // of a page that was gone
	got := b.Block(start, 0)
	if got.Recent != 3 || got.Useful != 1 {
		t.Errorf("%d of %d found a change", got.Useful, got.Recent)
	}
	if !(got.FreshPlanned > 0 && got.FreshPlanned < 10) ||
		math.Abs(got.FreshKept/got.FreshPlanned-0.5) > 1e-9 {
		t.Errorf("%v of %v were kept", got.FreshKept, got.FreshPlanned)
	}
	if e := b.Expected(); e == nil || math.Abs(*e-*got.Expected/2) > 1e-9 {
		t.Errorf("%v is expected", e)
	}
}

// change gives the crawl other settings, as a new document does.
func (b *bench) change(f func(*crawl.Settings)) {
	s := b.settings
	f(&s)
	b.now, b.settings = &s, s
	b.Wake()
}

// TestStamps checks that the timelines go on while nothing changes.
func TestStamps(t *testing.T) {
	t.Parallel()
	b := newBench(t, 5, crawl.RecrawlFixed)
	for i := range 20 {
		b.turnAt(time.Duration(i) * time.Minute)
	}
	if b.pages.stamps != 10 {
		t.Errorf("%d stamps of 5 partitions in 20 minutes", b.pages.stamps)
	}
}

// TestRunEnds checks that Run waits for what it started, and ends with its context.
//
//race:meets
func TestRunEnds(t *testing.T) {
	t.Parallel()
	b := newBench(t, 1, crawl.RecrawlAdaptive)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- b.Run(ctx) }()
	b.Wake()
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	b.Replanned(0, nil, &frontier.Estimate{}, start)
}

// TestSettingsSweepEnds checks that a change of the settings plans each page anew once, also when
// there are more than one turn looks at.
func TestSettingsSweepEnds(t *testing.T) {
	t.Parallel()
	b := newBench(t, 2, crawl.RecrawlFixed)
	const n = 2*sweepOf + 100
	b.pages.add(1, "h", n, time.Hour)
	b.turnAt(0)
	b.change(func(s *crawl.Settings) { s.RecrawlInterval *= 2 })
	for i := range 20 {
		b.turnAt(time.Duration(i+1) * time.Second)
	}
	if b.sweep.busy() || b.pages.again != n {
		t.Errorf("%d of %d pages planned anew; busy %v", b.pages.again, n, b.sweep.busy())
	}
}

// TestSweepComesBackToAFrozenPartition checks that one that refuses while a move is tried is swept
// when it is held on, from where the sweep was, and holds up no other.
func TestSweepComesBackToAFrozenPartition(t *testing.T) {
	t.Parallel()
	b := newBench(t, 3, crawl.RecrawlOff)
	for p := range crawl.Partition(3) {
		b.pages.add(p, "h", sweepOf+1, time.Hour)
	}
	for _, x := range b.pages.pages {
		x.known = x.number%2 == 0
	}
	b.turnAt(0)
	b.change(func(s *crawl.Settings) { s.Recrawl = crawl.RecrawlFixed })
	b.pages.frozen = 1
	all := len(b.pages.pages)
	turns := func(from, n int) {
		for i := range n {
			b.turnAt(time.Duration(from+i) * time.Second)
		}
	}
	turns(1, 1)
	if b.pages.first != 0 {
		t.Errorf("%d planned while visits of before the change may be under way", b.pages.first)
	}
	if turns(2, 12); b.pages.first < all/3-2 || !b.sweep.busy() {
		t.Errorf("%d planned for the first time while one of three is frozen; busy %v", b.pages.first,
			b.sweep.busy())
	}
	b.pages.frozen = layout.MaxPartition
	if turns(14, 12); b.pages.first != all/2 || b.sweep.busy() {
		t.Errorf("%d of %d planned for the first time; busy %v", b.pages.first, all/2, b.sweep.busy())
	}
	for _, x := range b.pages.pages { // the others got their first plan by the new settings
		if x.number%2 == 0 && x.at.Before(start.Add(time.Hour+time.Second)) {
			t.Fatalf("page %d was not planned anew", x.number)
		}
	}
	// One that has gone for good is dropped.
	b.change(func(s *crawl.Settings) { s.RecrawlInterval *= 2 })
	b.pages.frozen = 1
	turns(30, 12)
	delete(b.pages.held, 1)
	b.HoldingsChanged()
	if turns(42, 2); b.sweep.busy() {
		t.Error("a partition that has gone is waited for")
	}
}
