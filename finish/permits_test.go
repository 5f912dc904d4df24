package finish

import (
	"math/rand/v2"
	"testing"
	"time"

	"crawlnode/crawl"
	"crawlnode/peer"
)

func ask(t *testing.T, p *Permits, returned, wanted int64) *peer.PermitReply {
	t.Helper()
	r := p.Serve(&peer.PermitRequest{Returned: returned, Wanted: wanted})
	if r.Granted < 0 || r.Granted > max(wanted, 0) {
		t.Fatalf("asked for %d: %+v", wanted, r)
	}
	return r
}

// Whatever nodes request and return, they never hold more than the limit. A lone granter assumes
// that it knows every permit, so its count is kept from starting again: it does not see that the
// limit is reached.
func TestGranterNeverExceedsTheLimit(t *testing.T) {
	t.Parallel()
	const limit = 500
	p := permitsOf(newFake(limit))
	rng := rand.New(rand.NewPCG(1, 2))
	nodes := make([]int64, 5) // permits in hand of each
	var pages, out int64
	for range 20000 {
		i := rng.IntN(len(nodes))
		has := &nodes[i]
		switch rng.IntN(4) {
		case 0: // pages
			k := rng.Int64N(*has + 1)
			*has, pages = *has-k, pages+k
		case 1: // give some back
			if out >= limit {
				continue
			}
			k := rng.Int64N(*has + 1)
			ask(t, p, k, 0)
			*has, out = *has-k, out-k
		default:
			if out >= limit {
				continue
			}
			r := ask(t, p, 0, rng.Int64N(100))
			*has, out = *has+r.Granted, out+r.Granted
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
	if r := ask(t, p, -100, -5); r.Granted != 0 {
		t.Errorf("a negative request: %+v", r)
	}
}

// Permits that no node holds any more are found by the next count.
func TestGranterCountsAgain(t *testing.T) {
	t.Parallel()
	n := newFake(100)
	p := permitsOf(n)
	if r := ask(t, p, 0, 64); r.Granted != 64 || r.Exhausted {
		t.Fatalf("%+v", r)
	}
	if r := ask(t, p, 0, 64); r.Granted != 36 || !r.Exhausted {
		t.Fatalf("%+v", r)
	}
	// The requesting node is not a member: none of its 100 permits can become a page.
	if r := ask(t, p, 0, 64); r.Granted != 64 {
		t.Fatalf("%+v", r)
	}
	p.Acquired(time.Time{}, false)
	if r := ask(t, p, 0, 1); r.Granted != 0 || r.Error == "" {
		t.Fatalf("before the partition was acquired: %+v", r)
	}
	n.grants = false
	if r := ask(t, p, 0, 1); r.Granted != 0 || r.Error == "" {
		t.Fatalf("without partition 0: %+v", r)
	}
}

// TestCount checks that nothing is granted before every member has reported, after the acquisition,
// in this view and with the newest limit, and before all partitions are held, and that the pages
// and permits of all are then counted.
func TestCount(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change func(n *fakeNode, r *Report)
		want   bool
	}{
		"all have reported": {func(*fakeNode, *Report) {}, true},
		"before the acquisition": {
			func(_ *fakeNode, r *Report) { r.MadeAfter = r.MadeAfter.Add(-time.Hour) }, false},
		"an earlier boot":      {func(_ *fakeNode, r *Report) { r.Block.Boot = 0 }, false},
		"an earlier view":      {func(_ *fakeNode, r *Report) { r.Block.View = 1 }, false},
		"by an older document": {func(_ *fakeNode, r *Report) { r.Block.Document = 5 }, false},
		"a partition moves there": {func(_ *fakeNode, r *Report) { r.Block.Handoff.Active = true },
			false},
		"a partition moves here": {func(n *fakeNode, _ *Report) { n.moving = true }, false},
		"one is being taken over": {func(_ *fakeNode, r *Report) { *r.Block.Node.Partitions.Held = 1 },
			false},
		"one is held by both": {func(_ *fakeNode, r *Report) { *r.Block.Node.Partitions.Held = 3 },
			false},
		"by an older program": {func(_ *fakeNode, r *Report) { r.Block.Node.Partitions.Held = nil },
			false},
		"nothing": {func(n *fakeNode, _ *Report) { n.view = viewOf("a", "c") }, false},
	} {
		n := newFake(200)
		n.view = viewOf("a", "b")
		n.totals.Pages = 10
		two, alsoTwo := 2, 2
		n.block.Node.Partitions.Held = &two
		p := NewPermits(n.options())
		p.FollowLimit(n.setLimit(100)) // which members must know of
		p.Acquired(time.Now(), false)
		r := Report{
			MadeAfter: time.Now().Add(time.Minute),
			Block:     crawl.NodeBlock{Boot: 1, View: 2, Document: 6, PermitsInHand: 30},
		}
		r.Block.Counters.Pages = 20
		r.Block.Node.Partitions.Held = &alsoTwo
		tc.change(n, &r)
		n.reports = map[crawl.NodeID]Report{"b": r}
		got := ask(t, p, 0, 64)
		switch {
		case tc.want && (got.Granted != 40 || !got.Exhausted):
			t.Errorf("%s: %+v, want the 40 that are left", name, got)
		case !tc.want && (got.Granted != 0 || got.Error == ""):
			t.Errorf("%s: %+v, want an error", name, got)
		}
	}
}

func TestPermits(t *testing.T) {
	t.Parallel()
	p := permitsOf(newFake(10))
	if p.Take() {
		t.Fatal("a permit that nobody granted")
	}
	p.unused = 2
	for i, want := range []bool{true, true, false} {
		if got := p.Take(); got != want {
			t.Fatalf("take %d of two permits: %v", i+1, got)
		}
	}
	p.Done(false)
	p.Done(true)
	p.Done(false) // one too many changes nothing
	if in, _ := p.InHand(); in != 1 {
		t.Errorf("%d in hand after one was used and one was given back", in)
	}
	p.calling = 5
	if in, _ := p.InHand(); in != 6 {
		t.Errorf("%d in hand, 5 of them in an open call", in)
	}

	free := permitsOf(newFake(0))
	for range 100 {
		if !free.Take() {
			t.Fatal("no permit without a limit")
		}
	}
	free.Done(true)
	free.Done(false)
	// A limit set now counts the open visits.
	if in, exhausted := free.InHand(); in != 98 || exhausted || free.LimitReached() {
		t.Errorf("without a limit: %d in hand, exhausted %v", in, exhausted)
	}
}

// Permits of an excluded node are void: unused ones, those that open visits would return, and those
// of an answer that was on its way.
func TestPermitsLapse(t *testing.T) {
	t.Parallel()
	n := newFake(100)
	p := permitsOf(n)
	p.unused = 3
	p.Take()
	p.Lapse()
	if left, _ := p.InHand(); left != 1 {
		t.Fatalf("%d permits are in hand, want that of the running visit", left)
	}
	p.Done(false)
	if left, _ := p.InHand(); left != 0 || p.Take() {
		t.Fatalf("%d permits came back after they had lapsed", left)
	}
	n.grants, n.totals.Queued[0] = false, 9
	n.granter = func(*peer.PermitRequest) (*peer.PermitReply, error) {
		p.Lapse()
		return &peer.PermitReply{Granted: 9}, nil
	}
	if got := p.ask(t.Context()); got || p.Take() {
		t.Fatal("permits came with an answer that was on its way")
	}
}

// TestAskPermits checks that a node requests the permits that it can use and returns the others.
func TestAskPermits(t *testing.T) {
	t.Parallel()
	n := newFake(100)
	n.grants = false
	p := permitsOf(n)
	var asked *peer.PermitRequest
	var inCall int64
	reply := &peer.PermitReply{Granted: 7}
	n.granter = func(r *peer.PermitRequest) (*peer.PermitReply, error) {
		asked = r
		inCall, _ = p.InHand()
		return reply, nil
	}
	n.totals.Queued[2] = 7
	if !p.ask(t.Context()) || asked.Wanted != 7 || asked.Returned != 0 ||
		asked.Rules.CrawlVersion != 5 || inCall != 7 || n.wakes != 1 {
		t.Errorf("7 are queued: asked %+v, %d in hand meanwhile, %d wakes", asked, inCall, n.wakes)
	}
	n.totals.Queued[2] = 1000
	reply = &peer.PermitReply{Exhausted: true}
	if p.ask(t.Context()) || asked.Wanted != permitBlock-7 || p.LimitReached() {
		t.Errorf("1000 are queued and 7 are here: asked %+v, limit reached %v", asked, p.LimitReached())
	}
	n.totals.Queued[2] = 0
	reply = &peer.PermitReply{Error: "not now"}
	if p.ask(t.Context()) || asked.Returned != 7 || asked.Wanted != 0 {
		t.Errorf("nothing is queued: asked %+v", asked)
	}
	if in, _ := p.InHand(); in != 7 {
		t.Errorf("%d in hand after a refused return, want 7", in)
	}
	reply = &peer.PermitReply{Exhausted: true}
	p.ask(t.Context())
	if in, _ := p.InHand(); in != 0 || !p.LimitReached() {
		t.Errorf("%d in hand after a return, limit reached %v", in, p.LimitReached())
	}
}

// TestFollowLimit checks that a new or lowered limit makes unused permits void and restarts the
// count, and that a raised or removed one does not.
func TestFollowLimit(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		before, after int64
		changed, void bool
	}{{100, 100, false, false}, {100, 50, true, true}, {100, 200, true, false}, {100, 0, true, false},
		{0, 100, true, true}} {
		n := newFake(tc.before)
		p := permitsOf(n)
		p.unused = 3
		if got := p.FollowLimit(n.setLimit(tc.after)); got != tc.changed {
			t.Errorf("%d to %d: changed is %v", tc.before, tc.after, got)
		}
		if in, _ := p.InHand(); (in == 0) != tc.void {
			t.Errorf("%d to %d: %d in hand", tc.before, tc.after, in)
		}
		if since, document := p.granter.basis(); since.After(time.Now()) != tc.void ||
			(document == 6) != tc.void {
			t.Errorf("%d to %d: what counts is made after %v by document %d", tc.before, tc.after, since,
				document)
		}
		if len(p.look) == 1 != tc.changed {
			t.Errorf("%d to %d: looked for more is %v", tc.before, tc.after, len(p.look) == 1)
		}
	}
}

// A node with newer settings than the granter gets no permits under the old limit.
func TestGranterThatHasNotHeardGrantsNothing(t *testing.T) {
	t.Parallel()
	n := newFake(500)
	p := permitsOf(n)
	own := n.rules()
	for _, c := range []struct {
		rules   *peer.RulesStamp
		granted int64
	}{
		{own, 7},
		{&peer.RulesStamp{CrawlVersion: own.CrawlVersion, CrawlBy: own.CrawlBy + "z"}, 0},
		{&peer.RulesStamp{CrawlVersion: own.CrawlVersion + 1}, 0},
	} {
		r := p.Serve(&peer.PermitRequest{Wanted: 7, Rules: c.rules})
		if r.Granted != c.granted || (r.Error == "") != (c.granted > 0) {
			t.Errorf("by %+v, the granter by %+v: %+v", c.rules, own, r)
		}
	}
}
