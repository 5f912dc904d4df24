package acks

import (
	"context"
	"errors"
	"testing"

	"crawlnode/crawl"
	"crawlnode/handoff/machine"
)

// bookOf is a book in which partition 0 is held in epoch 8 and b must acknowledge.
func bookOf() *Tracker {
	b := New(1)
	b.Set(machine.SetAcks{P: 0, Epoch: 8, Nodes: []crawl.NodeID{"b"}, Full: true})
	b.LinkOpened("b", 0, 3)
	return b
}

// A partition may change hands between the look at the store and the question.
func TestOtherTenure(t *testing.T) {
	b := bookOf()
	for _, epoch := range []crawl.Epoch{0, 5, 9} {
		if _, err := b.Wait(Tenure{P: 0, Epoch: epoch}, 1, false); !errors.Is(err, ErrNotAcknowledged) {
			t.Errorf("the book answers for epoch %d: %v", epoch, err)
		}
	}
	b.End(0)
	if _, err := b.Wait(Tenure{P: 0, Epoch: 8}, 0, false); !errors.Is(err, ErrNotAcknowledged) {
		t.Errorf("the book answers for a tenure that is over: %v", err)
	}
}

// A waiter ends with the acknowledgement of its mutation, on the open link alone, or
// with the tenure; one that has left is forgotten.
func TestWaiters(t *testing.T) {
	b := bookOf()
	wait := func(seq crawl.Seq) *Waiter {
		t.Helper()
		w, err := b.Wait(Tenure{P: 0, Epoch: 8}, seq, false)
		if err != nil || w == nil {
			t.Fatalf("mutation %d: %v, %v", seq, w, err)
		}
		return w
	}
	five, six, gone := wait(5), wait(6), wait(7)
	over, cancel := context.WithCancel(context.Background())
	cancel()
	if err := b.Await(over, 0, gone); !errors.Is(err, context.Canceled) {
		t.Errorf("a caller whose context is over: %v", err)
	}
	b.Acknowledged("b", 0, 2, 9) // of a link that is closed
	b.Acknowledged("b", 0, 3, 5)
	select {
	case err := <-five.Done():
		if err != nil {
			t.Error(err)
		}
	default:
		t.Error("what is acknowledged is waited for")
	}
	if n := len(b.parts[0].waiters); n != 1 || len(six.Done()) > 0 {
		t.Errorf("%d callers wait, want the one for mutation 6", n)
	}
	if w, err := b.Wait(Tenure{P: 0, Epoch: 8}, 5, true); w != nil || err != nil {
		t.Errorf("acknowledged already: %v, %v", w, err)
	}
	b.Close()
	if err := <-six.Done(); !errors.Is(err, ErrNotAcknowledged) {
		t.Errorf("at the end: %v", err)
	}
	if len(gone.Done()) > 0 {
		t.Error("a caller that has left was told")
	}
}

// A caller that stops waiting while its result is sent leaves nothing behind for the next one, which gets the same Waiter.
func TestWaitersAreUsedAgain(t *testing.T) {
	b := bookOf()
	over, cancel := context.WithCancel(context.Background())
	cancel()
	for seq := crawl.Seq(5); seq < 50; seq++ {
		w, err := b.Wait(Tenure{P: 0, Epoch: 8}, seq, false)
		if err != nil || w == nil || len(w.Done()) > 0 {
			t.Fatalf("mutation %d: %v, %v", seq, w, err)
		}
		b.Acknowledged("b", 0, 3, seq)
		if err := b.Await(over, 0, w); err != nil && !errors.Is(err, context.Canceled) {
			t.Fatalf("mutation %d: %v", seq, err)
		}
		if len(w.Done()) > 0 || len(b.free) != 1 {
			t.Fatalf("mutation %d: the waiter holds %d results, and %d are kept", seq, len(w.Done()), len(b.free))
		}
	}
}

// A confirmation comes with the acknowledgement, and not from a link that fails.
func TestConfirm(t *testing.T) {
	b := bookOf()
	a := machine.ConfirmLink{P: 0, Node: "b", Attempt: 3}
	done := b.Confirm(a, 5)
	b.Acknowledged("b", 0, 3, 5)
	if got, ok := <-done; !ok || got != a {
		t.Errorf("%+v, %v", got, ok)
	}
	if b.Confirm(a, 5) != nil {
		t.Error("what is acknowledged is to be confirmed")
	}
	later := b.Confirm(a, 6)
	b.LinkClosed("b", 0, 3)
	if _, ok := <-later; ok {
		t.Error("a link that is closed was confirmed")
	}
	if _, ok := <-b.Confirm(a, 6); ok {
		t.Error("a link that was closed before was confirmed")
	}
}

// While a replica that must acknowledge does not answer, callers are told at once.
func TestSilent(t *testing.T) {
	b := bookOf()
	b.Answered("b", false)
	if _, err := b.Wait(Tenure{P: 0, Epoch: 8}, 1, false); !errors.Is(err, ErrSilent) {
		t.Errorf("b is silent: %v", err)
	}
	b.Answered("b", true)
	if w, err := b.Wait(Tenure{P: 0, Epoch: 8}, 1, false); w == nil || err != nil {
		t.Errorf("b answers again: %v, %v", w, err)
	}
}
