package commit

import (
	"fmt"
	"sync"

	"crawlnode/crawl"
)

// syncQueue holds the requests that are committed and are answered once they
// are on disk. One goroutine syncs for all that wait, while the writer goes on:
// a thousand transitions from several callers cost a few syncs, and none of
// them delays a page. The queue is bounded by the callers, since each waits.
//
// What such a request has changed can be seen before it is on disk. Callers that act
// on it wait for the answer.
type syncQueue struct {
	sync   func() error
	signal chan struct{} // cap 1: look again
	failed chan struct{} // closed when a sync has failed

	mu      sync.Mutex // guards the fields below
	waiting []*Request
	closed  bool
	err     error // of the first sync that failed
}

func newSyncQueue(sync func() error) *syncQueue {
	return &syncQueue{sync: sync, signal: make(chan struct{}, 1), failed: make(chan struct{})}
}

// add takes over the answer of a committed request. It does not block.
func (q *syncQueue) add(r *Request) {
	q.mu.Lock()
	q.waiting = append(q.waiting, r)
	q.mu.Unlock()
	q.wake()
}

// close lets run end when all that wait are answered; nothing may be added.
func (q *syncQueue) close() {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	q.wake()
}

func (q *syncQueue) wake() {
	crawl.Signal(q.signal)
}

// failure is the error of the first sync that failed.
func (q *syncQueue) failure() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.err
}

// run syncs for those that wait until close. What a failed sync has left in
// doubt cannot be mended by another one, so it is the last.
func (q *syncQueue) run() {
	for range q.signal {
		q.mu.Lock()
		rs, closed, err := q.waiting, q.closed, q.err
		q.waiting = nil
		q.mu.Unlock()
		if len(rs) > 0 && err == nil {
			if err = q.sync(); err != nil {
				err = fmt.Errorf("frontier: the store failed, nothing more is written: %w", err)
				q.mu.Lock()
				q.err = err
				q.mu.Unlock()
				close(q.failed)
			}
		}
		for _, r := range rs {
			r.done <- err
		}
		if closed {
			return
		}
	}
}
