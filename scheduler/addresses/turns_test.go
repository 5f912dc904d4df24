//race:none

package addresses

import (
	"net/netip"
	"testing"
	"time"

	"crawlnode/crawl"
)

// pair is two tables; partition 0 is held by whom holder says.
type pair struct {
	t      *testing.T
	now    time.Duration
	a, b   *Table
	holder Member
	known  bool
	may    bool
	idle   map[Member]bool // it does not crawl
	gap    time.Duration
}

var (
	memberA = Member{"a", 1}
	memberB = Member{"b", 2}
	theIP   = netip.MustParseAddr("192.0.2.1")
)

func newPair(t *testing.T) *pair {
	p := &pair{
		t:      t,
		now:    time.Hour,
		holder: memberA,
		known:  true,
		may:    true,
		idle:   map[Member]bool{},
		gap:    200 * time.Millisecond,
	}
	p.a, p.b = New(memberA, pairNode{p, memberA}), New(memberB, pairNode{p, memberB})
	return p
}

// pairNode is one node of a pair.
type pairNode struct {
	*pair
	self Member
}

func (pairNode) Partition(netip.Addr) crawl.Partition    { return 0 }
func (n pairNode) Gap(netip.Addr) time.Duration          { return n.gap }
func (n pairNode) Holder(crawl.Partition) (Member, bool) { return n.holder, n.known }
func (n pairNode) Crawls() bool                          { return !n.idle[n.self] }
func (n pairNode) May(crawl.Partition) bool              { return n.may }

// carry delivers everything that is on its way.
func (p *pair) carry() {
	for range 10 {
		p.b.Receive(p.now, memberA, p.a.TakeFor(p.b.self, 100))
		p.a.Receive(p.now, p.b.self, p.b.TakeFor(memberA, 100))
	}
}

func (p *pair) pass(d time.Duration) {
	for end := p.now + d; p.now < end; {
		p.now += min(Every, end-p.now)
		p.a.Tick(p.now)
		p.b.Tick(p.now)
		p.carry()
	}
}

func (p *pair) turn(t *Table, want bool) {
	p.t.Helper()
	_, ok := t.Turn(p.now, theIP)
	if p.carry(); !ok {
		_, ok = t.Turn(p.now, theIP)
	}
	if ok != want {
		p.t.Fatalf("%v after the start: Turn is %v, want %v", p.now-time.Hour, ok, want)
	}
}

// request makes a request that takes no time.
func (p *pair) request(t *Table, want bool) {
	p.t.Helper()
	t.Begin(p.now, theIP)
	may := t.MayWrite(p.now, theIP)
	t.End(p.now, theIP, may)
	if p.carry(); may != want {
		p.t.Fatalf("%v after the start: MayWrite is %v, want %v", p.now-time.Hour, may, want)
	}
}

func TestAloneNeedsNoMessage(t *testing.T) {
	p := newPair(t)
	p.a.Hold(p.now, 0, false)
	for range 100 {
		if wait, ok := p.a.Turn(p.now, theIP); !ok || wait != 0 {
			t.Fatalf("Turn: %v, %v", wait, ok)
		}
		p.request(p.a, true)
		p.now += time.Second
		p.a.Tick(p.now)
	}
	if len(p.a.Targets()) > 0 {
		t.Error("a node that keeps the address itself sends messages")
	}
	p.a.Idle(p.now, theIP)
	p.pass(20 * time.Second)
	if c := p.a.Counts(p.now, 0); c != (Counts{}) {
		t.Errorf("after everything it remembers %+v", c)
	}
	if len(p.a.asks) > 0 {
		t.Error("the asker's entry stays for ever")
	}
}

func TestWithoutGapNothingHappens(t *testing.T) {
	p := newPair(t)
	p.gap = 0
	if wait, ok := p.b.Turn(p.now, theIP); !ok || wait != 0 || !p.b.MayWrite(p.now, theIP) ||
		len(p.b.asks) > 0 {
		t.Error("an address without a gap has turns")
	}
}

// A gap that gets smaller applies from now on: to the node that keeps the address, and to one that
// was told to wait.
func TestGapShrinks(t *testing.T) {
	p := newPair(t)
	p.gap = time.Hour
	p.a.Hold(p.now, 0, false)
	p.turn(p.a, true)
	p.request(p.a, true)
	p.a.Idle(p.now, theIP)
	p.b.Turn(p.now, theIP)
	p.carry()
	p.pass(time.Minute)
	p.gap = time.Second
	p.request(p.b, false)
	p.b.Turn(p.now, theIP)
	p.pass(p.gap * 5 / 4)
	p.turn(p.b, true)
	if wait, _ := p.b.Turn(p.now, theIP); wait > p.gap*5/4 {
		t.Fatalf("b waits for %v, the gap is %v", wait, p.gap)
	}
	p.pass(p.gap * 5 / 4)
	p.turn(p.b, true)
	p.request(p.b, true)
}

func TestIdleTurnIsPassedOnAtOnce(t *testing.T) {
	p := newPair(t)
	p.a.Hold(p.now, 0, false)
	p.turn(p.a, true)
	p.request(p.a, true)
	p.a.Idle(p.now, theIP)
	p.turn(p.b, true)
	if wait, _ := p.b.Turn(p.now, theIP); wait < p.gap || wait > p.gap*5/4 {
		t.Errorf("b waits for %v after a's request, the gap is %v", wait, p.gap)
	}
	p.request(p.b, false) // the gap is not over
	p.now += p.gap * 5 / 4
	p.request(p.b, true)
	p.request(p.a, false)
}

func TestTurnOfADeadNodeIsWaitedFor(t *testing.T) {
	p := newPair(t)
	p.a.Hold(p.now, 0, false)
	p.turn(p.b, true)
	p.request(p.b, true)
	p.b = New(p.b.self, p.b.node) // it is gone, and starts again
	p.b.self.Boot++
	p.turn(p.a, false)
	p.pass(Validity)
	p.turn(p.a, false)
	p.pass(longer(Validity) + Slack - Validity + p.gap*5/4 + 2*Every)
	p.turn(p.a, true)
	p.request(p.a, true)
}

// move makes b the keeper.
func (p *pair) move() {
	p.a.Drop(0)
	p.holder = memberB
	p.b.Hold(p.now, 0, true)
}

func TestNewKeeperWaitsForOldTurns(t *testing.T) {
	p := newPair(t)
	p.a.Hold(p.now, 0, false)
	p.turn(p.a, true)
	p.a.Idle(p.now, theIP)
	p.move()
	p.turn(p.b, false)
	p.request(p.a, true)
	p.pass(Validity)
	p.request(p.a, false)
	p.turn(p.b, false)
	p.pass(Slack + Validity/20 + p.gap*5/4 + 2*Every)
	p.turn(p.b, true)
	p.request(p.b, true)
}

func TestTurnGoesOnUnderANewKeeper(t *testing.T) {
	p := newPair(t)
	p.a.Hold(p.now, 0, false)
	p.turn(p.a, true)
	p.move()
	for range 4 { // well into the fence, and beyond
		p.pass(Validity / 2)
		p.turn(p.a, true)
		p.request(p.a, true)
	}
}

func TestClaimOfAnEndedTurnIsRefused(t *testing.T) {
	p := newPair(t)
	p.a.Hold(p.now, 0, false)
	p.turn(p.a, true)
	p.move()
	p.now += Validity // a's turn is over before it asks
	p.a.Turn(p.now, theIP)
	p.carry()
	p.turn(p.a, false)
	p.request(p.a, false)
}

func TestNumberOfAnotherTenureIsNoClaim(t *testing.T) {
	p := newPair(t)
	p.b.Hold(p.now, 0, true)
	p.b.Hold(p.now, 0, true)
	for _, n := range []uint64{0, 1, 3} {
		p.b.Receive(p.now, memberA, []Message{{Kind: Ask, Addr: theIP, Stamp: time.Hour, Tenure: n}})
		if got := p.b.TakeFor(memberA, 10); len(got) != 1 || got[0].Kind != Wait || got[0].Tenure != 2 {
			t.Errorf("an ask with tenure %d is answered with %+v", n, got)
		}
	}
}

func TestNoRightNoGrant(t *testing.T) {
	p := newPair(t)
	p.a.Hold(p.now, 0, false)
	p.may = false
	p.turn(p.b, false)
	p.turn(p.a, false)
	p.a.Idle(p.now, theIP)
	p.known = false
	p.pass(12 * time.Second)
	if c := p.b.Counts(p.now, 10*time.Second); c.Unheard != 1 || c.Wanted != 1 ||
		c.Longest < 12*time.Second {
		t.Errorf("an address without a keeper: %+v", c)
	}
	p.may, p.known = true, true
	p.pass(time.Second)
	p.turn(p.b, true)
}

// A keeper that may give no turns, as without a lease, is seldom asked, and counts as silent.
func TestKeeperWithoutRight(t *testing.T) {
	p := newPair(t)
	p.a.Hold(p.now, 0, false)
	p.may = false
	p.turn(p.b, false)
	asks := 0
	for range 100 {
		p.now += Every
		p.b.Tick(p.now)
		batch := p.b.TakeFor(memberA, 100)
		asks += len(batch)
		p.a.Receive(p.now, memberB, batch)
		p.carry()
	}
	if c := p.b.Counts(p.now, 5*time.Second); c.Unheard != 1 || c.Wanted != 1 ||
		c.Longest < 19*time.Second {
		t.Errorf("%+v", c)
	}
	if most := int(100*Every/pause) + 1; asks == 0 || asks > most {
		t.Errorf("%d asks in %v, at most %d", asks, 100*Every, most)
	}
	p.may = true
	p.pass(pause + Every)
	p.turn(p.b, true)
	if c := p.b.Counts(p.now, time.Second); c.Unheard != 0 {
		t.Errorf("the keeper has answered: %+v", c)
	}
}

// A turn in which nothing is handed out, as no fetcher is free, does not hold up others, and is not
// asked for again until there is a use for it.
func TestUnusedTurnIsGivenBack(t *testing.T) {
	p := newPair(t)
	p.a.Hold(p.now, 0, false)
	p.turn(p.b, true)
	p.turn(p.a, false)
	p.pass(Unused - Every)
	p.turn(p.a, false)
	p.pass(2 * Every)
	for range 50 {
		p.turn(p.a, true)
		p.request(p.a, true)
		p.pass(p.gap)
	}
	if c := p.b.Counts(p.now, time.Second); c.Unheard != 0 || c.Held != 0 {
		t.Errorf("the node without a use for the turn: %+v", c)
	}
	p.b.Turn(p.now, theIP)
	p.carry()
	p.pass(p.gap * 5 / 4)
	p.turn(p.b, true)
	p.request(p.b, true)
}

// A visit that connects for long keeps its turn, and one that made no request leaves it.
func TestTurnOfAVisitThatConnects(t *testing.T) {
	p := newPair(t)
	p.a.Hold(p.now, 0, false)
	p.turn(p.b, true)
	p.b.Begin(p.now, theIP)
	p.turn(p.a, false)
	p.pass(Validity + Unused)
	if !p.b.MayWrite(p.now, theIP) {
		t.Error("the turn was lost during the connecting")
	}
	p.b.End(p.now, theIP, true)
	p.carry()
	p.turn(p.a, true)
}

// While a node waits for a slow answer, it has no use for the turn: others have it until the answer
// has come.
func TestSlowAnswerPassesTheTurnOn(t *testing.T) {
	p := newPair(t)
	p.a.Hold(p.now, 0, false)
	p.turn(p.b, true)
	p.b.Begin(p.now, theIP)
	if !p.b.MayWrite(p.now, theIP) {
		t.Fatal("no request in its own turn")
	}
	p.turn(p.a, false)
	p.pass(slowAnswer + Every)
	made := 0
	for range 100 {
		if wait, ok := p.a.Turn(p.now, theIP); ok && wait == 0 {
			p.request(p.a, true)
			made++
		}
		p.b.Turn(p.now, theIP) // other hosts wait there
		p.pass(p.gap)
	}
	if made < 98 {
		t.Errorf("%d requests in %v beside a slow answer", made, 100*p.gap)
	}
	if c := p.b.Counts(p.now, 5*time.Second); c.Unheard != 0 || c.Wanted != 1 {
		t.Errorf("the keeper was not asked: %+v", c)
	}
	p.b.End(p.now, theIP, true)
	p.carry()
	p.pass(Every + p.gap*5/4)
	p.turn(p.b, true)
	p.request(p.b, true)
}

// A grant that comes while an answer is slow is given back at once.
func TestGrantDuringASlowAnswer(t *testing.T) {
	p := newPair(t)
	p.a.Hold(p.now, 0, false)
	p.turn(p.b, true)
	p.b.Begin(p.now, theIP)
	p.b.MayWrite(p.now, theIP)
	p.turn(p.a, false)
	p.pass(slowAnswer + Every)
	p.turn(p.a, true)
	u := p.b.asks[theIP]
	u.askedAt = 0
	p.b.ask(p.now, theIP, u) // it was sent before the answer was slow
	p.carry()
	p.a.Idle(p.now, theIP)
	p.a.Turn(p.now, theIP)
	p.carry()
	p.turn(p.a, true)
	p.b.End(p.now, theIP, true)
}

// A node that does not crawl asks for nothing, and blames nobody; when it crawls again, it asks.
func TestWhoDoesNotCrawlDoesNotAsk(t *testing.T) {
	p := newPair(t)
	p.a.Hold(p.now, 0, false)
	p.idle[memberB] = true
	p.turn(p.b, false)
	for range 100 {
		p.now += Every
		p.b.Tick(p.now)
		p.turn(p.b, false)
	}
	if c := p.b.Counts(p.now, time.Second); c != (Counts{Wanted: 1}) {
		t.Errorf("%+v", c)
	}
	if c := p.a.Counts(p.now, 0); c.Kept > 0 {
		t.Error("the keeper was asked")
	}
	p.idle[memberB] = false
	p.pass(Every)
	if came := p.b.Came(); len(came) != 1 {
		t.Errorf("turns that came: %v", came)
	}
	p.request(p.b, true)
	p.turn(p.a, false)
	p.idle[memberB] = true // it has used the turn
	p.pass(Length + p.gap*5/4)
	for range 20 {
		p.turn(p.a, true)
		p.request(p.a, true)
		p.pass(p.gap)
	}
}

// A gap of hours is kept between nodes as well, and a member cannot make it longer.
func TestLongGaps(t *testing.T) {
	for _, gap := range []time.Duration{3 * time.Second, 3 * time.Hour} {
		p := newPair(t)
		p.gap = gap
		p.a.Hold(p.now, 0, false)
		p.turn(p.b, true)
		p.request(p.b, true)
		p.turn(p.a, false)
		p.b.Idle(p.now, theIP)
		p.carry()
		if rest := p.a.keeps[0].addrs[theIP].free - p.now; rest < gap || rest > gap*10/9 {
			t.Errorf("after a request the address rests for %v, the gap is %v", rest, gap)
		}
		p.now += gap * 10 / 9
		p.turn(p.b, true)
		p.now++
		p.a.Receive(p.now, memberB, []Message{{Kind: Return, Addr: theIP, Stamp: p.now, Rest: 1 << 62}})
		if rest := p.a.keeps[0].addrs[theIP].free - p.now; rest > max(longer(maxRest), gap*10/9) {
			t.Errorf("a member makes the address rest for %v, the gap is %v", rest, gap)
		}
	}
}

// TestStrangeMessages: nothing that a member can send breaks a table or gives a turn that
// was not asked for.
func TestStrangeMessages(t *testing.T) {
	p := newPair(t)
	p.a.Hold(p.now, 0, false)
	for kind := range Kind(8) {
		for _, ip := range []netip.Addr{{}, theIP, netip.MustParseAddr("::ffff:192.0.2.1"),
			netip.MustParseAddr("2001:db8::1")} {
			for _, d := range []time.Duration{-1 << 62, 0, time.Hour, 1 << 62} {
				m := Message{
					Kind:   kind,
					Addr:   ip,
					Stamp:  d,
					Rest:   min(d, time.Second),
					Tenure: uint64(d),
					Others: true,
				}
				p.a.Receive(p.now, memberB, []Message{m})
				p.b.Receive(p.now, memberA, []Message{m})
			}
		}
	}
	p.b.Begin(p.now, theIP)
	if p.b.MayWrite(p.now, theIP) {
		t.Error("a grant that answers no ask gives the turn")
	}
	p.b.End(p.now, theIP, false)
	p.pass(2 * longer(Validity))
	p.turn(p.a, true)
}

func TestQueueToAMemberIsBounded(t *testing.T) {
	p := newPair(t)
	for range maxQueued + 10 {
		p.a.send(memberB, Message{})
	}
	if len(p.a.out[memberB]) != maxQueued || p.a.missed != 10 {
		t.Errorf("%d messages wait, %d were dropped", len(p.a.out[memberB]), p.a.missed)
	}
}
