package frontier

import (
	"cmp"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zeebo/xxh3"

	"crawlnode/crawl"
	"crawlnode/frontier/filters"
	"crawlnode/frontier/layout"
	"crawlnode/frontier/reader"
	"crawlnode/frontier/recovery"
	"crawlnode/frontier/storage"
)

// Options sets up a Frontier.
type Options struct {
	// Node is this node, for log lines.
	Node crawl.NodeID
	// SuspiciousPerHost is the number of URLs that look like a trap which one
	// host may have. 0 means 10,000.
	SuspiciousPerHost int
	// ContentsPerPartition is the number of payloads that a partition remembers.
	// Default 32,768.
	ContentsPerPartition int64
	// PayloadFilterBytes bounds the filters in front of the payloads, see payloads.go. 0
	// means 32 MiB, less than 0 none.
	PayloadFilterBytes int64
	// CacheEntries is the number of URLs known to be seen that are kept in
	// memory, at 16 bytes each. 0 means 1,048,576.
	CacheEntries int
	// BloomDir is where the filters are saved at a clean stop. "" means
	// nowhere: they are rebuilt after each start.
	BloomDir string
	// HighWater is the file that says, beside the store, how far each partition
	// had come; the store alone would not notice every loss. "" means none.
	HighWater string
	// OnQueued is told which hosts got new URLs, after each commit. It is
	// called by the writer and must not block. nil: nobody is told.
	OnQueued func([]QueuedHost)
	// OnCommit is told how long each group of changes took to be written, by the
	// writer; it must not block. nil: nobody is told.
	OnCommit func(took time.Duration)
	// CommitPace is the least time from the beginning of one commit to that of the next
	// while all that waits is patient: links, completions, mutations for copies. What
	// partitions need to change hands is never held up. 0: nothing is.
	CommitPace time.Duration
	// Clock tells the time of day and how long the machine runs; nil: the process's.
	Clock Clock
	// Machine names the run of the machine whose time Clock tells (MachineRun). "":
	// unknown; then no time passes between two processes, as far as waits go.
	Machine string
	// Logger gets what an operator should know; nil drops it.
	Logger *slog.Logger
}

// QueuedHost says that a host got new URLs, the best of them in Band.
type QueuedHost struct {
	Partition crawl.Partition
	Host      crawl.Host
	Band      crawl.Band
}

// Frontier is one node's store of URLs. All methods may be called from many
// goroutines. Those that take a context change something and need Run: the
// context bounds the wait for a place in the queue, and for space on the disk; what
// was accepted is waited for. They return ErrStopped when Run has ended.
type Frontier struct {
	kv      storage.KV
	o       Options
	clock   Clock
	run     uint64 // names the machine's run in stamps
	log     *slog.Logger
	in      chan *request
	stopped chan struct{} // closed when Run is over
	budget  budget
	syncs   *syncQueue
	// writing is of the writer's writes, syncing of the syncs that acknowledgements wait for.
	writing, syncing stopwatch
	hurried          atomic.Bool // Hurry was called

	mu     sync.Mutex // guards the fields below
	metas  map[crawl.Partition]*shown
	sets   map[crawl.Partition]layout.SetRecord
	totals crawl.Counters // of the metas that are held
	// payloads are the filters that Content asks; only the writer changes the map.
	payloads map[crawl.Partition]*filters.Payloads

	// The rest belongs to the writer (and to New before it).
	parts     map[crawl.Partition]*partition
	importing map[crawl.Partition]*Import
	held      []*request // that wait for space on the disk; as many as callers
	cache     *filters.SeenCache
	keys      []xxh3.Uint128      // scratch of cacheKeys
	marks     *recovery.HighWater // nil: none
	// payloadRoom is what the filters of payloads may still take, in bytes.
	payloadRoom int64

	rebuilds *todo[rebuild] // filters to be rebuilt
	dead     *deadList      // generations to be deleted
}

// partition is all that the writer has of one partition.
type partition struct {
	layout.PartState
	filter *filters.URLs // nil: everything is maybe
	// delta holds what was added since a rebuild of the filter began.
	rebuilding bool
	delta      []layout.Fingerprint
	sinks      []Sink
	payloads   filters.PayloadPair
}

// New opens the frontier in kv: it reads the states of the partitions, and no
// URL. Call Run next.
func New(kv storage.KV, o Options) (*Frontier, error) {
	f := &Frontier{
		kv: kv, o: o, log: o.Logger, clock: o.Clock, run: layout.RunOf(o.Machine),
		in: make(chan *request), stopped: make(chan struct{}), budget: budgetOf(kv.Limits()),
		metas: map[crawl.Partition]*shown{}, parts: map[crawl.Partition]*partition{}, importing: map[crawl.Partition]*Import{},
		payloads: map[crawl.Partition]*filters.Payloads{}, rebuilds: newTodo[rebuild](), dead: newDeadList(),
	}
	if f.clock == nil {
		f.clock, f.run = processClock{time.Now()}, 0
	}
	f.writing.base = time.Now()
	f.syncing.base = f.writing.base
	f.syncs = newSyncQueue(func() error { return f.syncing.during(kv.Sync) })
	if f.log == nil {
		f.log = slog.New(slog.DiscardHandler)
	}
	f.o.ContentsPerPartition = cmp.Or(f.o.ContentsPerPartition, defaultContents)
	f.payloadRoom = cmp.Or(f.o.PayloadFilterBytes, filters.DefaultPayloadFilters)
	if f.o.SuspiciousPerHost == 0 {
		f.o.SuspiciousPerHost = 10_000
	}
	if f.o.CacheEntries == 0 {
		f.o.CacheEntries = 1 << 20
	}
	var secret [8]byte
	_, _ = rand.Read(secret[:]) // it never fails
	f.cache = filters.NewSeenCache(f.o.CacheEntries, binary.NativeEndian.Uint64(secret[:]))
	if err := f.load(); err != nil {
		return nil, fmt.Errorf("frontier: cannot read the partitions of the store: %w", err)
	}
	f.loadFilters()
	return f, nil
}

// load begins with what the store has.
func (f *Frontier) load() error {
	found, err := recovery.Load(recovery.Options{KV: f.kv, HighWater: f.o.HighWater, Machine: f.run, Now: f.moment(), Node: f.o.Node, Log: f.log})
	if err != nil {
		return err
	}
	f.marks, f.sets = found.Marks, found.Sets
	for p, s := range found.Partitions {
		f.parts[p] = &partition{PartState: *s}
		f.showLocked(s) // no other goroutine knows f yet
	}
	for _, g := range found.Dead {
		f.dead.add(g, 0)
	}
	return nil
}

// Metas returns all partitions that this node knows, by number.
func (f *Frontier) Metas() []layout.Meta {
	f.mu.Lock()
	out := make([]layout.Meta, 0, len(f.metas))
	for _, m := range f.metas {
		out = append(out, m.Meta)
	}
	f.mu.Unlock()
	slices.SortFunc(out, func(a, b layout.Meta) int { return int(a.Partition) - int(b.Partition) })
	return out
}

// Walk calls fn with each partition that this node knows, in no order, until it
// returns false. Unlike Metas it copies nothing: fn must be quick, must not
// call the frontier, and must not keep or change what it gets.
func (f *Frontier) Walk(fn func(m *layout.Meta) bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, m := range f.metas {
		if !fn(&m.Meta) {
			return
		}
	}
}

// Meta returns one partition; ok is false when this node never had it.
func (f *Frontier) Meta(p crawl.Partition) (m layout.Meta, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if known := f.metas[p]; known != nil {
		return known.Meta, true
	}
	return layout.Meta{}, false
}

// Totals sums the counters of the held partitions. They are kept as things happen.
func (f *Frontier) Totals() crawl.Counters {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.totals
}

// shown is what readers see of a partition.
type shown struct {
	layout.Meta
	line layout.Timeline
}

// showLocked shows what a partition has become.
func (f *Frontier) showLocked(m *layout.PartState) {
	place := f.metas[m.Partition]
	if place == nil {
		place = new(shown)
		f.metas[m.Partition] = place
	}
	if place.State == layout.Holder {
		f.totals.Minus(&place.Counters)
	}
	if m.State == layout.Holder {
		f.totals.Plus(&m.Counters)
	}
	*place = shown{m.Meta, m.Line}
}

// Sync returns when all that was acknowledged survives a loss of power.
func (f *Frontier) Sync() error { return f.kv.Sync() }

// read opens a snapshot for a caller's own goroutine, and finds the prefix of
// the partition's keys. It fails with ErrNotHolder when it has none here.
func (f *Frontier) read(p crawl.Partition) (*reader.Partition, error) {
	var m shown
	f.mu.Lock()
	if known := f.metas[p]; known != nil {
		m = *known
	}
	f.mu.Unlock()
	if m.State == layout.Absent {
		return nil, fmt.Errorf("%w: partition %d", ErrNotHolder, p)
	}
	snap, err := f.kv.Snapshot()
	if err != nil {
		return nil, err
	}
	return &reader.Partition{Snapshot: snap, Generation: layout.Generation{Partition: p, Number: m.Generation}, Line: m.line}, nil
}

// Close closes the store. Run and all readers must be over.
func (f *Frontier) Close() error {
	err := f.kv.Close()
	if f.marks != nil {
		err = errors.Join(err, f.marks.Close())
	}
	return err
}
