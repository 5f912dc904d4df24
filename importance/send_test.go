package importance

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"crawlnode/crawl"
	"crawlnode/frontier"
	"crawlnode/frontier/cash"
	"crawlnode/frontier/layout"
	"crawlnode/importance/opic"
	"crawlnode/peer"
)

// Nothing is sent while the sender's replicas are silent, and nothing is acknowledged while the
// receiver's are.
func TestSilentReplicas(t *testing.T) {
	t.Parallel()
	n := newNetwork(t, rand.New(rand.NewPCG(1, 1)))
	w := newWeb(t, rand.New(rand.NewPCG(2, 2)), 30)
	now := time.Unix(1e9, 0)
	n.silent = map[crawl.NodeID]bool{"a": true, "b": true, "c": true}
	for page := range w.urls {
		n.visit(w, page)
	}
	n.rounds(&now, 8)
	if sum, waiting := n.sums(); len(n.calls) > 0 || sum.Received != 0 || waiting == 0 {
		t.Fatalf("%d calls, %d entries wait, %+v", len(n.calls), waiting, sum)
	}
	n.silent = map[crawl.NodeID]bool{"b": true} // it takes, and cannot promise
	n.rounds(&now, 20)
	left := 0
	for p := range crawl.Partition(testPartitions) {
		entries, err := n.members[n.where[p]].front.Credits(p, frontier.OutboxKey{}, 1000, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if n.where[e.Key.Target] == "b" && n.where[p] != "b" {
				left++
			}
		}
	}
	if left == 0 {
		t.Fatal("what the replicas of b do not have was acknowledged")
	}
	n.silent = nil
	n.rest(&now)
	n.compare(w)
}

// answers is a node that takes only entries for some partitions.
type answers struct {
	*member
	takes map[crawl.Partition]bool
	seen  []uint64
}

func (a *answers) Credit(
	_ context.Context,
	_ crawl.NodeID,
	b *peer.CreditBatch,
) (*peer.CreditReply, error) {
	r := &peer.CreditReply{}
	for _, e := range b.Entries {
		a.seen = append(a.seen, e.Seq)
		mark := uint64(0)
		if a.takes[crawl.Partition(e.To)] {
			mark = e.Seq
		}
		r.Taken = append(r.Taken, mark)
	}
	a.takes = map[crawl.Partition]bool{1: true, 2: true} // from now on all
	return r, nil
}

// A later entry of a pair is not sent behind one that was not acknowledged: its number would say
// that the earlier one was taken.
func TestAnEntryWaitsForThoseBefore(t *testing.T) {
	t.Parallel()
	n := newNetwork(t, rand.New(rand.NewPCG(1, 1)))
	a := &answers{member: n.members["a"], takes: map[crawl.Partition]bool{2: true}}
	a.Keeper.opts.Peers = a
	var entries []cash.CreditEntry
	for i := range uint64(3 * callEntries) {
		entries = append(entries, cash.CreditEntry{
			From:  0,
			Key:   frontier.OutboxKey{Target: crawl.Partition(1 + i%2), Seq: i + 1},
			Bytes: []byte{1},
		})
	}
	marks, err := a.sendTo(t.Context(), "b", entries)
	if err != nil {
		t.Fatal(err)
	}
	for i, mark := range marks {
		if taken := mark > 0; taken != (entries[i].Key.Target == 2) {
			t.Fatalf("entry %d for partition %d: mark %d", i, entries[i].Key.Target, mark)
		}
	}
	if !slices.IsSorted(a.seen) || len(a.seen) >= len(entries) {
		t.Errorf("%d of %d entries were sent, in order: %v", len(a.seen), len(entries),
			slices.IsSorted(a.seen))
	}
}

// What no correct node sends is not taken, and holds up nothing but what is behind it for its pair;
// what cannot be read is taken as nothing, and holds up nothing. A call that is too large is
// refused.
func TestForeignBatches(t *testing.T) {
	t.Parallel()
	n := newNetwork(t, rand.New(rand.NewPCG(1, 1)))
	good := layout.EncodeCashCredits([]opic.Entry{{Credits: []opic.Credit{{URL: 1, Amount: 1}}}})
	for name, b := range map[string]*peer.CreditBatch{
		"bytes": {
			Entries: []*peer.CreditEntry{{From: 1, To: 0, Seq: 1, Credits: make([]byte, maxBytes+1)}},
		},
		"too many at once": {Entries: slices.Repeat(
			[]*peer.CreditEntry{{From: 1, To: 0, Seq: 1, Credits: good}}, maxEntries+1)},
	} {
		if r, err := n.members["a"].Keeper.Credit(t.Context(), b); err == nil {
			t.Errorf("%s: %v", name, r)
		}
	}
	for i, c := range []struct {
		name    string
		entries []*peer.CreditEntry
		want    []uint64
	}{
		{"partition", []*peer.CreditEntry{{From: testPartitions, To: 0, Seq: 1, Credits: good}}, []uint64{0}},
		{"its own", []*peer.CreditEntry{{From: 0, To: 0, Seq: 1, Credits: good}}, []uint64{0}},
		{"no number", []*peer.CreditEntry{{From: 1, To: 0, Credits: good}, {From: 1, To: 0, Seq: 1, Credits: good}}, []uint64{0, 0}},
		{"order", []*peer.CreditEntry{{From: 1, To: 0, Seq: 2, Credits: good},
			{From: 1, To: 0, Seq: 1, Credits: good},
			{From: 1, To: 0, Seq: 3, Credits: good}}, []uint64{2, 0, 0}},
		{"number", []*peer.CreditEntry{{From: 1, To: 0, Seq: 1 << 63, Credits: good}, {From: 1, To: 0, Seq: 4, Credits: good}}, []uint64{0, 0}},
		{"nonsense", []*peer.CreditEntry{{From: 1, To: 0, Seq: 3, Credits: []byte("x")},
			{From: 1, To: 0, Seq: 4, Credits: good}}, []uint64{3, 4}},
		{"missing", []*peer.CreditEntry{nil}, []uint64{0}},
		{"not here", []*peer.CreditEntry{{From: 1, To: 2, Seq: 8, Credits: good}}, []uint64{0}},
		{"good", []*peer.CreditEntry{{From: 1, To: 0, Seq: 7, Credits: good}}, []uint64{7}},
	} {
		seq := uint64(i + 1)
		c.entries = append(c.entries, &peer.CreditEntry{From: 2, To: 0, Seq: seq, Credits: good})
		r, err := n.members["a"].Keeper.Credit(t.Context(), &peer.CreditBatch{Entries: c.entries})
		if err != nil || !slices.Equal(r.Taken, append(c.want, seq)) {
			t.Errorf("%s: %v, %v", c.name, r, err)
		}
	}
}

func TestCounts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		s    *crawl.Settings
		want bool
	}{
		{nil, false},
		{&crawl.Settings{}, false},
		{&crawl.Settings{Recrawl: crawl.RecrawlOff}, false},
		{&crawl.Settings{Recrawl: crawl.RecrawlAdaptive}, true},
		{&crawl.Settings{Priority: "depth=1"}, false},
		{&crawl.Settings{Priority: "depth=1,authority=0.1"}, true},
		{&crawl.Settings{Priority: "importance=1"}, true},
	} {
		if got := Counts(c.s); got != c.want {
			t.Errorf("%+v: %v", c.s, got)
		}
	}
}

// What a page passes on: its links without itself, and nothing for what is no page.
func TestCites(t *testing.T) {
	t.Parallel()
	n := newNetwork(t, rand.New(rand.NewPCG(1, 1)))
	w := newWeb(t, rand.New(rand.NewPCG(2, 2)), 4)
	v := &crawl.Visit{}
	v.Item.URL = w.urls[0].Target.URL
	for _, c := range []struct {
		o       crawl.Outcome
		revisit bool
		links   int // -1: nothing is passed on
	}{
		{crawl.Outcome{Kind: crawl.Fetched, Status: 200}, false, 3},
		{crawl.Outcome{Kind: crawl.Fetched, Status: 301}, false, 3},
		{crawl.Outcome{Kind: crawl.Fetched, Status: 304}, true, -1},
		{crawl.Outcome{Kind: crawl.Fetched, Status: 200, Unchanged: true}, true, -1},
		{crawl.Outcome{Kind: crawl.Fetched, Status: 404}, false, -1},
		{crawl.Outcome{Kind: crawl.Fetched, Status: 410}, true, 3},
		{crawl.Outcome{Kind: crawl.Fetched, Status: 200, IsSitemap: true}, false, -1},
		{crawl.Outcome{Kind: crawl.URLFailed, Status: 503}, false, -1},
	} {
		v.Item.Revisit = c.revisit
		b := n.members["a"].Cites(v, &c.o, w.urls)
		if b == nil != (c.links < 0) {
			t.Errorf("%+v: %x", c.o, b)
		} else if b != nil {
			if e, err := layout.DecodeCashLog(b); err != nil || len(e.Visit.Links) != c.links ||
				e.Visit.URL != layout.NumberOf(v.Item.URL) {
				t.Errorf("%+v: %+v, %v", c.o, e.Visit, err)
			}
		}
	}
	if domainOf("a.b.example.co.uk") != "example.co.uk" || domainOf("127.0.0.1") != "127.0.0.1" ||
		domainOf("localhost") != "localhost" {
		t.Error("registered domains are wrong")
	}
}

// nonsense is a node whose answers for one partition are too large.
type nonsense struct {
	*member
	mark uint64
}

func (a *nonsense) Credit(
	_ context.Context,
	_ crawl.NodeID,
	b *peer.CreditBatch,
) (*peer.CreditReply, error) {
	r := &peer.CreditReply{}
	for _, e := range b.Entries {
		mark := e.Seq
		if e.To == 1 {
			mark = a.mark
		}
		r.Taken = append(r.Taken, mark)
	}
	return r, nil
}

// A mark that no partition reaches acknowledges nothing, and the numbers of the sender go on as
// they were.
func TestMarksAreChecked(t *testing.T) {
	t.Parallel()
	for _, mark := range []uint64{cash.MaxMark + 1, 1<<62 + 1, 1<<64 - 1} {
		n := newNetwork(t, rand.New(rand.NewPCG(1, 1)))
		w := newWeb(t, rand.New(rand.NewPCG(2, 2)), 40)
		now := time.Unix(1e9, 0)
		a := &nonsense{member: n.members["a"], mark: mark}
		a.Keeper.opts.Peers = a
		for page := range w.urls {
			if n.where[w.urls[page].Partition] == "a" {
				n.visit(w, page)
			}
		}
		for range 6 {
			now = now.Add(foldAfter)
			if err := a.Round(t.Context(), now); err != nil {
				t.Fatal(err)
			}
		}
		waiting := 0
		for _, p := range []crawl.Partition{0, 3} { // those of a
			entries, err := a.front.Credits(p, frontier.OutboxKey{}, 1000, 1<<20)
			if err != nil {
				t.Fatal(err)
			}
			marks := make([]uint64, len(entries))
			for i, e := range entries {
				marks[i] = mark
				if e.Key.Target != 1 || e.Key.Seq > 1_000_000 {
					t.Fatalf("mark %d: entry %d for partition %d waits", mark, e.Key.Seq, e.Key.Target)
				}
			}
			waiting += len(entries)
			if err := a.front.AckCredits(t.Context(), entries, marks); err != nil {
				t.Fatal(err)
			}
			if left, err := a.front.Credits(p, frontier.OutboxKey{}, 1000, 1<<20); err != nil ||
				len(left) != len(entries) {
				t.Errorf("mark %d: %d of %d entries are left, %v", mark, len(left), len(entries), err)
			}
			if got, err := a.sendTo(t.Context(), "b", entries); err != nil ||
				slices.ContainsFunc(got, func(m uint64) bool { return m > 0 }) {
				t.Errorf("mark %d: the entries were answered with %v, %v", mark, got, err)
			}
		}
		if waiting == 0 {
			t.Fatal("nothing waits for partition 1")
		}
	}
}
