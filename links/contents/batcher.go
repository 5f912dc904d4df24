package contents

import (
	"context"
	"fmt"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"crawlnode/crawl"
	"crawlnode/peer"
)

const (
	// maxItems bounds the questions, and the notes, of one call.
	maxItems = 500
	// maxWaiting bounds the queue to one member; beyond it questions and notes are dropped.
	maxWaiting = 4096
	// gatherFor is how long questions and notes are collected for a call, for each member that there
	// are calls to, and at most gatherMost; in addition to those that come during the previous call. A
	// page asks up to five members; only its own worker waits. More members have fewer of a node's
	// questions each, so without that a call would have one or two.
	gatherFor, gatherMost = 15 * time.Millisecond, 80 * time.Millisecond
	// callTimeout ends a call; restAfter is the pause for a member after a failed call.
	callTimeout = 2 * time.Second
	restAfter   = time.Second
)

// batcher sends questions and notes to other members, those of many pages in one call.
type batcher struct {
	cluster Cluster
	wg      sync.WaitGroup
	free    sync.Pool // of *query

	mu     sync.Mutex // guards to, the queues in it, and closed
	to     map[crawl.NodeID]*queue
	closed bool
}

// queue is the queue to one member.
type queue struct {
	asked []*query
	spare []*query // memory for the next asked; nil while a call is made with it
	notes []*peer.ContentNote
	busy  bool // a call is being collected or running; new items join the next call
	rest  time.Time
}

// query is a question, and the way of its answer. It is used again once it is answered.
type query struct {
	to       crawl.NodeID
	question peer.ContentQuestion
	digest   crawl.Digest             // the memory of question.Digest
	here     peer.ContentAnswer       // when this node asks itself
	answer   chan *peer.ContentAnswer // capacity 1; nil: no answer
}

// newQuery makes a question about a URL.
func (b *batcher) newQuery(to crawl.NodeID, url string) *query {
	a, _ := b.free.Get().(*query)
	if a == nil {
		a = &query{answer: make(chan *peer.ContentAnswer, 1)}
	}
	a.to = to
	q := &a.question
	q.Url, q.Digest, q.Partition, q.Simhash = url, nil, 0, 0
	proto.Reset(&a.here)
	return a
}

// about makes it a question about a payload too.
func (a *query) about(d crawl.Digest, p crawl.Partition) {
	a.digest = d
	a.question.Digest, a.question.Partition = a.digest[:], uint32(p)
}

// release gives a query back: it was never sent, or its answer was taken.
func (b *batcher) release(a *query) { b.free.Put(a) }

// ask sends a question. It never blocks.
func (b *batcher) ask(a *query) {
	b.mu.Lock()
	defer b.mu.Unlock()
	q := b.queueLocked(a.to)
	if b.closed || len(q.asked) >= maxWaiting || time.Now().Before(q.rest) {
		a.answer <- nil
		return
	}
	q.asked = append(q.asked, a)
	b.serveLocked(a.to, q)
}

// tell sends a note. It never blocks. A lost note costs a payload that is stored once more.
func (b *batcher) tell(to crawl.NodeID, note *peer.ContentNote) {
	b.mu.Lock()
	defer b.mu.Unlock()
	q := b.queueLocked(to)
	if b.closed || len(q.notes) >= maxWaiting || time.Now().Before(q.rest) {
		return
	}
	q.notes = append(q.notes, note)
	b.serveLocked(to, q)
}

// queueLocked returns the queue to a member.
func (b *batcher) queueLocked(to crawl.NodeID) *queue {
	if b.to[to] == nil {
		b.to[to] = &queue{}
	}
	return b.to[to]
}

// serveLocked starts sending the queue.
func (b *batcher) serveLocked(to crawl.NodeID, q *queue) {
	if !q.busy {
		q.busy = true
		b.wg.Go(func() {
			for more := true; more; more = b.waits(q) {
				b.round(to, q)
			}
		})
	}
}

// waits reports whether there is something for another call. Otherwise it ends the queue's
// goroutine.
func (b *batcher) waits(q *queue) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	q.busy = len(q.asked)+len(q.notes) > 0
	return q.busy
}

// round collects and makes one call.
func (b *batcher) round(to crawl.NodeID, q *queue) {
	b.mu.Lock()
	members := len(b.to)
	b.mu.Unlock()
	time.Sleep(min(time.Duration(members)*gatherFor, gatherMost))
	b.mu.Lock()
	asked, notes := q.take()
	b.mu.Unlock()
	batch := &peer.ContentBatch{Notes: notes, Questions: make([]*peer.ContentQuestion, 0, len(asked))}
	for _, a := range asked {
		batch.Questions = append(batch.Questions, &a.question)
	}
	answers, err := b.call(context.Background(), to, batch)
	var lost []*query
	b.mu.Lock()
	if err != nil {
		q.rest = time.Now().Add(restAfter)
		lost, q.asked, q.notes = q.asked, nil, nil
	}
	b.mu.Unlock()
	for i, a := range asked {
		if err != nil {
			a.answer <- nil
		} else {
			a.answer <- answers[i] // from here on the query is its asker's
		}
	}
	for _, a := range lost {
		a.answer <- nil
	}
	clear(asked)
	b.mu.Lock()
	q.spare = asked[:0]
	b.mu.Unlock()
}

// take takes what the next call is about.
func (q *queue) take() (asked []*query, notes []*peer.ContentNote) {
	notes = q.notes[:min(len(q.notes), maxItems)]
	q.notes = q.notes[len(notes):]
	asked = q.asked[:min(len(q.asked), maxItems)]
	if rest := q.asked[len(asked):]; len(rest) > 0 {
		q.asked = append([]*query(nil), rest...)
	} else {
		q.asked = q.spare
	}
	q.spare = nil
	return asked, notes
}

// call makes one call; there are as many answers as questions.
func (b *batcher) call(
	ctx context.Context,
	to crawl.NodeID,
	batch *peer.ContentBatch,
) ([]*peer.ContentAnswer, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	reply, err := b.cluster.Call(ctx, to, batch)
	if err != nil {
		return nil, err
	}
	if len(reply.Answers) != len(batch.Questions) {
		return nil, fmt.Errorf("%d answers to %d questions", len(reply.Answers), len(batch.Questions))
	}
	for _, a := range reply.Answers {
		if known := a.Verdict == peer.ContentVerdict_CONTENT_VERDICT_KNOWN; known && len(a.Record) != 16 {
			return nil, fmt.Errorf("a record id of %d bytes", len(a.Record))
		}
	}
	return reply.Answers, nil
}

// close ends the running calls and what waits for them.
func (b *batcher) close() {
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	b.wg.Wait()
}

// wait returns the answer; nil when none comes before ctx ends. While another node stores the
// payload it asks a second time, and lets the holder wait for the result. answered: the query may
// be released.
func (a *query) wait(ctx context.Context, b *batcher) (r *peer.ContentAnswer, answered bool) {
	select {
	case r = <-a.answer:
	case <-ctx.Done():
		return nil, false
	}
	if r == nil || r.Verdict != peer.ContentVerdict_CONTENT_VERDICT_PENDING {
		return r, true
	}
	again := &peer.ContentQuestion{
		Url:       a.question.Url,
		Digest:    a.digest[:],
		Partition: a.question.Partition,
	}
	more, err := b.call(ctx, a.to,
		&peer.ContentBatch{Questions: []*peer.ContentQuestion{again}, Wait: true})
	if err != nil {
		return r, true
	}
	more[0].NearUrl, more[0].NearDistance = r.NearUrl, r.NearDistance
	return more[0], true
}
