package commit

import (
	"context"
	"sync"
	"time"

	"crawlnode/frontier/layout"
	"crawlnode/frontier/storage"
)

// Dead is what this node has on disk of copies that it does not use any more, and how
// deleting it goes.
type Dead struct {
	Generations int
	Bytes       int64 // about; what was dead at the start is not counted
	// Err is the error of the last try, since Since; nil: it went well.
	Err   error
	Since time.Time
}

// Dead returns what waits to be deleted.
func (w *Writer) Dead() Dead { return w.DeadList.read() }

// deadList lists the generations that are to be deleted. The list on disk is the
// truth: this one is made from it at the start.
type deadList struct {
	waits *todo[layout.Generation]

	mu    sync.Mutex                  // guards the rest
	bytes map[layout.Generation]int64 // of all, the one that is being deleted too
	total int64
	freed chan struct{} // closed when total falls, and then made anew
	err   error
	since time.Time
}

func newDeadList() *deadList {
	return &deadList{
		waits: newTodo[layout.Generation](),
		bytes: map[layout.Generation]int64{},
		freed: make(chan struct{}),
	}
}

// Add puts a generation on the list. It never blocks.
func (d *deadList) Add(gen layout.Generation, bytes int64) {
	d.mu.Lock()
	if _, known := d.bytes[gen]; !known {
		d.bytes[gen] = bytes
		d.total += bytes
	}
	d.mu.Unlock()
	d.waits.add(gen)
}

// gone takes a generation off the list: its keys are deleted.
func (d *deadList) gone(gen layout.Generation) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.total -= d.bytes[gen]
	delete(d.bytes, gen)
	d.err = nil
	close(d.freed)
	d.freed = make(chan struct{})
}

// failed puts a generation back, behind the others. It reports whether this is the
// first failure since something was deleted.
func (d *deadList) failed(gen layout.Generation, err error, now time.Time) bool {
	d.mu.Lock()
	first := d.err == nil
	if d.err = err; first {
		d.since = now
	}
	d.mu.Unlock()
	d.waits.add(gen)
	return first
}

func (d *deadList) read() Dead {
	d.mu.Lock()
	defer d.mu.Unlock()
	return Dead{Generations: len(d.bytes), Bytes: d.total, Err: d.err, Since: d.since}
}

// Await returns once no more than most waits to be deleted.
func (d *deadList) Await(ctx context.Context, most int64) error {
	for {
		d.mu.Lock()
		total, freed := d.total, d.freed
		d.mu.Unlock()
		if total <= most {
			return nil
		}
		select {
		case <-freed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// MostDead is how much may wait to be deleted when another copy begins.
func (w *Writer) MostDead() int64 {
	if c, ok := w.KV.(compacter); ok {
		return c.MostDead()
	}
	return storage.MaxDeadBytes
}
