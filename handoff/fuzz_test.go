package handoff

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"

	"crawlnode/crawl"
	"crawlnode/handoff/machine"
	"crawlnode/handoff/wire"
)

// FuzzStream sends a node messages that anything may have sent: it must not panic, nor
// keep more than it was sent, nor change anything for a stranger.
func FuzzStream(f *testing.F) {
	m := crawl.Mutation{Epoch: 2, Seq: 8, Entries: []crawl.Entry{{Key: []byte("k"), Value: []byte("v")}, {Key: []byte("gone")}}}
	f.Add(wire.Hello(1), wire.AppendMutation([]byte{wire.FrameGroup, 1}, 0, &m))
	f.Add(wire.Hello(1), wire.Begin(wire.FrameBegin, 1, 2))
	f.Add(wire.Begin(wire.FrameAsked, 1, 2), wire.AppendEntry([]byte{wire.FrameChunk}, &m.Entries[0]))
	f.Add([]byte{wire.FrameEnd}, wire.Done(1, true))
	f.Add([]byte{wire.FrameGroup, 0xff, 0xff, 0xff, 0xff, 0x0f}, []byte{wire.FrameGroup, 1, 0, 1, 1, 0xff, 0xff, 0x03})
	f.Fuzz(func(t *testing.T, a, b []byte) {
		d := fuzzDriver(t)
		for _, boot := range []crawl.Boot{1, 7} {
			for _, frames := range [][][]byte{{a, b}, {b}} { // a fault in the first ends the stream
				frames = slices.DeleteFunc(frames, func(f []byte) bool { return len(f) > 0 && f[0] == wire.FrameHello }) // the boot is the case's
				err := d.HandleStream(t.Context(), "b", script(append([][]byte{wire.Hello(boot)}, frames...)...))
				if boot == 7 && err == nil && len(frames) > 0 {
					t.Fatal("a stranger changed something")
				}
			}
		}
	})
}

// FuzzCalls: no call makes a node panic, and a stranger's changes nothing.
func FuzzCalls(f *testing.F) {
	for kind, body := range map[string]any{
		wire.CallToken:   wire.Token{P: 1, View: 2, Epoch: 1, Seq: 7, Set: Set{Epoch: 1, Version: 1, Members: []crawl.NodeID{"a", "b"}}},
		wire.CallAsk:     wire.Ask{View: 2, Parts: []crawl.Partition{0, 1, 2, 3}},
		wire.CallRecord:  wire.Record{View: 2, Sets: []wire.PartSet{{P: 1, Set: Set{Epoch: 1, Version: 1, Members: []crawl.NodeID{"a"}}}}},
		wire.CallWhere:   wire.Where{Parts: []wire.WherePart{{P: 1, Attempt: 3}}},
		wire.CallAdopt:   wire.Adopt{Parts: []wire.AdoptPart{{P: 1, From: 1, Seq: 7, Epoch: 2}}},
		wire.CallDrop:    wire.Drop{Parts: []wire.DropPart{{P: 1, Epoch: 2}}},
		wire.CallSend:    wire.Send{Parts: []crawl.Partition{1}},
		wire.CallUseless: wire.Useless{View: 2, Parts: []machine.UselessPart{{P: 1, Epoch: 1}}},
		"nothing":        nil,
	} {
		raw, err := json.Marshal(body)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(kind, raw, uint64(1))
		f.Add(kind, []byte(`{"parts":[{"p":65535}],"p":65535,"sets":[{"p":9,"set":{}}]}`), uint64(1))
		f.Add(kind, raw, uint64(9))
	}
	f.Fuzz(func(t *testing.T, kind string, body []byte, boot uint64) {
		d := fuzzDriver(t)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- d.Run(ctx) }()
		payload, err := json.Marshal(wire.Envelope{Kind: kind, Boot: crawl.Boot(boot), Body: body})
		if err != nil {
			payload = append([]byte(kind), body...)
		}
		store := d.opts.Store.(*memStore)
		before := store.dump()
		_, err = d.HandleCall(ctx, "b", payload)
		if boot != 1 && kind != wire.CallToken && before != store.dump() {
			t.Errorf("a stranger changed something: %v", err)
		}
		cancel()
		if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}

// fuzzDriver is a's, in view 2 with b, above a disk with a copy of all.
func fuzzDriver(t *testing.T) *Driver {
	store := newMemStore()
	for p := range store.parts {
		store.parts[p] = &memPart{copy: true, epoch: 1, maxEpoch: 1, content: map[string]string{}, seq: 7}
	}
	d := NewDriver(Options{Self: "a", Boot: 1, Partitions: memPartitions, Factor: 2, Limits: Limits{Out: 2}, Store: store,
		Fetching: idle{}, Transport: nowhere{}, Changed: func() {}}, nil)
	v := memView(t, 2, "a", "b")
	d.gate.install(&v)
	d.inbox <- installed{v}
	return d
}

// nowhere reaches no node.
type nowhere struct{}

var errNowhere = errors.New("no node is there")

func (nowhere) Call(context.Context, crawl.NodeID, []byte) ([]byte, error) { return nil, errNowhere }
func (nowhere) Open(context.Context, crawl.NodeID) (Stream, error)         { return nil, errNowhere }

// idle fetches nothing.
type idle struct{}

func (idle) Freeze(context.Context, crawl.Partition) error { return nil }
func (idle) Resume(crawl.Partition)                        {}
func (idle) Drop(crawl.Partition)                          {}
func (idle) Hold(crawl.Partition, crawl.Epoch)             {}
