package links

import (
	"context"
	"errors"
	"slices"
	"time"

	"crawlnode/crawl"
	"crawlnode/frontier"
	"crawlnode/pipeline"
)

// Sender sends the links in the outboxes of the held partitions until their owners have
// acknowledged them, and then deletes them. It is one goroutine. Wake tells it about new links, and
// it checks by itself every second.
type Sender struct {
	router *Router
	look   chan struct{} // capacity 1
}

// NewSender makes a Sender; Run does its work.
func NewSender(r *Router) *Sender { return &Sender{router: r, look: make(chan struct{}, 1)} }

// outboxChunk is how many links are read, sent and deleted at a time.
const outboxChunk = 1000

// outboxDeadline bounds one chunk, so that a stopped peer delays the others no longer.
const outboxDeadline = 3 * time.Second

// outboxDeaf bounds the pause after a sweep without success, during which nothing wakes the sender.
const outboxDeaf = 10 * time.Second

// Wake makes it check the outboxes now. Any goroutine may call it; it does not block.
func (s *Sender) Wake() {
	crawl.Signal(s.look)
}

// Run sends until ctx ends, or the store fails. Call it once, when the node has joined its cluster.
func (s *Sender) Run(ctx context.Context) error {
	rest := 100 * time.Millisecond
	for {
		begun := time.Now()
		sent, left, err := s.sweep(ctx)
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		var deaf time.Duration
		switch {
		case left == 0:
			rest = time.Second
		case sent > 0:
			rest = 100 * time.Millisecond
		default:
			rest = min(2*rest, 2*time.Second)
			// Each page that ends meanwhile wakes it. A long outbox that no node accepts must not
			// use a processor with useless attempts.
			deaf = min(3*time.Since(begun), outboxDeaf)
		}
		if !s.pause(ctx, deaf, rest) {
			return nil
		}
	}
}

// pause waits for deaf plus rest, of which only rest ends when Wake is called. False: ctx has
// ended.
func (s *Sender) pause(ctx context.Context, deaf, rest time.Duration) bool {
	timer := time.NewTimer(deaf)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
	}
	timer.Reset(rest)
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
	case <-s.look:
	}
	return true
}

// sweep goes once through all outboxes here.
func (s *Sender) sweep(ctx context.Context) (sent, left int, err error) {
	for _, p := range s.filled() {
		var after frontier.OutboxKey
		for {
			entries, err := s.router.opts.Store.Outbox(p, after, outboxChunk)
			if errors.Is(err, frontier.ErrNotHolder) {
				break // it has moved away, with its outbox
			}
			if err != nil {
				return sent, left, err
			}
			if len(entries) == 0 {
				break
			}
			after = entries[len(entries)-1].Key
			done, err := s.send(ctx, entries)
			if err != nil {
				return sent, left, err
			}
			sent += done
			left += len(entries) - done
			if ctx.Err() != nil {
				return sent, left, ctx.Err()
			}
		}
	}
	return sent, left, nil
}

// filled lists the held partitions whose outbox is not empty, in order. It is called each second,
// and mostly there are none.
func (s *Sender) filled() []crawl.Partition {
	if s.router.opts.Store.Totals().Outbox == 0 {
		return nil
	}
	var ps []crawl.Partition
	s.router.opts.Store.Walk(func(m *frontier.Meta) bool {
		if m.State == frontier.Holder && m.Counters.Outbox > 0 {
			ps = append(ps, m.Partition)
		}
		return true
	})
	slices.Sort(ps)
	return ps
}

// send judges and submits a chunk, and deletes what was acknowledged or refused.
func (s *Sender) send(ctx context.Context, entries []frontier.OutboxEntry) (int, error) {
	links, later, err := s.judge(ctx, entries)
	if err != nil {
		return 0, err
	}
	bounded, cancel := context.WithTimeout(ctx, outboxDeadline)
	defer cancel()
	r, err := s.router.Submit(bounded, links)
	if err != nil {
		return 0, err
	}
	done := taken(entries, append(r.Left, later...))
	if len(done) == 0 {
		return 0, nil
	}
	return len(done), s.router.opts.Store.AckOutbox(ctx, done)
}

// taken are the entries that are not in left: their owners have acknowledged them, or they were
// refused.
func taken(entries []frontier.OutboxEntry, left []crawl.Routed) []frontier.OutboxEntry {
	is := make(map[string]bool, len(left))
	for _, l := range left {
		is[l.Target.URL.String()] = true
	}
	done := entries[:0:0]
	for _, e := range entries {
		if !is[e.Routed.Target.URL.String()] {
			done = append(done, e)
		}
	}
	return done
}

// judge splits a chunk into links that may be stored and links to judge later, because this node
// may lack the scope entry that admits them; their page is done. All others are refused, and
// counted.
func (s *Sender) judge(
	ctx context.Context,
	entries []frontier.OutboxEntry,
) (admitted, later []crawl.Routed, err error) {
	opts := &s.router.opts
	rules := opts.Rules()
	var opened []string
	var doubtful []frontier.OutboxEntry
	for _, e := range entries {
		v, entry := judge(rules, opts.Seeds, &e.Routed.Target)
		if entry != "" {
			opened = append(opened, entry)
		}
		if v.Admit {
			admitted = append(admitted, e.Routed)
		} else {
			doubtful = append(doubtful, e)
		}
	}
	complete := len(doubtful) > 0 && opts.Scope.CaughtUp(ctx)
	skipped := map[crawl.Partition]crawl.SkipCounts{}
	for _, e := range doubtful { // again, with the entries that have arrived
		v, _ := judge(rules, opts.Seeds, &e.Routed.Target)
		switch reason := pipeline.ReasonOf(v); {
		case v.Admit:
			admitted = append(admitted, e.Routed)
		case !complete && reason == crawl.SkipOutOfScope:
			later = append(later, e.Routed)
		default:
			counts := skipped[e.From]
			counts[reason]++
			skipped[e.From] = counts
		}
	}
	if err := opts.Scope.AddWhenRoom(ctx, opened...); err != nil {
		return nil, nil, err
	}
	return admitted, later, opts.Store.Skip(ctx, skipped)
}
