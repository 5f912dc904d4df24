package node

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// A member whose disk does not answer is of no use to the others, and does not notice
// by itself: its memory answers as ever. So it watches what waits for the disk. When
// nothing has come back for stallAfter it renews its lease no more, falls silent, and
// says why (ownership rule 15); the others exclude it, if they are enough. It goes on by
// itself when the disk answers.

const (
	// stallAfter is how long the disk may take for one write, or for a sync that
	// acknowledgements wait for. Together with the 5 s of silence that an exclusion
	// takes, a disk that comes back in 8 s costs a member nothing but its lease.
	stallAfter = 3 * time.Second
	// archiveSlack is how much longer a sync of the archive may take: it writes as much as
	// was fetched, and its volume may be a slow one.
	archiveSlack = 7 * time.Second
	// progressLook is how often the waits are looked at.
	progressLook = 250 * time.Millisecond
	// beatEvery is how often the disk is tried when nothing else is.
	beatEvery = time.Second
)

// stall is a disk that does not answer.
type stall struct {
	what  string // that waits
	since time.Time
}

// text goes behind the node's name, or stands alone.
func (s *stall) text() string {
	return fmt.Sprintf("gets no answer from its disk since %s: %s waits, so it fetches nothing and renews no lease", s.since.UTC().Format(time.TimeOnly), s.what)
}

// progress knows whether the disk answers.
type progress struct {
	now     atomic.Pointer[stall]
	syncing atomic.Pointer[time.Time] // since when the archive is being synced; nil: it is not
}

// during calls f, a sync of the archive and of what is derived.
func (p *progress) during(f func() error) error {
	now := time.Now()
	p.syncing.Store(&now)
	defer p.syncing.Store(nil)
	return f()
}

// archiveWait is by how much a sync of the archive takes longer than it may.
func (p *progress) archiveWait() time.Duration {
	since := p.syncing.Load()
	if since == nil {
		return 0
	}
	return max(0, time.Since(*since)-archiveSlack)
}

// stalled is nil while the disk answers.
func (p *progress) stalled() *stall { return p.now.Load() }

// judge notes the longest wait; changed: it began or ended to be a stall.
func (p *progress) judge(now time.Time, wait time.Duration, what string) (changed bool) {
	was := p.now.Load()
	switch {
	case was == nil && wait >= stallAfter:
		p.now.Store(&stall{what: what, since: now.Add(-wait)})
		return true
	case was != nil && wait < stallAfter:
		p.now.Store(nil)
		return true
	}
	return false
}

// longestWait is how long the disk has taken for what it is asked now, and who asks.
func (n *Node) longestWait() (wait time.Duration, what string) {
	note := func(d time.Duration, who string) {
		if d > wait {
			wait, what = d, who
		}
	}
	note(n.front.Stalled(), "the frontier's writer")
	note(n.members.Saving(), "the vote for a view")
	note(n.progress.archiveWait(), "the archive")
	if e := n.engine.Load(); e != nil {
		note(e.moves.Stalled(), "a partition that changes hands")
	}
	return wait, what
}

// watchProgress runs until ctx ends. A try of the disk that never ends stays behind;
// the writer that it waits for does, too.
func (n *Node) watchProgress(ctx context.Context) error {
	var beats sync.WaitGroup
	defer beats.Wait()
	look, beat := time.NewTicker(progressLook), time.NewTicker(beatEvery)
	defer look.Stop()
	defer beat.Stop()
	var trying atomic.Bool
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-beat.C:
			if trying.CompareAndSwap(false, true) {
				beats.Go(func() {
					defer trying.Store(false)
					_ = n.front.Beat(ctx) // what failed has ended the writer, and that the node
				})
			}
		case <-look.C:
			n.lookAtProgress(time.Now())
		}
	}
}

// lookAtProgress acts on a stall that begins or ends.
func (n *Node) lookAtProgress(now time.Time) {
	wait, what := n.longestWait()
	if !n.progress.judge(now, wait, what) {
		return
	}
	s := n.progress.stalled()
	n.members.SetStalled(s != nil)
	if e := n.engine.Load(); e != nil && s == nil {
		e.dispatcher.Wake() // mayFetch may say yes again
	}
	if s == nil {
		n.log.Info("the disk answers again")
	} else {
		n.log.Error("the disk does not answer; this node renews its lease no more until it does", "waiting", s.what, "for", wait.Round(time.Millisecond))
	}
	n.renewals.soon()
}
