package contents

import (
	"context"
	"fmt"
	"sync"
	"time"

	"crawlnode/crawl"
	"crawlnode/peer"
)

const (
	// maxItems bounds the questions, and the notes, of one call.
	maxItems = 500
	// maxWaiting bounds the queue to one member; beyond it questions and notes are dropped.
	maxWaiting = 4096
	// gatherFor is how long questions and notes are collected for a call, for each member that there are calls to, and
	// at most gatherMost; in addition to those that come during the previous call. A page asks up to five members; only
	// its own worker waits. More members have fewer of a node's questions each, so without that a call would have one or two.
	gatherFor, gatherMost = 15 * time.Millisecond, 80 * time.Millisecond
	// callTimeout ends a call; restAfter is the pause for a member after a failed call.
	callTimeout = 2 * time.Second
	restAfter   = time.Second
)

// batcher sends questions and notes to other members, those of many pages in one call.
type batcher struct {
	send func(ctx context.Context, to crawl.NodeID, b *peer.ContentBatch) (*peer.ContentReply, error)
	wg   sync.WaitGroup

	mu     sync.Mutex // guards to, the queues in it, and closed
	to     map[crawl.NodeID]*queue
	closed bool
}

// queue is the queue to one member.
type queue struct {
	asked []*query
	notes []*peer.ContentNote
	busy  bool // a call is being collected or running; new items join the next call
	rest  time.Time
}

// query is a question that was sent.
type query struct {
	to       crawl.NodeID
	question *peer.ContentQuestion
	answer   chan *peer.ContentAnswer // capacity 1; nil: no answer
}

// ask sends a question. It never blocks.
func (b *batcher) ask(to crawl.NodeID, question *peer.ContentQuestion) *query {
	a := &query{to: to, question: question, answer: make(chan *peer.ContentAnswer, 1)}
	b.mu.Lock()
	defer b.mu.Unlock()
	q := b.queueLocked(to)
	if b.closed || len(q.asked) >= maxWaiting || time.Now().Before(q.rest) {
		a.answer <- nil
		return a
	}
	q.asked = append(q.asked, a)
	b.serveLocked(to, q)
	return a
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
	asked := q.asked[:min(len(q.asked), maxItems)]
	notes := q.notes[:min(len(q.notes), maxItems)]
	q.asked, q.notes = q.asked[len(asked):], q.notes[len(notes):]
	b.mu.Unlock()
	batch := &peer.ContentBatch{Notes: notes}
	for _, a := range asked {
		batch.Questions = append(batch.Questions, a.question)
	}
	answers, err := b.call(context.Background(), to, batch)
	if err != nil {
		b.mu.Lock()
		q.rest = time.Now().Add(restAfter)
		asked = append(asked[:len(asked):len(asked)], q.asked...)
		q.asked, q.notes = nil, nil
		b.mu.Unlock()
	}
	for i, a := range asked {
		if err != nil {
			a.answer <- nil
		} else {
			a.answer <- answers[i]
		}
	}
}

// call makes one call; there are as many answers as questions.
func (b *batcher) call(ctx context.Context, to crawl.NodeID, batch *peer.ContentBatch) ([]*peer.ContentAnswer, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	reply, err := b.send(ctx, to, batch)
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
// payload it asks a second time, and lets the holder wait for the result.
func (a *query) wait(ctx context.Context, b *batcher) *peer.ContentAnswer {
	var r *peer.ContentAnswer
	select {
	case r = <-a.answer:
	case <-ctx.Done():
		return nil
	}
	if r == nil || r.Verdict != peer.ContentVerdict_CONTENT_VERDICT_PENDING {
		return r
	}
	again := &peer.ContentQuestion{Url: a.question.Url, Digest: a.question.Digest, Partition: a.question.Partition}
	more, err := b.call(ctx, a.to, &peer.ContentBatch{Questions: []*peer.ContentQuestion{again}, Wait: true})
	if err != nil {
		return r
	}
	more[0].NearUrl, more[0].NearDistance = r.NearUrl, r.NearDistance
	return more[0]
}
