package contents

import (
	"context"
	"time"

	"crawlnode/crawl"
	"crawlnode/peer"
)

const (
	// pendingWait is how long a holder lets others wait for a payload that is being stored.
	pendingWait = 300 * time.Millisecond
	// claimFor is how long the first to ask has to store a payload; then the next does.
	claimFor = 5 * time.Second
	// maxClaims bounds the payloads that are being stored and known of here.
	maxClaims = 1 << 16
)

// claim is the promise of a node to store a payload.
type claim struct {
	until time.Time
	over  chan struct{} // closed when it was kept or given up; made by the first waiter, so mostly nil
	stale bool          // the capture that is known is in the archive of a node that was forgotten
}

// end lets those go on that wait.
func (cl *claim) end() {
	if cl.over != nil {
		close(cl.over)
	}
}

// payload looks a digest up, and claims it for the caller when nobody has it.
func (x *Index) payload(p crawl.Partition, d crawl.Digest, a *peer.ContentAnswer) {
	for {
		x.mu.Lock()
		before := x.released
		x.mu.Unlock()
		o, known, err := x.o.Store.Content(p, d)
		switch {
		case err != nil:
			a.Verdict = peer.ContentVerdict_CONTENT_VERDICT_NOT_HOLDER
			return
		case known && !x.o.Forgotten(o.Node):
			a.Verdict = peer.ContentVerdict_CONTENT_VERDICT_KNOWN
			a.Record, a.Url, a.FetchedAtNs = o.Record[:], o.URL, o.FetchedAt.UnixNano()
			return
		}
		if x.claim(d, before, known, a) {
			return
		}
	}
}

// claim claims a payload that was not known when released claims were over. It returns
// false when more are by now: then the payload may be known. stale: what is known of it
// is lost.
func (x *Index) claim(d crawl.Digest, released uint64, stale bool, a *peer.ContentAnswer) bool {
	now := time.Now()
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.released != released {
		return false
	}
	old, claimed := x.claims[d]
	if claimed && now.Before(old.until) {
		a.Verdict = peer.ContentVerdict_CONTENT_VERDICT_PENDING
		return true
	}
	if claimed {
		old.end()
		x.unanswered.Add(1) // should it be stored after all, it is stored twice
	} else if len(x.claims) >= maxClaims {
		x.expireLocked(now)
	}
	a.Verdict = peer.ContentVerdict_CONTENT_VERDICT_NEW
	if claimed || len(x.claims) < maxClaims {
		x.claims[d] = claim{until: now.Add(claimFor), stale: stale}
	}
	return true
}

// expireLocked gives up claims that were not kept.
func (x *Index) expireLocked(now time.Time) {
	for d, cl := range x.claims {
		if !now.Before(cl.until) {
			cl.end()
			delete(x.claims, d)
		}
	}
}

// release ends claims: their payloads are known by now, or were not stored.
func (x *Index) release(ds ...crawl.Digest) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, d := range ds {
		if cl, ok := x.claims[d]; ok {
			cl.end()
			delete(x.claims, d)
			x.released++
		}
	}
}

// replaces reports whether a payload that was stored takes the place of one that is
// lost.
func (x *Index) replaces(d crawl.Digest) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.claims[d].stale
}

// awaitStored asks again while the answer is that the payload is being stored, until
// ctx ends.
func (x *Index) awaitStored(ctx context.Context, q *peer.ContentQuestion, a *peer.ContentAnswer) *peer.ContentAnswer {
	for a.Verdict == peer.ContentVerdict_CONTENT_VERDICT_PENDING {
		x.mu.Lock()
		until, over := x.watchLocked(crawl.Digest(q.Digest))
		x.mu.Unlock()
		if over != nil {
			expired := time.NewTimer(time.Until(until))
			select {
			case <-over:
			case <-expired.C:
			case <-ctx.Done():
			}
			expired.Stop()
		}
		if ctx.Err() != nil {
			break
		}
		a.Verdict = peer.ContentVerdict_CONTENT_VERDICT_UNSPECIFIED
		x.payload(crawl.Partition(q.Partition), crawl.Digest(q.Digest), a)
	}
	return a
}

// watchLocked returns the channel that is closed when a claim is over; nil when there
// is no claim.
func (x *Index) watchLocked(d crawl.Digest) (until time.Time, over <-chan struct{}) {
	cl, claimed := x.claims[d]
	if !claimed {
		return until, nil
	}
	if cl.over == nil {
		cl.over = make(chan struct{})
		x.claims[d] = cl
	}
	return cl.until, cl.over
}
