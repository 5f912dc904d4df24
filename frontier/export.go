package frontier

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"crawlnode/crawl"
)

// ErrTailOverrun says that the mutations came faster than they were taken: the
// copy has to be begun again.
var ErrTailOverrun = errors.New("frontier: the tail of mutations is longer than its bound")

// Mutation is one group's change of one partition. Keys are relative, so they
// mean the same on every node; each occurs once, in no order.
type Mutation struct {
	Seq     crawl.Seq
	Entries []Entry
}

// Export is a partition on its way to another node: first Snapshot, then Tail.
// It is for one goroutine. Close it.
type Export struct {
	f    *Frontier
	view view
	seq  crawl.Seq
	tail *tail
}

// tailBytes bounds the mutations of one Export that wait to be taken.
const tailBytes = 16 << 20

// Export attaches to a held partition between two groups: the snapshot has all
// mutations up to Seq, the tail all that follow. A released partition does not
// change any more: its tail ends at once.
func (f *Frontier) Export(ctx context.Context, p crawl.Partition) (*Export, error) {
	var e *Export
	err := f.alone(ctx, false, func(g *group) error {
		pg := g.part(p)
		if pg.state.State != Holder && pg.state.State != Released {
			return fmt.Errorf("%w: it is %s", ErrNotHolder, pg.state.State)
		}
		snap, err := f.kv.Snapshot()
		if err != nil {
			return err
		}
		t := &tail{signal: make(chan struct{}, 1), frozen: pg.state.frozen || pg.state.State == Released}
		pg.part.tails = append(pg.part.tails, t)
		e = &Export{f: f, view: view{snap: snap, gen: pg.gen()}, seq: pg.state.Seq, tail: t}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("frontier: exporting partition %d: %w", p, err)
	}
	return e, nil
}

// Lag is the number of mutations that wait for Tail.
func (e *Export) Lag() int {
	e.tail.mu.Lock()
	defer e.tail.mu.Unlock()
	return len(e.tail.queue)
}

// Seq is the number of the last mutation in the snapshot.
func (e *Export) Seq() crawl.Seq { return e.seq }

// Snapshot hands all entries of the partition to fn, in pieces of about
// chunkBytes; an entry that is larger (a robots.txt of up to 500 KiB) comes
// alone. It ends with the first error of fn or of ctx.
func (e *Export) Snapshot(ctx context.Context, chunkBytes int, fn func([]Entry) error) error {
	it := e.view.iterate(nil)
	defer it.Close()
	var chunk []Entry
	size := 0
	for it.Seek(e.view.abs(nil)); it.Valid(); it.Next() {
		value, err := it.Value()
		if err != nil {
			return err
		}
		entry := Entry{Key: bytes.Clone(it.Key()[prefixLen:]), Value: bytes.Clone(value)}
		n := len(entry.Key) + len(entry.Value)
		if len(chunk) > 0 && size+n > chunkBytes {
			if err := send(ctx, fn, chunk); err != nil {
				return err
			}
			chunk, size = nil, 0
		}
		chunk = append(chunk, entry)
		size += n
	}
	if len(chunk) == 0 {
		return ctx.Err()
	}
	return send(ctx, fn, chunk)
}

func send(ctx context.Context, fn func([]Entry) error, chunk []Entry) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return fn(chunk)
}

// Tail returns the mutations that follow, in order, and waits for one. It
// returns io.EOF when the partition is frozen and all were returned: then the
// receiver has everything. It fails with ErrTailOverrun when the mutations that
// wait are beyond 16 MiB.
func (e *Export) Tail(ctx context.Context) ([]Mutation, error) {
	for {
		ms, err := e.tail.take()
		if len(ms) > 0 || err != nil {
			return ms, err
		}
		select {
		case <-e.tail.signal:
		case <-e.f.stopped:
			if ms, err := e.tail.take(); len(ms) > 0 || err != nil {
				return ms, err
			}
			return nil, ErrStopped
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// Close detaches from the partition.
func (e *Export) Close() {
	e.tail.fail(errTailClosed)
	e.view.close()
}

var errTailClosed = errors.New("frontier: the export was closed")

// tail is a bounded queue of mutations from the writer to one Export.
type tail struct {
	signal chan struct{} // cap 1: look again

	mu     sync.Mutex // guards the fields below
	queue  []Mutation
	bytes  int
	frozen bool
	err    error
}

func (t *tail) wake() {
	select {
	case t.signal <- struct{}{}:
	default:
	}
}

// push appends a mutation; false when nobody will take it.
func (t *tail) push(m Mutation) bool {
	defer t.wake()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err != nil {
		return false
	}
	for _, e := range m.Entries {
		t.bytes += len(e.Key) + len(e.Value)
	}
	if t.bytes > tailBytes {
		t.queue, t.err = nil, ErrTailOverrun
		return false
	}
	t.queue = append(t.queue, m)
	return true
}

func (t *tail) take() ([]Mutation, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.err != nil:
		return nil, t.err
	case len(t.queue) > 0:
		ms := t.queue
		t.queue, t.bytes = nil, 0
		return ms, nil
	case t.frozen:
		return nil, io.EOF
	}
	return nil, nil
}

func (t *tail) freeze(frozen bool) {
	t.mu.Lock()
	t.frozen = frozen
	t.mu.Unlock()
	t.wake()
}

func (t *tail) fail(err error) {
	t.mu.Lock()
	if t.err == nil {
		t.queue, t.err = nil, err
	}
	t.mu.Unlock()
	t.wake()
}

// deliver hands a mutation to the tails, and forgets those that are over.
func (p *partition) deliver(m Mutation) {
	p.tails = slices.DeleteFunc(p.tails, func(t *tail) bool { return !t.push(m) })
}
