package handoff

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"crawlnode/crawl"
	"crawlnode/handoff/machine"
	"crawlnode/handoff/wire"
)

// TestStalledMember: the disk of one of three does not answer, with mutations under
// way to it, and then another one dies. The stalled one is a member and must be asked;
// it answers from memory, so the third takes over what is its own.
func TestStalledMember(t *testing.T) {
	for i, dead := range three {
		taker, stalled := three[(i+1)%3], three[(i+2)%3]
		bubble(t, three, func(t *testing.T, w *memNet) {
			v := w.install(1, three...)
			w.awaitRest(v)
			goOn := w.nodes[stalled].store.stall()
			stop := w.load()
			// A set that the dead one wants recorded waits in the gate.
			body, _ := json.Marshal(wire.Record{View: 1, Sets: []wire.PartSet{{P: 0, Set: Set{Epoch: 1, Version: 1, Members: three}}}})
			payload, _ := json.Marshal(wire.Envelope{Kind: wire.CallRecord, Boot: 1, Body: body})
			recorded := make(chan error, 1)
			go func() {
				_, err := w.nodes[stalled].driver.HandleCall(context.WithoutCancel(t.Context()), dead, payload)
				recorded <- err
			}()
			time.Sleep(100 * time.Millisecond)
			if err := w.nodes[dead].stop(); err != nil {
				t.Fatal(err)
			}
			next := w.install(2, taker, stalled)
			time.Sleep(3 * time.Second)
			for p := range crawl.Partition(memPartitions) {
				k := w.nodes[taker].store.Kept(p)
				copied := slices.Contains(v.Table.Replicas(p), taker)
				if v.Table.Owner(p) == dead && next.Table.Owner(p) == taker && copied && (k.State != Holding || k.Epoch != 2) {
					t.Errorf("partition %d of %s is %+v at %s, which owns it", p, dead, k, taker)
				}
			}
			goOn()
			if err := <-recorded; !errors.Is(err, errRevoked) {
				t.Errorf("the dead node's set was recorded behind the answer: %v", err)
			}
			time.Sleep(time.Second)
			stop()
			w.awaitRest(next)
		})
	}
}

// TestSealedBeforeAnswer: a release to a node that is gone is not answered with "not I"
// before it is sealed on the disk; the asker gets all other answers meanwhile.
func TestSealedBeforeAnswer(t *testing.T) {
	bubble(t, []crawl.NodeID{"b", "a", "c"}, func(t *testing.T, w *memNet) {
		b := w.nodes["b"]
		if err := b.stop(); err != nil {
			t.Fatal(err)
		}
		_ = b.store.part(1, func(x *memPart) error {
			x.state, x.to, x.view = Released, "a", 1
			return nil
		})
		b.start()
		goOn := b.store.stall()
		w.install(2, "b", "c")
		synctest.Wait()
		ask := func() map[crawl.Partition]machine.Answer {
			told, err := b.driver.answer(t.Context(), wire.Ask{View: 2, Parts: []crawl.Partition{0, 1}})
			if err != nil {
				t.Fatal(err)
			}
			out := map[crawl.Partition]machine.Answer{}
			for _, a := range told.Answers {
				out[a.P] = a
			}
			return out
		}
		got := ask()
		if x, ok := got[0]; !ok || !x.Holds {
			t.Errorf("of what b holds it answers %+v, %v", x, ok)
		}
		if x, ok := got[1]; ok {
			t.Errorf("a release that is not sealed was answered with %+v", x)
		}
		goOn()
		synctest.Wait()
		if x, ok := ask()[1]; !ok || x.Holds || !x.Copy {
			t.Errorf("of the sealed release b answers %+v, %v", x, ok)
		}
	})
}

// TestRevoked: what outlasts the view in which it was let in is not acknowledged.
func TestRevoked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g gate
		v := memView(t, 1, "a", "b")
		g.install(&v)
		for _, long := range []bool{false, true} {
			release, got := make(chan struct{}), make(chan error, 1)
			go func() { got <- g.Pass("b", 1, func() error { <-release; return nil }) }()
			synctest.Wait()
			if !long {
				time.AfterFunc(gatePatience/2, func() { close(release) })
			}
			begun := time.Now()
			g.install(&v)
			if took := time.Since(begun); took > gatePatience {
				t.Errorf("the view waited for %v", took)
			}
			entered := g.Pass("b", 1, func() error { return nil })
			if long {
				close(release)
			}
			if err := <-got; errors.Is(err, errRevoked) != long || entered != nil {
				t.Errorf("long %v: it ended with %v; the next one with %v", long, err, entered)
			}
		}
	})
}

// TestAskedAtAnotherView: a node at a newer view answers that at once, one at an older
// view when the deadline of the asker is over.
func TestAskedAtAnotherView(t *testing.T) {
	bubble(t, three, func(t *testing.T, w *memNet) {
		w.awaitRest(w.install(2, three...))
		d := w.nodes["b"].driver
		told, err := d.answer(t.Context(), wire.Ask{View: 1, Parts: []crawl.Partition{0}})
		if err != nil || told.Answers != nil || len(told.Past) == 0 {
			t.Errorf("of an older view: %+v, %v", told, err)
		}
		goOn := w.nodes["b"].store.stall()
		defer goOn()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if told, err := d.answer(ctx, wire.Ask{View: 3, Parts: []crawl.Partition{0}}); told.Answers != nil {
			t.Errorf("of a view that is not installed: %+v, %v", told, err)
		}
	})
}
