package consensus

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"crawlnode/crawl"
	"crawlnode/ring"
)

var sampleView = &View{
	Number: 7, Cluster: testCluster, Left: []Departure{{"z", 2}},
	Removed: []Removal{{ID: "x", Boot: 3, Name: "n3"}, {ID: "z", Boot: 2, Name: "n4", Proved: true}},
	Barred:  []crawl.NodeID{"u", "w"},
	Members: []Member{
		{ID: "a", Name: "n<1>", Boot: 1, Since: 1, RPC: "127.0.0.1:3", HTTP: "127.0.0.1:1", Gossip: "127.0.0.1:2", Process: Process{"0123456789abcdef", 77, 1 << 40}},
		{ID: "b", Name: "n2", Boot: 9, Since: 4, Draining: true, Place: Place{Weight: 16, Zone: "rack 7", Changes: 2}},
	},
}

// sampleDelta tells the view after sampleView.
func sampleDelta() *Delta {
	v := *sampleView
	v.Number, v.Left, v.Removed = 8, []Departure{{"b", 9}}, []Removal{{ID: "b", Boot: 9, Name: "n2", Proved: true}}
	v.Members, v.Barred = []Member{v.Members[0], {ID: "c", Name: "n5", Boot: 1, Since: 8}}, []crawl.NodeID{"u", "v", "w"}
	return deltaOf(sampleView, &v)
}

func sampleMessages() []Message {
	ballot := Ballot{3, "a"}
	out := []Message{
		{Kind: KindHello, Forgotten: []crawl.NodeID{"x"}, Digest: "0123456789abcdef"},
		{Kind: KindHere},
		{Kind: KindDecided, View: sampleView},
		{Kind: KindPrepare, Ballot: ballot},
		{Kind: KindPromise, Ballot: ballot, Silent: []crawl.NodeID{"c", "x"}},
		{Kind: KindPromise, Ballot: ballot, Accepted: Ballot{2, "b"}, View: sampleView},
		{Kind: KindAccept, Ballot: ballot, View: sampleView},
		{Kind: KindAccepted, Ballot: ballot},
		{Kind: KindDecided, Delta: sampleDelta(), ReadsDeltas: true},
		{Kind: KindAccept, Ballot: ballot, Delta: sampleDelta()},
		{Kind: KindNack, Ballot: ballot, Accepted: Ballot{4, "b"}},
	}
	for i := range out {
		out[i].Cluster, out[i].From, out[i].To, out[i].Number, out[i].Boot = testCluster.ID, "a", "b", 6, 1
	}
	return out
}

func TestMessagesRoundTrip(t *testing.T) {
	t.Parallel()
	want := sampleMessages()
	got, err := Decode(Encode(want))
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("decoded %+v, %v, want %+v", got, err, want)
	}
	if got, err := Decode(nil); err != nil || len(got) != 0 {
		t.Errorf("an empty payload gives %v, %v", got, err)
	}
}

func TestMessagesRefused(t *testing.T) {
	t.Parallel()
	spoil := func(f func(*Message)) []byte {
		m := sampleMessages()[6]
		view := *m.View
		view.Members, view.Removed = slices.Clone(view.Members), slices.Clone(view.Removed)
		m.View = &view
		f(&m)
		return Encode([]Message{m})
	}
	for name, payload := range map[string][]byte{
		"no JSON":           []byte("hello"),
		"too long":          bytes.Repeat([]byte(" "), maxPayloadBytes+1),
		"too many":          []byte("[" + strings.Repeat("{},", maxPayloadMessages) + "{}]"),
		"no sender":         spoil(func(m *Message) { m.From = "" }),
		"odd sender":        spoil(func(m *Message) { m.From = "a#" }),
		"unknown kind":      spoil(func(m *Message) { m.Kind = "vote" }),
		"no boot":           spoil(func(m *Message) { m.Boot = 0 }),
		"odd forgotten id":  spoil(func(m *Message) { m.Forgotten = []crawl.NodeID{"#"} }),
		"unsorted ids":      spoil(func(m *Message) { m.Forgotten = []crawl.NodeID{"b", "a"} }),
		"unsorted silent":   spoil(func(m *Message) { m.Silent = []crawl.NodeID{"b", "b"} }),
		"too many silent":   spoil(func(m *Message) { m.Silent = manyIDs(MaxBarred + 1) }),
		"long digest":       spoil(func(m *Message) { m.Digest = strings.Repeat("0", 17) }),
		"barred member":     spoil(func(m *Message) { m.View.Barred = []crawl.NodeID{"a"} }),
		"too many barred":   spoil(func(m *Message) { m.View.Barred = manyIDs(MaxBarred + 1) }),
		"unsorted removals": spoil(func(m *Message) { m.View.Removed[1].ID = "a" }),
		"removal of boot 0": spoil(func(m *Message) { m.View.Removed[0].Boot = 0 }),
		"process below 0":   spoil(func(m *Message) { m.View.Members[0].PID = -1 }),
		"long machine":      spoil(func(m *Message) { m.View.Members[0].Machine = strings.Repeat("0", 17) }),
		"a view twice":      spoil(func(m *Message) { m.Delta = sampleDelta() }),
		"a delta in a vote": spoil(func(m *Message) { m.Kind, m.View, m.Delta = KindPromise, nil, sampleDelta() }),
		"a delta of view 0": spoil(func(m *Message) { m.View, m.Delta = nil, &Delta{Sum: "0123456789abcdef"} }),
		"a delta, no sum":   spoil(func(m *Message) { m.View, m.Delta = nil, &Delta{Base: 6} }),
		"no ballot":         spoil(func(m *Message) { m.Ballot = Ballot{} }),
		"huge round":        spoil(func(m *Message) { m.Ballot.Round = 1<<63 + 1 }),
		"no view":           spoil(func(m *Message) { m.View = nil }),
		"superfluous view":  spoil(func(m *Message) { m.Kind = KindAccepted }),
		"other cluster":     spoil(func(m *Message) { m.Cluster = "ffffffffffffffffffffffffffffffff" }),
		"empty view":        spoil(func(m *Message) { m.View.Members = nil }),
		"all draining":      spoil(func(m *Message) { m.View.Members = m.View.Members[1:] }),
		"unsorted members":  spoil(func(m *Message) { m.View.Members[0].ID = "c" }),
		"repeated member":   spoil(func(m *Message) { m.View.Members[1].ID = "a" }),
		"since the future":  spoil(func(m *Message) { m.View.Members[0].Since = 8 }),
		"control in a name": spoil(func(m *Message) { m.View.Members[0].Name = "\x1b[2J" }),
		"no partitions":     spoil(func(m *Message) { m.View.Cluster.Partitions = 0 }),
		"huge partitions":   spoil(func(m *Message) { m.View.Cluster.Partitions = 1 << 40 }),
	} {
		if got, err := Decode(payload); !errors.Is(err, ErrPayload) {
			t.Errorf("%s: %+v, %v, want ErrPayload", name, got, err)
		}
	}
}

func FuzzMessages(f *testing.F) {
	f.Add(Encode(sampleMessages()))
	f.Add([]byte(`[{"kind":"hello","from":"a","to":"b","number":0}]`))
	f.Fuzz(func(t *testing.T, payload []byte) {
		ms, err := Decode(payload)
		if err != nil {
			return
		}
		again, err := Decode(Encode(ms))
		if err != nil || len(again) != len(ms) {
			t.Fatalf("%d messages, again %d, %v", len(ms), len(again), err)
		}
		// No message may break a core, whatever it has installed.
		for _, state := range []State{{}, {View: sampleView}} {
			core := New(Identity{ID: "b", Boot: 9, Cluster: unknownCluster}, state)
			for _, m := range ms {
				core.Step(Received{m})
				core.Step(Tick{})
			}
		}
	})
}

func manyIDs(n int) []crawl.NodeID {
	var out []crawl.NodeID
	for i := range n {
		out = append(out, crawl.NodeID(fmt.Sprintf("n%04d", i)))
	}
	return out
}

func TestDifference(t *testing.T) {
	t.Parallel()
	other := func(f func(*Cluster)) Cluster {
		c := testCluster
		f(&c)
		return c
	}
	for _, c := range []struct {
		name  string
		other Cluster
		want  string // part of the sentence; "" when they fit
	}{
		{"the same", testCluster, ""},
		{"a node without data", unknownCluster, ""},
		{"name", other(func(c *Cluster) { c.Name = "prod" }), `named "prod", ours "test"`},
		{"id", other(func(c *Cluster) { c.ID = "ffffffffffffffffffffffffffffffff" }), "cluster id ffff"},
		{"partitions", other(func(c *Cluster) { c.Partitions = 512 }), "512 partitions, ours 64"},
		{"virtual nodes", other(func(c *Cluster) { c.VirtualNodes = 20 }), "20 virtual nodes"},
		{"protocol", other(func(c *Cluster) { c.Protocol = 9 }), "protocol version 9"},
	} {
		got := testCluster.Difference(c.other)
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
		if back := c.other.Difference(testCluster); (back == "") != (got == "") {
			t.Errorf("%s: one side refuses and the other does not", c.name)
		}
	}
}

func TestViewActive(t *testing.T) {
	t.Parallel()
	if got := sampleView.Active(); !reflect.DeepEqual(got, []crawl.NodeID{"a"}) {
		t.Errorf("active: %v", got)
	}
	if !sampleView.Lists("b", 9) || sampleView.Lists("b", 8) || sampleView.Lists("c", 1) {
		t.Error("Lists is wrong")
	}
	same := *sampleView
	if same.Digest() != sampleView.Digest() || sampleView.Replicas() != 1 || ring.VirtualNodes != 100 {
		t.Error("digest or replicas are wrong")
	}
}
