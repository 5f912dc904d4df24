package heartbeat

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"crawlnode/crawl"
	"crawlnode/membership"
	"crawlnode/peer"
)

// fakeMembers notes what it is told.
type fakeMembers struct {
	mu       sync.Mutex // guards told
	told     []string
	reading  time.Duration // of the own clock; 0: 50
	compared time.Duration
	here     []crawl.NodeID // members on this machine
}

func (f *fakeMembers) note(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.told = append(f.told, fmt.Sprintf(format, args...))
}

func (f *fakeMembers) Self() membership.Member   { return membership.Member{ID: "a", Boot: 7} }
func (f *fakeMembers) LeaseAsked() time.Duration { return 40 }
func (f *fakeMembers) ClockReading() time.Duration {
	if f.reading == 0 {
		return 50
	}
	return f.reading
}
func (f *fakeMembers) LeaseGranted(view crawl.Epoch, by crawl.NodeID, asked time.Duration) {
	f.note("granted %d %s %d", view, by, asked)
}

func (f *fakeMembers) LeaseGrantedStalled(view crawl.Epoch, by crawl.NodeID, asked time.Duration) {
	f.note("granted stalled %d %s %d", view, by, asked)
}

func (f *fakeMembers) Grant(view crawl.Epoch, to crawl.NodeID, boot crawl.Boot) bool {
	f.note("grant %d %s %d", view, to, boot)
	return true
}

func (f *fakeMembers) ClockCompared() time.Duration { return f.compared }
func (f *fakeMembers) SharesClock(m membership.Member) bool {
	return slices.Contains(f.here, m.ID)
}
func (f *fakeMembers) ClockTold(id crawl.NodeID, boot crawl.Boot, reading time.Duration) {
	f.note("clock %s %d %d", id, boot, reading)
}

func (f *fakeMembers) ClockAnswered(id crawl.NodeID, boot crawl.Boot, reading, asked time.Duration) {
	f.note("clock answered %s %d %d %d", id, boot, reading, asked)
}

// sameRules are rules that never differ.
type sameRules struct{}

func (sameRules) Stamp() *peer.RulesStamp                 { return &peer.RulesStamp{} }
func (sameRules) Compare(crawl.NodeID, *peer.RulesStamp)  {}
func (sameRules) Correct(*peer.RulesStamp, time.Duration) {}
func (sameRules) Ran() time.Duration                      { return 0 }

// beating are options of a node "a" with some others.
func beating(f *fakeMembers, others ...crawl.NodeID) Options {
	return Options{Self: "a", Members: f, Rules: sameRules{}, Table: NewTable(),
		Others: func() (ms []membership.Member) {
			for _, id := range others {
				ms = append(ms, membership.Member{ID: id, Boot: 3})
			}
			return ms
		},
		View: func() crawl.Epoch { return 9 }, Partitions: func() int { return 16 }, Held: func() []byte { return bitsOf(1) },
		Block: func() *crawl.NodeBlock { return &crawl.NodeBlock{} }, Stalled: func() bool { return false },
		Revisits: func() []byte { return []byte("mine") }, TakeRevisits: func(id crawl.NodeID, boot crawl.Boot, said []byte) {
			if len(said) > 0 {
				f.note("revisits %s %d %s", id, boot, said)
			}
		}}
}

// TestGrantsCount: an answer counts for the lease only if it grants it, and while the disks of both
// answer.
func TestGrantsCount(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		reply   *peer.RenewReply
		asked   bool // the request said that this node is stalled
		stalled bool // it is when the answer comes
		want    string
	}{
		{&peer.RenewReply{Granted: true, ClockNs: 60}, false, false, "[clock answered b 3 60 40 granted 9 b 40]"},
		{&peer.RenewReply{Granted: true, Stalled: true, ClockNs: 60}, false, false, "[clock answered b 3 60 40 granted stalled 9 b 40]"},
		{&peer.RenewReply{ClockNs: 60}, false, false, "[clock answered b 3 60 40]"},
		{&peer.RenewReply{Granted: true, ClockNs: 60}, true, false, "[clock answered b 3 60 40]"},
		{&peer.RenewReply{Granted: true, ClockNs: 60}, false, true, "[clock answered b 3 60 40]"},
		{nil, false, false, "[]"},
	} {
		f := &fakeMembers{}
		o := beating(f, "b")
		o.Stalled = func() bool { return c.stalled }
		o.Call = func(context.Context, membership.Member, *peer.RenewRequest) (*peer.RenewReply, error) {
			if c.reply == nil {
				return nil, errors.New("no answer")
			}
			return c.reply, nil
		}
		New(o).send(t.Context(), o.Others()[0], &peer.RenewRequest{View: 9, Stalled: c.asked})
		if got := fmt.Sprint(f.told); got != c.want {
			t.Errorf("%v, asked stalled %v, stalled %v: %s, want %s", c.reply, c.asked, c.stalled, got, c.want)
		}
	}
}

// TestSilentMemberDelaysNoOther: a member that does not answer has one call under way, and the
// others get theirs each second and at once when asked for.
func TestSilentMemberDelaysNoOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		calls := map[crawl.NodeID]int{}
		o := beating(&fakeMembers{}, "b", "c")
		begun := make(chan crawl.NodeID, 100)
		o.Call = func(ctx context.Context, to membership.Member, _ *peer.RenewRequest) (*peer.RenewReply, error) {
			begun <- to.ID
			if to.ID == "b" {
				<-ctx.Done()
				return nil, ctx.Err()
			}
			return nil, errors.New("no answer")
		}
		h := New(o)
		ctx, cancel := context.WithCancel(t.Context())
		over := make(chan error, 1)
		go func() { over <- h.Run(ctx) }()
		time.Sleep(2*Every - time.Millisecond) // the silent one's time is not up
		h.Soon()
		synctest.Wait()
		cancel()
		if err := <-over; err != nil {
			t.Error(err)
		}
		for len(begun) > 0 {
			calls[<-begun]++
		}
		if calls["b"] != 1 || calls["c"] != 3 {
			t.Errorf("calls %v, want 1 of b and 3 of c", calls)
		}
	})
}

// TestAloneReportsNothing: a node without others makes no report, and makes one for all of them.
func TestAloneReportsNothing(t *testing.T) {
	t.Parallel()
	for reports, others := range [][]crawl.NodeID{{}, {"b", "c"}} {
		synctest.Test(t, func(t *testing.T) {
			made := 0
			o := beating(&fakeMembers{}, others...)
			o.Block = func() *crawl.NodeBlock { made++; return &crawl.NodeBlock{} }
			o.Call = func(context.Context, membership.Member, *peer.RenewRequest) (*peer.RenewReply, error) {
				return nil, errors.New("no answer")
			}
			ctx, cancel := context.WithTimeout(t.Context(), 3*Every+Every/2)
			defer cancel()
			if err := New(o).Run(ctx); err != nil || made != 4*reports {
				t.Errorf("with %d others: %d reports, %v", len(others), made, err)
			}
		})
	}
}

// TestServe takes a heartbeat in, and refuses what is too large or no block.
func TestServe(t *testing.T) {
	t.Parallel()
	f := &fakeMembers{}
	o := beating(f)
	h := New(o)
	reply, err := h.Serve("p", &peer.RenewRequest{Block: []byte("{}"), Held: bitsOf(1), Boot: 3, View: 9, ClockNs: 5})
	if err != nil || !reply.Granted || reply.Boot != 7 || reply.View != 9 || reply.ClockNs != 50 || reply.Node != "a" {
		t.Errorf("%v, %v", reply, err)
	}
	if o.Table.Holder(1) != "p" || o.Table.All()["p"].Block.Boot != 3 || fmt.Sprint(f.told) != "[clock p 3 5 grant 9 p 3]" {
		t.Errorf("the table has %+v; %v", o.Table.All(), f.told)
	}
	f.told = nil
	if _, err := h.Serve("p", &peer.RenewRequest{Block: []byte("{}"), Boot: 3, Revisits: []byte("theirs")}); err != nil || f.told[0] != "revisits p 3 theirs" {
		t.Errorf("a heartbeat with revisits: %v, %v", err, f.told)
	}
	if got := h.message(); string(got.full.Revisits) != "mine" || string(got.brief.Revisits) != "mine" {
		t.Errorf("the requests say %q and %q of revisits", got.full.Revisits, got.brief.Revisits)
	}
	f.told = nil
	if reply, err := h.Serve("p", &peer.RenewRequest{Block: []byte("{}"), Stalled: true}); err != nil || reply.Granted || len(f.told) != 1 {
		t.Errorf("a node whose disk does not answer: %v, %v, %v", reply, err, f.told)
	}
	for name, req := range map[string]*peer.RenewRequest{
		"a bitmap too long": {Block: []byte("{}"), Held: make([]byte, 3)},
		"a block too long":  {Block: make([]byte, maxBlockBytes+1)},
		"no block":          {},
		"no JSON":           {Block: []byte("{")},
		"no number":         {Block: []byte("{}"), Vitals: &peer.Vitals{Cpu: math.NaN()}},
	} {
		if _, err := h.Serve("q", req); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
	if _, ok := o.Table.All()["q"]; ok {
		t.Error("a refused heartbeat was remembered")
	}
}

// TestClocksAreComparedWhenNoReadingCame: a clock of another machine is asked when none was compared for clocksEvery.
func TestClocksAreComparedWhenNoReadingCame(t *testing.T) {
	t.Parallel()
	const now = time.Hour
	for _, c := range []struct {
		name   string
		others string // of which capital letters run on this machine
		lately time.Duration
		rest   time.Duration
		ask    string
	}{
		{"long ago", "bc", clocksEvery, clocksEvery, "bc"},
		{"almost so long ago", "bc", clocksEvery - clocksEarly, clocksEvery, "bc"},
		{"lately", "bc", 100 * time.Millisecond, 150 * time.Millisecond, ""},
		{"just now", "bc", 0, clocksEvery, ""},
		{"never", "bc", now, clocksEvery, "bc"},
		{"the own clock went back", "bc", -time.Second, clocksEvery, "bc"},
		{"two members", "b", now, Every, ""},
		{"one on this machine", "bCd", now, clocksEvery, "bd"},
		{"all on this machine", "BC", now, Every, ""},
	} {
		f := &fakeMembers{reading: now, compared: now - c.lately}
		var ids []crawl.NodeID
		for _, r := range c.others {
			id := crawl.NodeID(strings.ToLower(string(r)))
			if ids = append(ids, id); string(id) != string(r) {
				f.here = append(f.here, id)
			}
		}
		rest, ask := NewClockWatch(beating(f, ids...)).due()
		asked := ""
		for _, m := range ask {
			asked += string(m.ID)
		}
		if rest != c.rest || asked != c.ask {
			t.Errorf("%s: asks %q, looks again after %v, want %q, %v", c.name, asked, rest, c.ask, c.rest)
		}
	}
}

// TestClocksInTurn: the members are asked in the order of their ids, and one that does not answer
// is passed over.
func TestClocksInTurn(t *testing.T) {
	t.Parallel()
	o := beating(&fakeMembers{}, "d", "b", "c")
	w := NewClockWatch(o)
	order := ""
	for range 7 {
		m, ok := w.next(o.Others())
		if !ok {
			t.Fatalf("nobody after %s", order)
		}
		if order += string(m.ID); m.ID != "c" { // the second one does not answer
			w.busy.free(m.ID)
		}
	}
	if order != "bcdbdbd" {
		t.Errorf("asked %s", order)
	}
	for _, id := range []crawl.NodeID{"b", "d"} {
		w.busy.claim(id)
	}
	if m, ok := w.next(o.Others()); ok {
		t.Errorf("%s is asked twice at a time", m.ID)
	}
}
