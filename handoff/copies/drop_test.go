package copies

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"testing"

	"crawlnode/crawl"
	"crawlnode/handoff/machine"
	"crawlnode/handoff/wire"
)

// oneCopy is a Store with a copy of one partition, of epoch 1, until it is deleted.
type oneCopy struct {
	Store // other methods are not called
	gone  bool
}

func (s *oneCopy) Kept(crawl.Partition) machine.Kept {
	return machine.Kept{Copy: !s.gone, Epoch: 1, MaxEpoch: 1, Seq: 7}
}

func (s *oneCopy) Delete(context.Context, crawl.Partition) error {
	s.gone = true
	return nil
}

// unkept is a History that keeps nothing.
type unkept struct{}

func (unkept) Add(crawl.Partition, crawl.Mutation) bool                   { return false }
func (unkept) Adopt(crawl.Partition, crawl.Epoch, crawl.Seq, crawl.Epoch) {}
func (unkept) Drop(crawl.Partition)                                       {}

func copiesOf(s Store, call func(context.Context, crawl.NodeID, string, any, any) error) *Copies {
	return New(Options{Partitions: 4, Store: s, Call: call, Changed: func() {}, History: unkept{}, Logger: slog.New(slog.DiscardHandler)})
}

// TestLateDrop: an order to drop a copy that comes after a newer link was opened
// leaves the copy alone.
func TestLateDrop(t *testing.T) {
	store := &oneCopy{}
	c := copiesOf(store, nil)
	b := Sender{ID: "b", Boot: 1}
	raw, _ := json.Marshal(wire.Where{Parts: []wire.WherePart{{P: 1, Attempt: 5}}})
	if r, err := c.Where(b, raw); err != nil || len(r.Copies) != 1 || !r.Copies[0].Copy {
		t.Fatalf("%+v, %v", r, err)
	}
	drop := func(from Sender, epoch crawl.Epoch, attempt uint64) error {
		raw, _ := json.Marshal(wire.Drop{Parts: []wire.DropPart{{P: 1, Epoch: epoch, Attempt: attempt}}})
		return c.Drop(t.Context(), from, raw)
	}
	for name, try := range map[string]struct {
		from    Sender
		epoch   crawl.Epoch
		attempt uint64
	}{"older": {b, 3, 4}, "another boot": {Sender{ID: "b", Boot: 2}, 3, 9}, "another node": {Sender{ID: "c", Boot: 1}, 3, 9},
		"of an earlier tenure": {b, 0, 9}} {
		if err := drop(try.from, try.epoch, try.attempt); err != nil || store.gone {
			t.Errorf("%s: the copy is gone, or %v", name, err)
		}
	}
	if err := drop(b, 3, 6); err != nil || !store.gone {
		t.Errorf("the copy stays: %v", err)
	}
}

// A sweep deletes what the owner does not need, unless a link was opened meanwhile; and
// nothing that it was not asked about.
func TestSweepBesideALink(t *testing.T) {
	for name, want := range map[string]bool{"at rest": true, "opened meanwhile": false, "not asked": false, "no answer": false} {
		store := &oneCopy{}
		var c *Copies
		c = copiesOf(store, func(_ context.Context, to crawl.NodeID, kind string, body, reply any) error {
			p := crawl.Partition(1)
			switch name {
			case "opened meanwhile":
				c.marks.Note(p, Sender{ID: "b", Boot: 1}, 9)
			case "not asked":
				p = 2
			case "no answer":
				return errors.New("cut")
			}
			if to != "b" || kind != wire.CallUseless {
				t.Errorf("%s was asked for %s", to, kind)
			}
			reply.(*wire.UselessReply).Drop = []crawl.Partition{p}
			return nil
		})
		c.Sweep(t.Context(), machine.Sweep{View: 3, Parts: map[crawl.NodeID][]crawl.Partition{"b": {1}}})
		if store.gone != want {
			t.Errorf("%s: deleted %v", name, store.gone)
		}
	}
}
