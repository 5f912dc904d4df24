package ticks

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// TestDeadlines checks that a task has its time, and at most a tenth more, whenever it begins.
func TestDeadlines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const limit = 500 * time.Millisecond
		d := NewDeadlines(limit)
		contexts := map[context.Context]bool{}
		for range 100 {
			begun := time.Now()
			ctx, cancel := d.Begin(context.Background())
			contexts[ctx] = true
			if ctx.Err() != nil {
				t.Fatal("a task begins after its time")
			}
			end, ok := ctx.Deadline()
			if left := end.Sub(begun); !ok || left < limit || left > limit+limit/10 {
				t.Errorf("a task has %v, want %v to %v", left, limit, limit+limit/10)
			}
			cancel()
			time.Sleep(7 * time.Millisecond)
		}
		if n := len(contexts); n > 15 {
			t.Errorf("100 tasks in 700 ms had %d contexts, want at most 15", n)
		}
		ctx, _ := d.Begin(context.Background())
		<-ctx.Done()
		if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
			t.Errorf("a task ended with %v", ctx.Err())
		}
	})
}

// TestDeadlinesOfOneTask checks that a parent's end, and cancel, end a task whose parent can be
// cancelled, and no other.
func TestDeadlinesOfOneTask(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := NewDeadlines(time.Second)
		other, _ := d.Begin(context.WithoutCancel(t.Context()))
		parent, end := context.WithCancel(context.Background())
		defer end()
		first, cancel := d.Begin(parent)
		second, cancelSecond := d.Begin(parent)
		defer cancelSecond()
		if cancel(); first.Err() == nil || second.Err() != nil {
			t.Errorf("after cancel: %v, %v, want only the first ended", first.Err(), second.Err())
		}
		if end(); second.Err() == nil || other.Err() != nil {
			t.Errorf("after the parent's end: %v, %v, want only its own ended", second.Err(), other.Err())
		}
	})
}
