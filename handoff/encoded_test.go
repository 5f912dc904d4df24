package handoff

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"crawlnode/crawl"
	"crawlnode/handoff/wire"
)

// payloads is a Transport whose nodes store all sets that they are sent.
type payloads struct {
	mu   sync.Mutex // guards sent
	sent map[crawl.NodeID][]byte
}

func (x *payloads) Call(_ context.Context, to crawl.NodeID, payload []byte) ([]byte, error) {
	x.mu.Lock()
	x.sent[to] = payload
	x.mu.Unlock()
	var e wire.Envelope
	var q wire.Record
	if err := json.Unmarshal(payload, &e); err != nil {
		return nil, err
	}
	if err := wire.Decode(e.Body, &q); err != nil {
		return nil, err
	}
	var r wire.RecordReply
	for _, s := range q.Sets {
		r.Stored = append(r.Stored, s.P)
	}
	return json.Marshal(r)
}

func (*payloads) Open(context.Context, crawl.NodeID) (Stream, error) { return nil, errNowhere }

// TestRecordsAreEncodedOnce: a batch of sets is one piece of memory, however many members get it.
func TestRecordsAreEncodedOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		x := &payloads{sent: map[crawl.NodeID][]byte{}}
		d := &Driver{opts: Options{Self: "a", Boot: 3, Transport: x, Logger: slog.New(slog.DiscardHandler)}}
		r := newRecorder(d)
		others := []crawl.NodeID{"b", "c", "d"}
		call := wire.Record{View: 7, Sets: []wire.PartSet{{P: 1, Set: Set{Epoch: 7, Version: 1, Members: []crawl.NodeID{"a", "b"}}}, {P: 2, Set: Set{Epoch: 7, Members: []crawl.NodeID{"a"}}}}}
		stored := map[crawl.Partition]int{1: 1, 2: 1}
		r.gather(t.Context(), call, others, stored, 4)
		d.wg.Wait()
		if stored[1] != 4 || stored[2] != 4 {
			t.Errorf("stored by %v, want by all four", stored)
		}
		first := x.sent["b"]
		for _, id := range others {
			if b := x.sent[id]; len(b) == 0 || len(b) != len(first) || &b[0] != &first[0] {
				t.Errorf("%s got %q, b got %q: it was encoded again", id, b, first)
			}
		}
		var e wire.Envelope
		var q wire.Record
		if err := json.Unmarshal(first, &e); err != nil || e.Kind != wire.CallRecord || e.Boot != 3 {
			t.Errorf("sent %q: %v", first, err)
		}
		if err := wire.Decode(e.Body, &q); err != nil || q.View != 7 || len(q.Sets) != 2 || !slices.Equal(q.Sets[0].Set.Members, call.Sets[0].Set.Members) {
			t.Errorf("sent %+v: %v", q, err)
		}
	})
}
