package commit

import (
	"context"
	"sync/atomic"
	"time"
)

// stopwatch adds up how long one goroutine spends in something. Others can read it
// meanwhile. The zero value has measured nothing.
type stopwatch struct {
	base  time.Time    // what begun counts from; set before it is used
	total atomic.Int64 // nanoseconds that are over
	begun atomic.Int64 // nanoseconds from base to the beginning of what goes on; 0: nothing
}

// during calls f and counts the time that it takes.
func (s *stopwatch) during(f func() error) error {
	start := time.Since(s.base)
	s.begun.Store(int64(start))
	err := f()
	s.begun.Store(0)
	s.total.Add(int64(time.Since(s.base) - start))
	return err
}

// read is the time so far, with what goes on. It may be short of that by one turn.
func (s *stopwatch) read() time.Duration {
	sum := time.Duration(s.total.Load())
	if begun := s.begun.Load(); begun > 0 {
		sum += time.Since(s.base) - time.Duration(begun)
	}
	return sum
}

// Waited is how long acknowledgements have waited for the disk since New: the longer
// of the time in writes and, where acknowledgements wait for that, in syncs. It never
// falls by much, and a write that hangs counts already.
func (w *Writer) Waited() time.Duration { return max(w.writing.read(), w.syncing.read()) }

// present is how long the present turn has taken; 0: there is none.
func (s *stopwatch) present() time.Duration {
	begun := s.begun.Load()
	if begun == 0 {
		return 0
	}
	return time.Since(s.base) - time.Duration(begun)
}

// Stalled is how long the disk has taken for what it is asked to do now: a write of
// the writer, or a sync that acknowledgements wait for. 0: it is asked for nothing.
func (w *Writer) Stalled() time.Duration {
	return max(w.writing.present(), w.syncing.present())
}

// touchable is a KV whose disk can be tried without changing anything.
type touchable interface{ Touch() error }

// Beat has the writer try the disk, and returns when that is done. So a node with nothing
// to store also notices a disk that does not answer.
func (w *Writer) Beat(ctx context.Context) error {
	kv, ok := w.KV.(touchable)
	if !ok {
		return nil
	}
	return w.Do(ctx, &Request{Small: true, Solo: true, Apply: func(g *Group) error {
		if err := w.writing.during(kv.Touch); err != nil {
			g.Fail(err)
		}
		return nil
	}})
}
