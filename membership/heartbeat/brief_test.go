package heartbeat

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"crawlnode/crawl"
	"crawlnode/membership"
	"crawlnode/peer"
)

func pointer[T any](v T) *T { return &v }

// blockAt is the block of a node that does nothing, so many seconds after its start.
func blockAt(seconds int) *crawl.NodeBlock {
	f := float64(seconds)
	b := &crawl.NodeBlock{At: time.Unix(1_000_000_000+int64(seconds), 5).UTC(), Boot: 7, View: 9, WhyNotIdle: "x",
		Load:     &crawl.NodeLoad{CPU: f / 100, Machine: f / 90, DiskWait: f / 80, Processors: 2, Short: []string{"y"}},
		Revisits: crawl.RevisitBlock{Due: 4, NextDue: pointer(time.Hour - time.Duration(seconds))}}
	b.Node = crawl.NodeStatus{ID: "a", UptimeSeconds: &f, LeaseRemainingSeconds: pointer(8 - f/50), RSSBytes: pointer(int64(seconds)),
		DiskFreeBytes: pointer(int64(seconds) + 1), WARCDiskFreeBytes: pointer(int64(seconds) + 2), Queued: pointer(int64(3))}
	return b
}

// TestSplit: the rest of a block stays while the node does nothing, and joined with the vitals of a
// moment it is the block of that moment. The rest is shared, and never changed.
func TestSplit(t *testing.T) {
	t.Parallel()
	first, _ := split(*blockAt(1))
	for _, want := range []*crawl.NodeBlock{blockAt(1), blockAt(2), {}, {Load: &crawl.NodeLoad{CPU: 1}}, {Node: crawl.NodeStatus{RSSBytes: new(int64)}}} {
		before, _ := json.Marshal(want)
		rest, vitals := split(*want)
		if after, _ := json.Marshal(want); string(after) != string(before) {
			t.Errorf("split has changed the block: %s, was %s", after, before)
		}
		if want.Boot == 7 && !reflect.DeepEqual(rest, first) {
			t.Errorf("the rest has changed with the time: %+v, was %+v", rest, first)
		}
		raw, _ := json.Marshal(rest)
		var sent crawl.NodeBlock
		if err := json.Unmarshal(raw, &sent); err != nil {
			t.Fatal(err)
		}
		join(sent, &peer.Vitals{Cpu: 3, RssBytes: pointer(int64(3)), NextDueNs: pointer(int64(3))})
		if kept, _ := json.Marshal(sent); string(kept) != string(raw) {
			t.Errorf("join has changed what it was given: %s, was %s", kept, raw)
		}
		if got, _ := json.Marshal(join(sent, vitals)); string(got) != string(before) {
			t.Errorf("joined: %s, want %s", got, before)
		}
	}
	if got := join(*blockAt(1), nil); got.Node.RSSBytes != nil || got.Revisits.NextDue != nil || got.Load.CPU != 0 || !got.At.IsZero() {
		t.Errorf("without vitals the old ones stay: %+v", got)
	}
}

func TestVitalsAreNumbers(t *testing.T) {
	t.Parallel()
	if _, v := split(*blockAt(1)); !numbers(v) || !numbers(nil) {
		t.Error("good vitals are refused")
	}
	for _, v := range []*peer.Vitals{{Cpu: math.NaN()}, {Machine: math.Inf(1)}, {DiskWait: math.Inf(-1)}, {UptimeSeconds: pointer(math.NaN())}, {LeaseSeconds: pointer(math.Inf(1))}} {
		if numbers(v) {
			t.Errorf("%v are taken", v)
		}
	}
}

// pair is a node "a" that tells a node "b" of itself. The test steps it: each beat is one second.
type pair struct {
	t      *testing.T
	sender *Heartbeat
	table  *Table // of the receiver
	block  crawl.NodeBlock
	held   []byte
	boot   crawl.Boot           // of the receiver
	calls  []*peer.RenewRequest // of the last beat
	lost   bool                 // calls
}

func newPair(t *testing.T) *pair {
	p := &pair{t: t, table: NewTable(), block: *blockAt(0), held: bitsOf(1), boot: 3}
	o := beating(&fakeMembers{}, "b")
	o.Block = func() *crawl.NodeBlock { return &p.block }
	o.Held = func() []byte { return p.held }
	o.Call = func(_ context.Context, _ membership.Member, req *peer.RenewRequest) (*peer.RenewReply, error) {
		p.calls = append(p.calls, req)
		if p.lost {
			return nil, errors.New("no answer")
		}
		receiver := beating(&fakeMembers{})
		receiver.Table = p.table
		return New(receiver).Serve("a", req)
	}
	p.sender = New(o)
	return p
}

// beat sends one heartbeat, some seconds after the start, and checks which calls had the block. A
// call that arrives leaves the receiver with the block of this moment.
func (p *pair) beat(why string, second int, full ...bool) {
	p.t.Helper()
	changing := blockAt(second)
	changing.WhyNotIdle, changing.Activity = p.block.WhyNotIdle, p.block.Activity
	p.block, p.calls = *changing, nil
	p.sender.tell(p.t.Context(), membership.Member{ID: "b", Boot: p.boot}, p.sender.message())
	var got []bool
	for _, c := range p.calls {
		got = append(got, len(c.Block) > 0 && len(c.Held) > 0)
		if len(c.Block) > 0 != (len(c.Held) > 0) {
			p.t.Errorf("%s: a call has one of block and bitmap: %v", why, c)
		}
	}
	if !slices.Equal(got, full) {
		p.t.Errorf("%s: calls with a block %v, want %v", why, got, full)
	}
	if p.lost {
		return
	}
	report := p.table.Last("a")
	have, _ := json.Marshal(report.Block)
	if want, _ := json.Marshal(p.block); string(have) != string(want) || !slices.Equal(report.Held, p.held) || p.table.Holder(1) != "a" {
		p.t.Errorf("%s: the receiver has %s, %v, want %s, %v", why, have, report.Held, want, p.held)
	}
}

// TestOnlyWhatIsNew: the block goes to who does not have it, and the receiver always has the
// figures of this moment.
func TestOnlyWhatIsNew(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	p.beat("the first", 1, true)
	p.beat("nothing has changed", 2, false)
	p.beat("still nothing", 3, false)
	p.block.Activity++
	p.beat("a figure", 4, true)
	p.held = bitsOf(1, 5)
	p.beat("a partition", 5, true)
	p.beat("nothing has changed", 6, false)

	p.table.Put("a", Report{Block: crawl.NodeBlock{Boot: 7, WhyNotIdle: "of the end's question"}, Held: bitsOf(1), Heard: time.Now()}, 16)
	p.beat("another part has replaced the report", 7, false, true)
	p.table.Keep(map[crawl.NodeID]bool{}, 16)
	p.beat("the sender was no member for a while", 8, false, true)
	p.table = NewTable()
	p.beat("the receiver has lost it", 9, false, true)
	p.table, p.boot = NewTable(), 4
	p.beat("the receiver is another process", 10, true)

	p.block.Activity++
	p.lost = true
	p.beat("lost", 11, true)
	p.beat("lost again", 12, true)
	p.lost = false
	p.beat("not lost", 13, true)
	p.lost = true
	p.beat("a lost one without a block", 14, false)
	p.lost = false
	p.beat("nothing has changed", 15, false)
}

// TestUnknownNumber: what refers to a block that the receiver does not have is no report, and the
// lease is granted all the same.
func TestUnknownNumber(t *testing.T) {
	t.Parallel()
	o := beating(&fakeMembers{})
	h := New(o)
	for _, had := range []Report{{}, {Number: 4, Block: crawl.NodeBlock{Boot: 3}}, {Number: 5, Block: crawl.NodeBlock{Boot: 2}}} {
		if o.Table = NewTable(); had.Number > 0 {
			o.Table.Put("p", had, 16)
		}
		h.o = o
		reply, err := h.Serve("p", &peer.RenewRequest{Number: 5, Boot: 3, View: 9})
		if err != nil || !reply.Granted || reply.Number == 5 {
			t.Errorf("had %d of boot %d: %v, %v", had.Number, had.Block.Boot, reply, err)
		}
		if got := o.Table.Last("p"); got.Number != had.Number || got.Block.Boot != had.Block.Boot || !got.Heard.IsZero() {
			t.Errorf("had %d of boot %d: the table has %+v", had.Number, had.Block.Boot, got)
		}
	}
}

// TestOneTimeForBothCalls: a heartbeat that is sent again in full, because the member does not have
// the block, arrives within the time of one call. A later one would be taken for newer than it is.
func TestOneTimeForBothCalls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPair(t)
		p.beat("the first", 1, true)
		p.table = NewTable()
		o := p.sender.o
		arrive := o.Call
		var arrived []bool // with a block
		made := time.Now()
		p.sender.o.Call = func(ctx context.Context, m membership.Member, req *peer.RenewRequest) (*peer.RenewReply, error) {
			if !crawl.Wait(ctx, 2*Every-time.Millisecond) {
				return nil, ctx.Err()
			}
			if took := time.Since(made); took > 2*Every {
				t.Errorf("a heartbeat arrives %v after it was made", took)
			}
			arrived = append(arrived, len(req.Block) > 0)
			return arrive(ctx, m, req)
		}
		p.sender.tell(t.Context(), membership.Member{ID: "b", Boot: p.boot}, p.sender.message())
		if !slices.Equal(arrived, []bool{false}) {
			t.Errorf("heartbeats with a block have arrived: %v, want only one without", arrived)
		}
		made = time.Now()
		p.sender.tell(t.Context(), membership.Member{ID: "b", Boot: p.boot}, p.sender.message())
		if !slices.Equal(arrived, []bool{false, true}) {
			t.Errorf("heartbeats with a block have arrived: %v, want the second one to have it", arrived)
		}
	})
}

// TestOlderSender: a node that does not part its block yet keeps its figures.
func TestOlderSender(t *testing.T) {
	t.Parallel()
	o := beating(&fakeMembers{})
	h := New(o)
	for second := 1; second < 3; second++ {
		want := blockAt(second)
		raw, _ := json.Marshal(want)
		reply, err := h.Serve("p", &peer.RenewRequest{Boot: 7, View: 9, Block: raw, Held: bitsOf(1)})
		if err != nil || !reply.Granted || reply.Number != 0 {
			t.Errorf("%v, %v", reply, err)
		}
		if got, _ := json.Marshal(o.Table.Last("p").Block); string(got) != string(raw) {
			t.Errorf("the table has %s, want %s", got, raw)
		}
	}
}

// TestToldIsBounded: of former members, and of former boots, nothing is kept.
func TestToldIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var boot atomic.Uint64
		o := beating(&fakeMembers{})
		o.Others = func() []membership.Member {
			return []membership.Member{{ID: "b", Boot: crawl.Boot(boot.Load())}, {ID: "c", Boot: 1}}
		}
		o.Call = func(_ context.Context, m membership.Member, req *peer.RenewRequest) (*peer.RenewReply, error) {
			return &peer.RenewReply{Number: req.Number}, nil
		}
		h := New(o)
		ctx, cancel := context.WithCancel(t.Context())
		over := make(chan error, 1)
		go func() { over <- h.Run(ctx) }()
		for range 5 {
			time.Sleep(Every / 2)
			synctest.Wait()
			boot.Add(1) // between two beats
			time.Sleep(Every / 2)
		}
		synctest.Wait()
		cancel()
		if err := <-over; err != nil || len(h.told.numbers) > 4 {
			t.Errorf("%v; %d members are remembered", err, len(h.told.numbers))
		}
	})
}
