package node

import (
	"context"
	"encoding/binary"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cespare/xxhash/v2"

	"crawlnode/crawl"
	"crawlnode/frontier"
	"crawlnode/peer"
	"crawlnode/pipeline"
	"crawlnode/ring"
	"crawlnode/web/simhash"
	"crawlnode/web/urlnorm"
)

// This file knows what was fetched before, in the whole cluster. The holder of a
// digest's partition keeps the first capture of each payload with the partition
// (frontier/contents.go). Who asks for a payload that nobody knows is told to store
// it, and everybody who asks meanwhile to wait for that: so two pages with the same
// payload are stored once though they are fetched at the same moment. Only a capture
// that was written is told of; and whoever gets no answer stores his page whole.
//
// Fingerprints of texts are kept in memory only, by the holders of the partitions of
// their four blocks: two texts that are nearly the same have one block in common, so
// they meet at one node at least.

const (
	// contentWait is how long a page waits to hear whether its payload is known.
	contentWait = 500 * time.Millisecond
	// pendingWait is how long a holder lets others wait for one that is being stored.
	pendingWait = 300 * time.Millisecond
	// claimFor is how long the first to ask has to store a payload; then the next does.
	claimFor = 5 * time.Second
	// maxClaims bounds the payloads that are being stored and known of here.
	maxClaims = 1 << 16
	// bytesPerPrint is what a fingerprint with its URL takes in memory, about; all of
	// them take a thirty-second part of --memory.
	bytesPerPrint = 256
	// maxPrintURL is the longest URL that is filed, in bytes: it is what most of that is.
	maxPrintURL = 512
)

// contents answers what this node knows as a holder, and asks the others.
type contents struct {
	node  *Node
	lines contentLines

	mu       sync.Mutex // guards the rest
	claims   map[crawl.Digest]claim
	released uint64                 // claims that are over
	near     *simhash.Index[string] // made when it is needed first

	missed atomic.Int64 // payloads that may be stored twice: nobody answered in time, or a promise was not kept
}

// claim is somebody's promise to store a payload. over is closed when it was kept or
// given up; it is made by who waits first, which hardly anybody does.
type claim struct {
	until time.Time
	over  chan struct{}
	stale bool // the capture that is known is in the archive of a node that was forgotten
}

// end lets those go on who wait.
func (cl *claim) end() {
	if cl.over != nil {
		close(cl.over)
	}
}

func newContents(n *Node) *contents {
	return &contents{node: n, claims: map[crawl.Digest]claim{}, lines: contentLines{node: n, to: map[crawl.NodeID]*contentLine{}}}
}

// digestPartition is the partition that knows of a payload.
func digestPartition(d crawl.Digest, partitions int) crawl.Partition {
	return crawl.Partition(binary.BigEndian.Uint64(d[:]) % uint64(partitions))
}

// blockPartitions are those whose holders know of fingerprints with one of the four
// blocks.
func blockPartitions(print uint64, partitions int) (ps [4]crawl.Partition) {
	for i := range ps {
		block := [3]byte{byte(i), byte(print >> (16 * i)), byte(print >> (16*i + 8))}
		ps[i] = crawl.Partition(xxhash.Sum64(block[:]) % uint64(partitions))
	}
	return ps
}

// holderOf is who holds a partition, as far as is known here; "" when nobody is.
func (n *Node) holderOf(p crawl.Partition) crawl.NodeID {
	if n.holds(p) {
		return n.id
	}
	to := n.peers.holder(p)
	if to == "" || to == n.id {
		to = n.tableOwner(p)
	}
	if to == n.id {
		return ""
	}
	return to
}

// directedQuestion is what one node is asked of a page.
type directedQuestion struct {
	to       crawl.NodeID
	question *peer.ContentQuestion
}

// questions parts what is to be found out of a page among those who know; own is nil when
// this node does not.
func (c *contents) questions(q *pipeline.ContentQuestion) (own *peer.ContentQuestion, others []directedQuestion) {
	n := c.node
	to := func(holder crawl.NodeID) *peer.ContentQuestion {
		if holder == n.id {
			if own == nil {
				own = &peer.ContentQuestion{Url: q.URL.String()}
			}
			return own
		}
		for _, o := range others {
			if o.to == holder {
				return o.question
			}
		}
		others = append(others, directedQuestion{holder, &peer.ContentQuestion{Url: q.URL.String()}})
		return others[len(others)-1].question
	}
	switch {
	case q.Simhash == 0:
	case n.alone(): // nobody else can know
		to(n.id).Simhash = q.Simhash
	default:
		for _, p := range blockPartitions(q.Simhash, n.partitions()) {
			if holder := n.holderOf(p); holder != "" {
				to(holder).Simhash = q.Simhash
			}
		}
	}
	if q.Countable {
		p := digestPartition(q.Digest, n.partitions())
		if holder := n.holderOf(p); holder != "" {
			ask := to(holder)
			ask.Digest, ask.Partition = q.Digest[:], uint32(p)
		}
	}
	return own, others
}

// Seen is the pipeline's question whether a page's payload or text was there before.
func (c *contents) Seen(ctx context.Context, q pipeline.ContentQuestion) (a pipeline.ContentAnswer) {
	answered := !q.Countable
	best := simhash.MaxDistance + 1
	take := func(ask *peer.ContentQuestion, r *peer.ContentAnswer) {
		if d := int(r.NearDistance); r.NearUrl != "" && d < best {
			best, a.NearOf = d, r.NearUrl
		}
		if ask.Digest == nil {
			return
		}
		switch r.Verdict {
		case peer.ContentVerdict_CONTENT_VERDICT_NEW:
			answered, a.First = true, true
		case peer.ContentVerdict_CONTENT_VERDICT_KNOWN:
			answered, a.Original = true, c.original(r, &q)
			a.First = a.Original == nil // it is stored again, and takes its own place
		}
	}
	own, others := c.questions(&q)
	asks := make([]*contentAsk, 0, len(others))
	for _, o := range others {
		asks = append(asks, c.lines.ask(o.to, o.question))
	}
	var here *peer.ContentAnswer
	if own != nil {
		here = c.answer(own)
	}
	if len(asks) > 0 || here != nil && here.Verdict == peer.ContentVerdict_CONTENT_VERDICT_PENDING {
		// Most pages of a node that is alone wait for nobody, and need no timer.
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, contentWait)
		defer cancel()
	}
	if own != nil {
		take(own, c.settle(ctx, own, here))
	}
	for _, ask := range asks {
		if r := ask.wait(ctx, c); r != nil {
			take(ask.question, r)
		}
	}
	if !answered {
		c.missed.Add(1)
	}
	if a.Original != nil {
		a.NearOf = ""
	}
	return a
}

// original is the capture to which a page may refer instead of being stored; nil: it
// must be stored. A page that is said to be its own original was stored before and
// is fetched again, or its record was lost with this machine's last second: its entry
// in the frontier knows.
func (c *contents) original(r *peer.ContentAnswer, q *pipeline.ContentQuestion) *crawl.Original {
	if r.Url == q.URL.String() {
		p := ring.PartitionOf(crawl.Host(q.URL.Host()), c.node.partitions())
		rec, ok, err := c.node.front.Record(p, q.URL)
		if err != nil || !ok || rec.Archive == (crawl.ArchiveRef{}) {
			return nil
		}
	}
	return &crawl.Original{Record: [16]byte(r.Record), URL: r.Url, FetchedAt: time.Unix(0, r.FetchedAtNs).UTC()}
}

// answer says what this node knows, and files what it did not.
func (c *contents) answer(q *peer.ContentQuestion) *peer.ContentAnswer {
	a := &peer.ContentAnswer{}
	if q.Simhash != 0 {
		a.NearUrl, a.NearDistance = c.nearest(q.Url, q.Simhash)
	}
	if q.Digest != nil {
		c.payload(crawl.Partition(q.Partition), crawl.Digest(q.Digest), a)
	}
	return a
}

// nearest finds a page with nearly the same text. One that is like no other is filed:
// so near-duplicates all name the same page.
func (c *contents) nearest(url string, print uint64) (string, uint32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.near == nil {
		c.near = simhash.NewIndex[string](max(int(c.node.cfg.Memory)/32/bytesPerPrint, 1<<10))
	}
	like, distance, found := c.near.Near(print)
	switch {
	case !found:
		if len(url) <= maxPrintURL {
			c.near.Add(print, url)
		}
		return "", 0
	case like == url: // it is fetched again
		return "", 0
	}
	return like, uint32(distance)
}

// payload looks a digest up, and promises it to the caller when nobody has it.
func (c *contents) payload(p crawl.Partition, d crawl.Digest, a *peer.ContentAnswer) {
	for {
		c.mu.Lock()
		before := c.released
		c.mu.Unlock()
		o, known, err := c.node.front.Content(p, d)
		switch {
		case err != nil:
			a.Verdict = peer.ContentVerdict_CONTENT_VERDICT_NOT_HOLDER
			return
		case known && !c.lost(o.Node):
			a.Verdict = peer.ContentVerdict_CONTENT_VERDICT_KNOWN
			a.Record, a.Url, a.FetchedAtNs = o.Record[:], o.URL, o.FetchedAt.UnixNano()
			return
		}
		if c.claim(d, before, known, a) {
			return
		}
	}
}

// lost reports whether a node was forgotten, and its archive with it.
func (c *contents) lost(id crawl.NodeID) bool {
	v := c.node.members.Snapshot().View
	return v != nil && v.Bars(id)
}

// claim promises a payload that was not known when so many claims were over; false
// when more are by now, and it may be known. stale: what is known of it is lost.
func (c *contents) claim(d crawl.Digest, released uint64, stale bool, a *peer.ContentAnswer) bool {
	now := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.released != released {
		return false
	}
	old, claimed := c.claims[d]
	if claimed && now.Before(old.until) {
		a.Verdict = peer.ContentVerdict_CONTENT_VERDICT_PENDING
		return true
	}
	if claimed {
		old.end()
		c.missed.Add(1) // should it be stored after all, it is stored twice
	} else if len(c.claims) >= maxClaims {
		c.expire(now)
	}
	a.Verdict = peer.ContentVerdict_CONTENT_VERDICT_NEW
	if claimed || len(c.claims) < maxClaims {
		c.claims[d] = claim{until: now.Add(claimFor), stale: stale}
	}
	return true
}

// expire gives up claims that were not kept. The caller holds mu.
func (c *contents) expire(now time.Time) {
	for d, cl := range c.claims {
		if !now.Before(cl.until) {
			cl.end()
			delete(c.claims, d)
		}
	}
}

// release ends claims: their payloads are known by now, or were not stored.
func (c *contents) release(ds ...crawl.Digest) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, d := range ds {
		if cl, ok := c.claims[d]; ok {
			cl.end()
			delete(c.claims, d)
			c.released++
		}
	}
}

// replaces reports whether a payload that was stored takes the place of one that is
// lost.
func (c *contents) replaces(d crawl.Digest) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.claims[d].stale
}

// settledAnswer is answer, but waits for a payload that is being stored until ctx ends.
func (c *contents) settledAnswer(ctx context.Context, q *peer.ContentQuestion) *peer.ContentAnswer {
	return c.settle(ctx, q, c.answer(q))
}

// settle asks again while the answer is that the payload is being stored.
func (c *contents) settle(ctx context.Context, q *peer.ContentQuestion, a *peer.ContentAnswer) *peer.ContentAnswer {
	for a.Verdict == peer.ContentVerdict_CONTENT_VERDICT_PENDING {
		c.mu.Lock()
		until, over := c.watchClaim(crawl.Digest(q.Digest))
		c.mu.Unlock()
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
		c.payload(crawl.Partition(q.Partition), crawl.Digest(q.Digest), a)
	}
	return a
}

// watchClaim returns what is closed when a claim is over; nil when there is none. The
// caller holds mu.
func (c *contents) watchClaim(d crawl.Digest) (until time.Time, over <-chan struct{}) {
	cl, claimed := c.claims[d]
	if !claimed {
		return until, nil
	}
	if cl.over == nil {
		cl.over = make(chan struct{})
		c.claims[d] = cl
	}
	return cl.until, cl.over
}

// firstHere is what a page's own transaction adds: its payload, when it is the first
// with it and this node holds the partition.
func (c *contents) firstHere(v *crawl.Visit, o *crawl.Outcome) []frontier.Content {
	p := digestPartition(o.Digest, c.node.partitions())
	if !o.First || o.Archive.Record == [16]byte{} || !c.node.holds(p) {
		return nil
	}
	return []frontier.Content{{Partition: p, Digest: o.Digest, Replace: c.replaces(o.Digest),
		Original: crawl.Original{Record: o.Archive.Record, Node: c.node.id, URL: v.Item.URL.String(), FetchedAt: o.FetchedAt}}}
}

// settled tells who holds the digest what became of a payload that was new.
func (c *contents) settled(url urlnorm.URL, o *crawl.Outcome) {
	if !o.First {
		return
	}
	p := digestPartition(o.Digest, c.node.partitions())
	switch to := c.node.holderOf(p); to {
	case "":
	case c.node.id:
		c.release(o.Digest)
	default:
		note := &peer.ContentNote{Digest: o.Digest[:], Partition: uint32(p), Url: url.String(), FetchedAtNs: o.FetchedAt.UnixNano()}
		if o.Archive.Record != [16]byte{} {
			note.Record = o.Archive.Record[:]
		}
		c.lines.tell(to, note)
	}
}
