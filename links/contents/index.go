package contents

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
	"crawlnode/ticks"
	"crawlnode/web/simhash"
	"crawlnode/web/urlnorm"
)

// seenWait is how long, and at most a tenth longer, a page waits for the answer whether its payload
// is known.
const seenWait = 500 * time.Millisecond

// Store is the part of the frontier that an Index uses.
type Store interface {
	// Content returns the first capture of a payload, and false when none is known. It
	// fails when the partition is not held here.
	Content(p crawl.Partition, d crawl.Digest) (crawl.Original, bool, error)
	// NoteContents stores first captures; it returns when they are durable.
	NoteContents(ctx context.Context, cs []frontier.Content) error
	// Record returns the record of a URL, and false when there is none.
	Record(p crawl.Partition, u urlnorm.URL) (crawl.Record, bool, error)
}

// Cluster is what an Index asks of the nodes. Its methods must not block, except Call.
type Cluster interface {
	// Partitions is their number. An Index is not used before it is known.
	Partitions() int
	// Holder is the node that holds a partition, as far as this node knows; "" when unknown. It is
	// Self exactly when this node holds it.
	Holder(p crawl.Partition) crawl.NodeID
	// Alone reports whether the view has no other member.
	Alone() bool
	// Forgotten reports whether a node was removed for good, with its archive.
	Forgotten(id crawl.NodeID) bool
	// Call sends a batch to another member.
	Call(ctx context.Context, to crawl.NodeID, b *peer.ContentBatch) (*peer.ContentReply, error)
}

// Options are the dependencies of an Index. All are required.
type Options struct {
	Self    crawl.NodeID
	Store   Store
	Cluster Cluster
	// Memory bounds the memory for the fingerprints of texts, approximately, in bytes.
	Memory int64
}

// Index answers for the partitions of this node, and asks the others.
type Index struct {
	o       Options
	batches batcher
	limits  *ticks.Deadlines

	mu       sync.Mutex // guards the rest
	claims   map[crawl.Digest]claim
	released uint64                 // number of ended claims
	near     *simhash.Index[string] // made on first use

	unanswered atomic.Int64
}

// New makes an Index. Close it when it is no longer used.
func New(o Options) *Index {
	return &Index{o: o, limits: ticks.NewDeadlines(seenWait), claims: map[crawl.Digest]claim{},
		batches: batcher{cluster: o.Cluster, to: map[crawl.NodeID]*queue{}}}
}

// Close waits for running calls and for those being collected. Later questions are not sent.
func (x *Index) Close() { x.batches.close() }

// Unanswered counts the payloads that may be stored twice: no answer came in time, or a claim was
// not fulfilled.
func (x *Index) Unanswered() int64 { return x.unanswered.Load() }

// digestPartition is the partition that stores a digest.
func digestPartition(d crawl.Digest, partitions int) crawl.Partition {
	return crawl.Partition(binary.BigEndian.Uint64(d[:]) % uint64(partitions))
}

// blockPartitions are the partitions whose holders keep fingerprints with one of the four blocks.
func blockPartitions(print uint64, partitions int) (ps [4]crawl.Partition) {
	for i := range ps {
		block := [3]byte{byte(i), byte(print >> (16 * i)), byte(print >> (16*i + 8))}
		ps[i] = crawl.Partition(xxhash.Sum64(block[:]) % uint64(partitions))
	}
	return ps
}

// maxAsked bounds the nodes that are asked about a page: the holders of four blocks and of the
// payload.
const maxAsked = 5

// questions splits the question about a page among the nodes that may know the answer, and appends
// it to all: one query for each of them, this node's own among them.
func (x *Index) questions(q *pipeline.ContentQuestion, all []*query) []*query {
	to := func(holder crawl.NodeID) *query {
		for _, a := range all {
			if a.to == holder {
				return a
			}
		}
		all = append(all, x.batches.newQuery(holder, q.URL.String()))
		return all[len(all)-1]
	}
	switch {
	case q.Simhash == 0:
	case x.o.Cluster.Alone(): // no other node can know
		to(x.o.Self).question.Simhash = q.Simhash
	default:
		for _, p := range blockPartitions(q.Simhash, x.o.Cluster.Partitions()) {
			if holder := x.o.Cluster.Holder(p); holder != "" {
				to(holder).question.Simhash = q.Simhash
			}
		}
	}
	if q.Countable {
		p := digestPartition(q.Digest, x.o.Cluster.Partitions())
		if holder := x.o.Cluster.Holder(p); holder != "" {
			to(holder).about(q.Digest, p)
		}
	}
	return all
}

// Seen reports whether a page's payload or text was seen before. It implements pipeline.Contents,
// and may block for half a second.
func (x *Index) Seen(ctx context.Context, q pipeline.ContentQuestion) pipeline.ContentAnswer {
	a, answered := x.seen(ctx, q)
	if !answered {
		x.unanswered.Add(1)
	}
	return a
}

// seen asks. answered says that a node has answered for the payload, if there is one.
func (x *Index) seen(
	ctx context.Context,
	q pipeline.ContentQuestion,
) (a pipeline.ContentAnswer, answered bool) {
	answered = !q.Countable
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
			answered, a.Original = true, x.original(r, &q)
			a.First = a.Original == nil // it is stored again, and replaces itself
		}
	}
	var places [maxAsked]*query
	all := x.questions(&q, places[:0])
	var own *query
	others := 0
	for _, ask := range all {
		if ask.to == x.o.Self {
			own = ask
		} else {
			x.batches.ask(ask)
			others++
		}
	}
	if own != nil {
		x.answer(&own.question, &own.here)
	}
	if others > 0 || own != nil && own.here.Verdict == peer.ContentVerdict_CONTENT_VERDICT_PENDING {
		// Most pages of a lone node need no wait and no timer.
		var cancel func()
		ctx, cancel = x.limits.Begin(ctx)
		defer cancel()
	}
	if own != nil {
		x.awaitStored(ctx, &own.question, &own.here)
		take(&own.question, &own.here)
		x.batches.release(own)
	}
	for _, ask := range all {
		if ask == own {
			continue
		}
		r, done := ask.wait(ctx, &x.batches)
		if r != nil {
			take(&ask.question, r)
		}
		if done { // else the answer is still to come
			x.batches.release(ask)
		}
	}
	if a.Original != nil {
		a.NearOf = ""
	}
	return a, answered
}

// original is the capture to which a page may refer instead of being stored; nil: it must be
// stored. A page that is reported as its own original was stored before and is fetched again, or
// its record was lost with this machine's last second: its record in the frontier shows which.
func (x *Index) original(r *peer.ContentAnswer, q *pipeline.ContentQuestion) *crawl.Original {
	if r.Url == q.URL.String() {
		p := ring.PartitionOf(crawl.Host(q.URL.Host()), x.o.Cluster.Partitions())
		rec, ok, err := x.o.Store.Record(p, q.URL)
		if err != nil || !ok || rec.Archive == (crawl.ArchiveRef{}) {
			return nil
		}
	}
	return &crawl.Original{
		Record:    [16]byte(r.Record),
		URL:       r.Url,
		FetchedAt: time.Unix(0, r.FetchedAtNs).UTC(),
	}
}

// answer answers from this node's knowledge, in a. Unknown payloads are claimed, unknown texts
// added.
func (x *Index) answer(q *peer.ContentQuestion, a *peer.ContentAnswer) {
	if q.Simhash != 0 {
		a.NearUrl, a.NearDistance = x.nearest(q.Url, q.Simhash)
	}
	if q.Digest != nil {
		x.payload(crawl.Partition(q.Partition), crawl.Digest(q.Digest), a)
	}
}

// FirstHere is an addition to a page's own transaction: its payload, when it is the first with it
// and this node holds the partition.
func (x *Index) FirstHere(v *crawl.Visit, o *crawl.Outcome) []frontier.Content {
	if !o.First || o.Archive.Record == [16]byte{} {
		return nil
	}
	p := digestPartition(o.Digest, x.o.Cluster.Partitions())
	if x.o.Cluster.Holder(p) != x.o.Self {
		return nil
	}
	return []frontier.Content{{Partition: p, Digest: o.Digest, Replace: x.replaces(o.Digest),
		Original: crawl.Original{
			Record:    o.Archive.Record,
			Node:      x.o.Self,
			URL:       v.Item.URL.String(),
			FetchedAt: o.FetchedAt,
		}}}
}

// Completed reports the result for a new payload to the digest's holder. Call it once for each
// visit, when its outcome is stored or dropped. Only a stored one announces its record: that of a
// page which was not stored may never have reached the disk (decision 0009), and others would refer
// to it.
func (x *Index) Completed(url urlnorm.URL, o *crawl.Outcome, stored bool) {
	if !o.First {
		return
	}
	p := digestPartition(o.Digest, x.o.Cluster.Partitions())
	switch to := x.o.Cluster.Holder(p); to {
	case "":
	case x.o.Self:
		x.release(o.Digest)
	default:
		note := &peer.ContentNote{
			Digest:      o.Digest[:],
			Partition:   uint32(p),
			Url:         url.String(),
			FetchedAtNs: o.FetchedAt.UnixNano(),
		}
		if stored && o.Archive.Record != [16]byte{} {
			note.Record = o.Archive.Record[:]
		}
		x.batches.tell(to, note)
	}
}
