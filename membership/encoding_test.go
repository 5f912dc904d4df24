package membership

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/memberlist"

	"crawlnode/crawl"
	"crawlnode/ring"
)

var sampleView = &View{
	Number: 7, Cluster: testCluster, Left: []Departure{{"z", 2}},
	Removed: []Removal{{ID: "x", Boot: 3, Name: "n3"}, {ID: "z", Boot: 2, Name: "n4", Proved: true}},
	Barred:  []crawl.NodeID{"u", "w"},
	Members: []Member{
		{ID: "a", Name: "n<1>", Boot: 1, Since: 1, RPC: "127.0.0.1:3", HTTP: "127.0.0.1:1", Gossip: "127.0.0.1:2", Process: Process{"0123456789abcdef", 77, 1 << 40}},
		{ID: "b", Name: "n2", Boot: 9, Since: 4, Draining: true},
	},
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
	got, err := decodeMessages(encodeMessages(want))
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("decoded %+v, %v, want %+v", got, err, want)
	}
	if got, err := decodeMessages(nil); err != nil || len(got) != 0 {
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
		return encodeMessages([]Message{m})
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
		"too many silent":   spoil(func(m *Message) { m.Silent = manyIDs(maxBarred + 1) }),
		"long digest":       spoil(func(m *Message) { m.Digest = strings.Repeat("0", 17) }),
		"barred member":     spoil(func(m *Message) { m.View.Barred = []crawl.NodeID{"a"} }),
		"too many barred":   spoil(func(m *Message) { m.View.Barred = manyIDs(maxBarred + 1) }),
		"unsorted removals": spoil(func(m *Message) { m.View.Removed[1].ID = "a" }),
		"removal of boot 0": spoil(func(m *Message) { m.View.Removed[0].Boot = 0 }),
		"process below 0":   spoil(func(m *Message) { m.View.Members[0].PID = -1 }),
		"long machine":      spoil(func(m *Message) { m.View.Members[0].Machine = strings.Repeat("0", 17) }),
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
		if got, err := decodeMessages(payload); !errors.Is(err, ErrPayload) {
			t.Errorf("%s: %+v, %v, want ErrPayload", name, got, err)
		}
	}
}

func FuzzMessages(f *testing.F) {
	f.Add(encodeMessages(sampleMessages()))
	f.Add([]byte(`[{"kind":"hello","from":"a","to":"b","number":0}]`))
	f.Fuzz(func(t *testing.T, payload []byte) {
		ms, err := decodeMessages(payload)
		if err != nil {
			return
		}
		again, err := decodeMessages(encodeMessages(ms))
		if err != nil || len(again) != len(ms) {
			t.Fatalf("%d messages, again %d, %v", len(ms), len(again), err)
		}
		// No message may break a core, whatever it has installed.
		for _, state := range []State{{}, {View: sampleView}} {
			core := NewCore(Identity{ID: "b", Boot: 9, Cluster: unknownCluster}, state)
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

func sampleMeta() meta {
	return meta{Boot: 12, Status: Draining, Name: "n1", Cluster: testCluster, RPC: "127.0.0.1:27297", HTTP: "[::1]:27295",
		Process: Process{"0123456789abcdef", 4711, 12345}}
}

func TestMeta(t *testing.T) {
	t.Parallel()
	for _, cluster := range []Cluster{testCluster, unknownCluster} {
		want := sampleMeta()
		want.Cluster = cluster
		raw, err := want.encode()
		if err != nil {
			t.Fatal(err)
		}
		if got, err := decodeMeta(raw); err != nil || got != want {
			t.Errorf("decoded %+v, %v, want %+v", got, err, want)
		}
		if got, err := decodeMeta(append(raw, "of a later release"...)); err != nil || got != want {
			t.Errorf("with more behind it: %+v, %v", got, err)
		}
		for n := range raw {
			if _, err := decodeMeta(raw[:n]); !errors.Is(err, errMeta) {
				t.Errorf("%d of %d bytes: %v", n, len(raw), err)
			}
		}
	}
	older := sampleMeta()
	older.Cluster.Protocol = ProtocolVersion - 1
	raw, err := older.encode()
	if err != nil {
		t.Fatal(err)
	}
	// What another release has behind the protocol may look otherwise.
	if _, err := decodeMeta(raw[:len(raw)-4]); !errors.Is(err, errMeta) || !strings.Contains(err.Error(), fmt.Sprintf("protocol version %d, we speak %d", ProtocolVersion-1, ProtocolVersion)) {
		t.Errorf("metadata of another release: %v, want both versions", err)
	}
	full := sampleMeta()
	full.Name, full.Cluster.Name = strings.Repeat("n", maxNameBytes), strings.Repeat("c", maxNameBytes)
	full.RPC, full.HTTP = strings.Repeat("r", maxAddressBytes), strings.Repeat("h", maxAddressBytes)
	full.Boot, full.PID, full.Started = maxNumber, maxPID, maxNumber
	if raw, err := full.encode(); err != nil || len(raw) > memberlist.MetaMaxSize {
		t.Errorf("the longest names take %d bytes: %v", len(raw), err)
	}
}

func FuzzMeta(f *testing.F) {
	m := sampleMeta()
	raw, _ := m.encode()
	f.Add(raw)
	f.Add([]byte{metaVersion, 0, 0, 1})
	f.Fuzz(func(t *testing.T, raw []byte) {
		m, err := decodeMeta(raw)
		if err != nil {
			return
		}
		again, err := m.encode()
		if err != nil {
			t.Fatal(err)
		}
		if got, err := decodeMeta(again); err != nil || got != m {
			t.Fatalf("%+v becomes %+v, %v", m, got, err)
		}
	})
}

func sampleDocument() *document {
	accepted := *sampleView
	accepted.Number++
	return &document{
		ID: "a", Boot: 5, Cluster: testCluster, Peers: []string{"127.0.0.1:27296"}, Former: []former{{"y", "n9", "127.0.0.1:5"}},
		State: State{View: sampleView, Promised: Ballot{4, "b"}, Accepted: Ballot{4, "b"}, AcceptedView: &accepted, Forgotten: []crawl.NodeID{"q"}},
	}
}

// overwrite leaves blanks behind the content, as a file does that keeps its size.
func overwrite(path string, content []byte) error {
	return os.WriteFile(path, append(content, "\n \n"...), 0o600)
}

func TestFileKeepsDocument(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := NewFile(dir, overwrite)
	if raw, err := file.Load(); raw != nil || err != nil {
		t.Fatalf("an empty directory holds %q, %v", raw, err)
	}
	want := sampleDocument()
	for range 2 {
		if err := file.Save(encodeDocument(want)); err != nil {
			t.Fatal(err)
		}
	}
	raw, err := NewFile(dir, nil).Load()
	if err != nil {
		t.Fatal(err)
	}
	got, err := decodeDocument(raw)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("read back %+v, %v", got, err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) != 1 {
		t.Errorf("files left: %v", left)
	}
	if err := NewFile(filepath.Join(dir, "missing"), overwrite).Save(raw); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("saving into a missing directory: %v", err)
	}
}

// TestDocumentDamage flips each bit and cuts at each byte: nothing may go
// unnoticed, or the node would forget a promise.
func TestDocumentDamage(t *testing.T) {
	t.Parallel()
	want := sampleDocument()
	raw := encodeDocument(want)
	for i := range len(raw) - 1 { // the last byte is the newline
		for _, bit := range []int{i % 8, 5} { // 5 turns capitals into small letters
			raw[i] ^= 1 << bit
			if got, err := decodeDocument(raw); err == nil && !reflect.DeepEqual(got, want) {
				t.Errorf("bit %d of byte %d: %+v", bit, i, got)
			} else if err != nil && !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrForeign) {
				t.Errorf("bit %d of byte %d: %v", bit, i, err)
			}
			raw[i] ^= 1 << bit
		}
		if _, err := decodeDocument(raw[:i]); !errors.Is(err, ErrCorrupt) {
			t.Errorf("cut at %d: %v", i, err)
		}
	}
	if _, err := decodeDocument([]byte(`{"format":2}`)); !errors.Is(err, ErrForeign) {
		t.Errorf("a newer format: %v", err)
	}
}

func FuzzDocument(f *testing.F) {
	f.Add(encodeDocument(sampleDocument()))
	f.Add([]byte(`{"format":1,"crc":0,"body":{}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		d, err := decodeDocument(raw)
		if err == nil {
			if _, err := decodeDocument(encodeDocument(d)); err != nil {
				t.Fatal(err)
			}
		}
	})
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
		got := testCluster.difference(c.other)
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
		if back := c.other.difference(testCluster); (back == "") != (got == "") {
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
	if same.Digest() != sampleView.Digest() || sampleView.replicas() != 1 || ring.VirtualNodes != 100 {
		t.Error("digest or replicas are wrong")
	}
}
