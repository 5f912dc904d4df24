package frontier

import (
	"cmp"
	"context"
	"time"

	"github.com/zeebo/xxh3"

	"crawlnode/crawl"
	"crawlnode/frontier/cash"
	"crawlnode/frontier/commit"
	"crawlnode/frontier/guests"
	"crawlnode/frontier/layout"
	"crawlnode/frontier/storage"
	"crawlnode/frontier/texts"
)

// Frontier is one node's store of URLs. All methods may be called from many
// goroutines. Those that take a context change something and need Run: the
// context bounds the wait for a place in the queue, and for space on the disk; what
// was accepted is waited for. They return ErrStopped when Run has ended.
type Frontier struct {
	*cash.Accounts // importance
	*texts.Reader  // documents for the index
	*guests.Table  // URLs of other crawls
	w              *commit.Writer
	o              commit.Options
	// planner plans the next visits of pages; nil: none are planned.
	planner  Planner
	dueHeads dueHeads

	// The rest belongs to the writer's goroutine.
	importing  map[crawl.Partition]*Import
	keys       []xxh3.Uint128   // scratch of cacheKeys
	candidates []candidate      // scratch of admit
	newBlocks  []newBlock       // being filled, maxNewBlocks at most; none between requests
	meta       layout.MetaEntry // scratch of follow
}

// New opens the frontier in kv: it reads the states of the partitions, and no
// URL. Call Run next.
func New(kv storage.KV, o commit.Options) (*Frontier, error) {
	if o.SuspiciousPerHost == nil {
		o.SuspiciousPerHost = func() int64 { return crawl.DefaultSuspiciousPerHost }
	}
	o.ContentsPerPartition = cmp.Or(o.ContentsPerPartition, usualContents)
	w, err := commit.Open(kv, o)
	if err != nil {
		return nil, err
	}
	return &Frontier{
		w:         w,
		o:         o,
		importing: map[crawl.Partition]*Import{},
		Accounts:  cash.NewAccounts(w),
		Reader:    texts.NewReader(w),
		Table:     guests.New(w),
	}, nil
}

// group is a group of the writer's, as operations on URLs use it.
type group struct {
	*commit.Group
	f *Frontier
}

// part is a partition in a group.
type part struct {
	*commit.Part
	f *Frontier
}

func (g group) part(p crawl.Partition) part { return part{g.Group.Part(p), g.f} }

func (pg part) group() group { return group{pg.Group, pg.f} }

// in makes of an operation what the writer applies.
func (f *Frontier) in(apply func(group) error) func(*commit.Group) error {
	return func(g *commit.Group) error { return apply(group{g, f}) }
}

// do hands a request to the writer and waits for the answer.
func (f *Frontier) do(ctx context.Context, r *commit.Request) error { return f.w.Do(ctx, r) }

// change is do for an ordinary request, which is patient.
func (f *Frontier) change(ctx context.Context, apply func(group) error) error {
	return f.w.Change(ctx, f.in(apply))
}

// alone is do for a request that changes what partitions are.
func (f *Frontier) alone(ctx context.Context, toDisk bool, apply func(group) error) error {
	return f.w.Alone(ctx, toDisk, f.in(apply))
}

// Run is the writer: the one goroutine that changes the frontier. It returns
// when ctx has ended, all accepted requests are answered and the filters are
// saved; or, with the error, when the store fails, which nothing here can mend.
// Call it once.
func (f *Frontier) Run(ctx context.Context) error { return f.w.Run(ctx) }

// Hurry ends all waits for disk space, now and later. It is for a node that stops.
func (f *Frontier) Hurry() { f.w.Hurry() }

// Close closes the store. Run and all readers must be over.
func (f *Frontier) Close() error { return f.w.Close() }

// Sync returns when all that was acknowledged survives a loss of power.
func (f *Frontier) Sync() error { return f.w.Sync() }

// Metas returns all partitions that this node knows, by number.
func (f *Frontier) Metas() []Meta { return f.w.Metas() }

// Meta returns one partition; ok is false when this node never had it.
func (f *Frontier) Meta(p crawl.Partition) (m Meta, ok bool) { return f.w.Meta(p) }

// Walk calls fn with each partition that this node knows, in no order, until it
// returns false. Unlike Metas it copies nothing: fn must be quick, must not
// call the frontier, and must not keep or change what it gets.
func (f *Frontier) Walk(fn func(m *Meta) bool) { f.w.Walk(fn) }

// Copies counts the partitions of which this node keeps a copy for another one.
func (f *Frontier) Copies() int { return f.w.Copies() }

// Totals sums the counters of the held partitions. They are kept as things happen.
func (f *Frontier) Totals() crawl.Counters { return f.w.Totals() }

// Sets returns this node's records of in-sync sets, by partition.
func (f *Frontier) Sets() []SetRecord { return f.w.Sets() }

// Set returns this node's record of one partition.
func (f *Frontier) Set(p crawl.Partition) (r SetRecord, ok bool) { return f.w.Set(p) }

// Waited is how long acknowledgements have waited for the disk since New: the longer
// of the time in writes and, where acknowledgements wait for that, in syncs. It never
// falls by much, and a write that hangs counts already.
func (f *Frontier) Waited() time.Duration { return f.w.Waited() }

// Stalled is how long the disk has taken for what it is asked to do now: a write of
// the writer, or a sync that acknowledgements wait for. 0: it is asked for nothing.
func (f *Frontier) Stalled() time.Duration { return f.w.Stalled() }

// Beat has the writer try the disk, and returns when that is done. So a node with nothing
// to store also notices a disk that does not answer.
func (f *Frontier) Beat(ctx context.Context) error { return f.w.Beat(ctx) }

// Dead returns what waits to be deleted.
func (f *Frontier) Dead() commit.Dead { return f.w.Dead() }
