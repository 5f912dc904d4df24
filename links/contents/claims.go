package contents

import (
	"context"
	"time"

	"crawlnode/crawl"
	"crawlnode/peer"
)

const (
	// pendingWait is how long a holder delays others while a payload is being stored.
	pendingWait = 300 * time.Millisecond
	// claimFor is how long the first node has to store a payload; then the next one gets the claim.
	claimFor = 5 * time.Second
	// maxClaims bounds the claims known here.
	maxClaims = 1 << 16
)

// claim is the right of one node to store a payload that no node has yet.
type claim struct {
	until time.Time
	over  chan struct{} // closed when the claim ends; made by the first waiter, so mostly nil
	stale bool          // the known capture is in the archive of a forgotten node
}

// end wakes the waiters.
func (cl *claim) end() {
	if cl.over != nil {
		close(cl.over)
	}
}

// payload looks a digest up, and claims it for the caller when it is new.
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
		case known && !x.o.Cluster.Forgotten(o.Node):
			a.Verdict = peer.ContentVerdict_CONTENT_VERDICT_KNOWN
			a.Record, a.Url, a.FetchedAtNs = o.Record[:], o.URL, o.FetchedAt.UnixNano()
			return
		}
		if x.claim(d, before, known, a) {
			return
		}
	}
}

// claim claims a payload that was unknown when released claims had ended. It returns false when
// more have ended by now: the payload may be known then. stale: its known capture is lost.
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
		x.unanswered.Add(1) // if it is stored after all, it is stored twice
	} else if len(x.claims) >= maxClaims {
		x.expireLocked(now)
	}
	a.Verdict = peer.ContentVerdict_CONTENT_VERDICT_NEW
	if claimed || len(x.claims) < maxClaims {
		x.claims[d] = claim{until: now.Add(claimFor), stale: stale}
	}
	return true
}

// expireLocked ends claims that were not fulfilled.
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

// replaces reports whether a stored payload takes the place of a lost one.
func (x *Index) replaces(d crawl.Digest) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.claims[d].stale
}

// awaitStored asks again while the payload is being stored, until ctx ends.
func (x *Index) awaitStored(ctx context.Context, q *peer.ContentQuestion, a *peer.ContentAnswer) {
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
}

// watchLocked returns the channel that is closed when a claim ends; nil when there is no claim.
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
