package node

import (
	"context"
	"fmt"
	"sync"
	"time"
	"unicode/utf8"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"crawlnode/crawl"
	"crawlnode/frontier"
	"crawlnode/peer"
	"crawlnode/web/urlnorm"
)

// This file carries questions about payloads and texts to other members, many pages'
// in one call, and answers theirs.

const (
	// maxContentItems bounds the questions, and the notes, of one call.
	maxContentItems = 500
	// maxContentWaiting bounds what waits for a call to one member; more is not asked,
	// and not told of.
	maxContentWaiting = 4096
	// contentGather is how long questions and notes gather for a call, beside what comes
	// up while the one before is under way. A page asks up to five members; its worker
	// waits, and others read on.
	contentGather = 10 * time.Millisecond
	// contentCallTimeout ends a call; contentRest is how long nothing is asked of a
	// member that has failed one.
	contentCallTimeout = 2 * time.Second
	contentRest        = time.Second
)

// contentLines are the calls to all members.
type contentLines struct {
	node *Node
	wg   sync.WaitGroup

	mu     sync.Mutex // guards to, the lines in it, and closed
	to     map[crawl.NodeID]*contentLine
	closed bool
}

// contentLine is what goes to one member.
type contentLine struct {
	asks  []*contentAsk
	notes []*peer.ContentNote
	busy  bool // something gathers, or is under way; what comes up joins the next call
	rest  time.Time
}

// contentAsk is a question on its way.
type contentAsk struct {
	to       crawl.NodeID
	question *peer.ContentQuestion
	answer   chan *peer.ContentAnswer // capacity 1; nil: there is none
}

// ask sends a question. It never blocks.
func (l *contentLines) ask(to crawl.NodeID, q *peer.ContentQuestion) *contentAsk {
	a := &contentAsk{to: to, question: q, answer: make(chan *peer.ContentAnswer, 1)}
	l.mu.Lock()
	defer l.mu.Unlock()
	line := l.line(to)
	if l.closed || len(line.asks) >= maxContentWaiting || time.Now().Before(line.rest) {
		a.answer <- nil
		return a
	}
	line.asks = append(line.asks, a)
	l.serve(to, line)
	return a
}

// tell sends a note. It never blocks; one that is lost costs a payload that is stored
// once more.
func (l *contentLines) tell(to crawl.NodeID, note *peer.ContentNote) {
	l.mu.Lock()
	defer l.mu.Unlock()
	line := l.line(to)
	if l.closed || len(line.notes) >= maxContentWaiting || time.Now().Before(line.rest) {
		return
	}
	line.notes = append(line.notes, note)
	l.serve(to, line)
}

// line returns the line to a member. The caller holds mu.
func (l *contentLines) line(to crawl.NodeID) *contentLine {
	if l.to[to] == nil {
		l.to[to] = &contentLine{}
	}
	return l.to[to]
}

// serve lets what waits be sent. The caller holds mu.
func (l *contentLines) serve(to crawl.NodeID, line *contentLine) {
	if !line.busy {
		line.busy = true
		l.wg.Go(func() {
			for more := true; more; more = l.waits(line) {
				l.round(to, line)
			}
		})
	}
}

// waits reports whether there is something for another call, and ends the line's work
// when there is not.
func (l *contentLines) waits(line *contentLine) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	line.busy = len(line.asks)+len(line.notes) > 0
	return line.busy
}

// round gathers and makes one call.
func (l *contentLines) round(to crawl.NodeID, line *contentLine) {
	time.Sleep(contentGather)
	l.mu.Lock()
	asks := line.asks[:min(len(line.asks), maxContentItems)]
	notes := line.notes[:min(len(line.notes), maxContentItems)]
	line.asks, line.notes = line.asks[len(asks):], line.notes[len(notes):]
	l.mu.Unlock()
	batch := &peer.ContentBatch{Notes: notes}
	for _, a := range asks {
		batch.Questions = append(batch.Questions, a.question)
	}
	answers, err := l.call(context.Background(), to, batch)
	if err != nil {
		l.mu.Lock()
		line.rest = time.Now().Add(contentRest)
		asks = append(asks[:len(asks):len(asks)], line.asks...)
		line.asks, line.notes = nil, nil
		l.mu.Unlock()
	}
	for i, a := range asks {
		if err != nil {
			a.answer <- nil
		} else {
			a.answer <- answers[i]
		}
	}
}

// call makes one call; there are as many answers as questions.
func (l *contentLines) call(ctx context.Context, to crawl.NodeID, b *peer.ContentBatch) ([]*peer.ContentAnswer, error) {
	ctx, cancel := context.WithTimeout(ctx, contentCallTimeout)
	defer cancel()
	reply, err := peer.Call(ctx, l.node.pool, l.node.target(to), b, peer.PeerClient.Contents)
	if err != nil {
		return nil, err
	}
	if len(reply.Answers) != len(b.Questions) {
		return nil, fmt.Errorf("%d answers to %d questions", len(reply.Answers), len(b.Questions))
	}
	for _, a := range reply.Answers {
		if known := a.Verdict == peer.ContentVerdict_CONTENT_VERDICT_KNOWN; known && len(a.Record) != 16 {
			return nil, fmt.Errorf("a record id of %d bytes", len(a.Record))
		}
	}
	return reply.Answers, nil
}

// close lets the calls under way and what waits for them end.
func (l *contentLines) close() {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.wg.Wait()
}

// wait returns the answer; nil when none comes before ctx ends. While somebody else
// stores the payload, it asks a second time, and lets the holder wait for that.
func (a *contentAsk) wait(ctx context.Context, c *contents) *peer.ContentAnswer {
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
	more, err := c.lines.call(ctx, a.to, &peer.ContentBatch{Questions: []*peer.ContentQuestion{again}, Wait: true})
	if err != nil {
		return r
	}
	more[0].NearUrl, more[0].NearDistance = r.NearUrl, r.NearDistance
	return more[0]
}

// Contents answers another member.
func (h handler) Contents(ctx context.Context, from string, b *peer.ContentBatch) (*peer.ContentReply, error) {
	n := h.node
	if n.partitions() == 0 {
		return nil, errNotJoined
	}
	if err := n.checkContents(b); err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	if err := n.contents.noted(ctx, crawl.NodeID(from), b.Notes); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, pendingWait)
	defer cancel()
	reply := &peer.ContentReply{Answers: make([]*peer.ContentAnswer, len(b.Questions))}
	for i, q := range b.Questions {
		if b.Wait {
			reply.Answers[i] = n.contents.settledAnswer(ctx, q)
		} else {
			reply.Answers[i] = n.contents.answer(q)
		}
	}
	return reply, nil
}

// checkContents refuses what no correct member sends.
func (n *Node) checkContents(b *peer.ContentBatch) error {
	if len(b.Questions) > maxContentItems || len(b.Notes) > maxContentItems {
		return fmt.Errorf("%d questions and %d notes, %d of each are allowed", len(b.Questions), len(b.Notes), maxContentItems)
	}
	check := func(url string, digest []byte, p uint32) error {
		switch {
		case len(url) > urlnorm.MaxLen || !utf8.ValidString(url):
			return fmt.Errorf("a URL of %d bytes", len(url))
		case len(digest) != 20:
			return fmt.Errorf("a digest of %d bytes", len(digest))
		case uint32(digestPartition(crawl.Digest(digest), n.partitions())) != p:
			return fmt.Errorf("digest %x is not of partition %d", digest, p)
		}
		return nil
	}
	for _, q := range b.Questions {
		if len(q.Digest) == 0 {
			q.Digest = nil
			if len(q.Url) > urlnorm.MaxLen {
				return fmt.Errorf("a URL of %d bytes", len(q.Url))
			}
		} else if err := check(q.Url, q.Digest, q.Partition); err != nil {
			return err
		}
	}
	for _, note := range b.Notes {
		if err := check(note.Url, note.Digest, note.Partition); err != nil {
			return err
		}
		if len(note.Record) != 0 && len(note.Record) != 16 {
			return fmt.Errorf("a record id of %d bytes", len(note.Record))
		}
	}
	return nil
}

// noted stores what another node has told of payloads that were new, and lets those go
// on who wait for them.
func (c *contents) noted(ctx context.Context, from crawl.NodeID, notes []*peer.ContentNote) error {
	var stored []frontier.Content
	over := make([]crawl.Digest, 0, len(notes))
	for _, note := range notes {
		d := crawl.Digest(note.Digest)
		over = append(over, d)
		if len(note.Record) == 16 {
			stored = append(stored, frontier.Content{Partition: crawl.Partition(note.Partition), Digest: d, Replace: c.replaces(d),
				Original: crawl.Original{Record: [16]byte(note.Record), Node: from, URL: note.Url, FetchedAt: time.Unix(0, note.FetchedAtNs).UTC()}})
		}
	}
	defer c.release(over...)
	return c.node.front.NoteContents(ctx, stored)
}
