package handoff

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"crawlnode/crawl"
	"crawlnode/handoff/machine"
)

// FuzzStream gives a receiver messages that anybody may have sent: it must not
// panic, nor keep more than it was sent, nor change anything for a stranger.
func FuzzStream(f *testing.F) {
	m := crawl.Mutation{Epoch: 2, Seq: 8, Entries: []crawl.Entry{{Key: []byte("k"), Value: []byte("v")}, {Key: []byte("gone")}}}
	f.Add(helloFrame(1), appendMutation([]byte{frameGroup, 1}, 0, &m))
	f.Add(helloFrame(1), beginFrame(frameBegin, 1, 2))
	f.Add(beginFrame(frameAsked, 1, 2), appendEntry([]byte{frameChunk}, &m.Entries[0]))
	f.Add([]byte{frameEnd}, doneFrame(1, true))
	f.Add([]byte{frameGroup, 0xff, 0xff, 0xff, 0xff, 0x0f}, []byte{frameGroup, 1, 0, 1, 1, 0xff, 0xff, 0x03})
	f.Fuzz(func(t *testing.T, a, b []byte) {
		d := fuzzDriver(t)
		for _, boot := range []crawl.Boot{1, 7} {
			r := &receiver{d: d, from: "b", boot: boot}
			for _, frame := range [][]byte{a, b} {
				if len(frame) > 0 && frame[0] == frameHello {
					continue // the boot is the case's
				}
				if _, err := r.take(t.Context(), frame); boot == 7 && err == nil {
					t.Fatal("a stranger changed something")
				}
			}
			r.abandon(t.Context())
		}
	})
}

// FuzzFrames: what was decoded is what was encoded.
func FuzzFrames(f *testing.F) {
	m := crawl.Mutation{Epoch: 2, Seq: 8, Entries: []crawl.Entry{{Key: []byte("k"), Value: []byte("v")}, {Key: []byte("gone")}}}
	f.Add(appendMutation(appendMutation(nil, 3, &m), 0, &m))
	f.Add([]byte{0, 1, 1, 0xff, 0xff, 0x03})
	f.Fuzz(func(t *testing.T, b []byte) {
		fr := frameReader{b: b}
		ms := fr.mutations()
		if fr.end("mutations") != nil {
			return
		}
		var again []byte
		n := 0
		for i := range ms {
			again = appendMutation(again, ms[i].Partition, &ms[i].Mutation)
			n += len(ms[i].Entries)
		}
		if n > len(b) {
			t.Fatalf("%d entries in %d bytes", n, len(b))
		}
		fr = frameReader{b: again}
		if third := fr.mutations(); fr.end("mutations") != nil || len(third) != len(ms) {
			t.Fatalf("%x became %x", b, again)
		}
	})
}

// FuzzCalls: no call makes a node panic, and a stranger's changes nothing.
func FuzzCalls(f *testing.F) {
	for kind, body := range map[string]any{
		callToken:   tokenCall{P: 1, View: 2, Epoch: 1, Seq: 7, Set: Set{Epoch: 1, Version: 1, Members: []crawl.NodeID{"a", "b"}}},
		callAsk:     askCall{View: 2, Parts: []crawl.Partition{0, 1, 2, 3}},
		callRecord:  recordCall{View: 2, Sets: []partSet{{P: 1, Set: Set{Epoch: 1, Version: 1, Members: []crawl.NodeID{"a"}}}}},
		callWhere:   whereCall{Parts: []wherePart{{P: 1, Attempt: 3}}},
		callAdopt:   adoptCall{Parts: []adoptPart{{P: 1, From: 1, Seq: 7, Epoch: 2}}},
		callDrop:    dropCall{Parts: []dropPart{{P: 1, Epoch: 2}}},
		callSend:    sendCall{Parts: []crawl.Partition{1}},
		callUseless: uselessCall{View: 2, Parts: []machine.UselessPart{{P: 1, Epoch: 1}}},
		"nothing":   nil,
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
		payload, err := json.Marshal(envelope{Kind: kind, Boot: crawl.Boot(boot), Body: body})
		if err != nil {
			payload = append([]byte(kind), body...)
		}
		store := d.opts.Store.(*memStore)
		before := store.dump()
		_, err = d.HandleCall(ctx, "b", payload)
		if boot != 1 && kind != callToken && before != store.dump() {
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

// nowhere reaches nobody.
type nowhere struct{}

var errNowhere = errors.New("nobody is there")

func (nowhere) Call(context.Context, crawl.NodeID, []byte) ([]byte, error) { return nil, errNowhere }
func (nowhere) Open(context.Context, crawl.NodeID) (Stream, error)         { return nil, errNowhere }

// idle fetches nothing.
type idle struct{}

func (idle) Freeze(context.Context, crawl.Partition) error { return nil }
func (idle) Resume(crawl.Partition)                        {}
func (idle) Drop(crawl.Partition)                          {}
func (idle) Hold(crawl.Partition, crawl.Epoch, bool)       {}
