package commit

import (
	"cmp"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"crawlnode/crawl"
	"crawlnode/frontier/filters"
	"crawlnode/frontier/layout"
	"crawlnode/frontier/recovery"
	"crawlnode/frontier/storage"
)

// Options sets up a frontier. SuspiciousPerHost and ContentsPerPartition are limits of its
// operations; the writer does not use them.
type Options struct {
	// Node is this node, for log lines.
	Node crawl.NodeID
	// SuspiciousPerHost returns the number of URLs that look like a trap which one
	// host may have; 0: any number. Nil means crawl.DefaultSuspiciousPerHost.
	SuspiciousPerHost func() int64
	// ContentsPerPartition is the number of payloads that a partition remembers.
	// Default 32,768.
	ContentsPerPartition int64
	// PayloadFilterBytes bounds the filters in front of the payloads, see payloads.go. 0
	// means 32 MiB, less than 0 none.
	PayloadFilterBytes int64
	// CacheEntries is the number of URLs known to be seen that are kept in
	// memory, at 8 bytes each. 0 means 2,097,152.
	CacheEntries int
	// BloomDir is where the filters are saved at a clean stop. "" means
	// nowhere: they are rebuilt after each start.
	BloomDir string
	// HighWater is the file that records, beside the store, how far each partition
	// has come; the store alone would not notice every loss. "" means none.
	HighWater string
	// OnQueued is called with the hosts that got new URLs, after each commit.
	// The writer calls it, so it must not block. nil: no call.
	OnQueued func([]QueuedHost)
	// BeforeCommit is called before changes are applied and written that are not small, for what must
	// be on the disk before them: the records of pages that are done. With its error nothing is
	// written: that of a full disk (ENOSPC) makes the changes wait, any other ends the writer. The
	// writer calls it. nil: no call.
	BeforeCommit func() error
	// OnCommit is called with the time that each group of changes took to be
	// written, if it has any. The writer calls it, so it must not block. nil: no call.
	OnCommit func(took time.Duration)
	// CommitPace is the least time from the beginning of one commit to that of the next
	// while all that waits is patient: links, completions, mutations for copies. What
	// partitions need to change hands is never held up. 0: nothing is.
	CommitPace time.Duration
	// Members returns the number of the cluster's members, with which CommitPace grows: a fifth of it
	// for each beyond the first, at most to two and a half times as much. The writer calls it for each
	// commit, so it must not block. nil: it does not grow.
	Members func() int
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

// Writer is the one writer of a frontier, with what others may see of it. Methods that take a
// context may be called from many goroutines. They change something and need Run: the
// context bounds the wait for a place in the queue, and for space on the disk; what
// was accepted is waited for. They return ErrStopped when Run has ended. Methods that read
// may be called from any goroutine as well. The others are for what the writer applies.
type Writer struct {
	KV      storage.KV
	O       Options
	clock   Clock
	Machine uint64 // names the machine's run in stamps
	log     *slog.Logger
	in      chan *Request
	stopped chan struct{} // closed when Run is over
	Budget  budget
	syncs   *syncQueue
	// writing is of the writer's writes, syncing of the syncs that acknowledgements wait for.
	writing, syncing stopwatch
	hurried          atomic.Bool // Hurry was called

	mu     sync.Mutex // guards the fields below
	metas  map[crawl.Partition]*shown
	sets   map[crawl.Partition]layout.SetRecord
	totals crawl.Counters // of the metas that are held
	copies int            // of the metas
	// payloads are the filters that Content asks; only the writer changes the map.
	payloads map[crawl.Partition]*filters.Payloads

	// The rest belongs to the writer (and to New before it).
	parts map[crawl.Partition]*Partition
	held  []*Request // that wait for space on the disk; as many as callers
	Cache *filters.SeenCache
	// scratch is Part.Scratch; no key is longer.
	scratch [MaxKeyBytes]byte
	marks   *recovery.HighWater // nil: none
	slots   bookSlots
	// PayloadRoom is what the filters of payloads may still take, in bytes.
	PayloadRoom int64

	rebuilds *todo[rebuild] // filters to be rebuilt
	DeadList *deadList      // generations to be deleted
}

// Open opens the writer of the frontier in kv: it reads the states of the partitions, and no
// URL. Call Run next.
func Open(kv storage.KV, o Options) (*Writer, error) {
	f := &Writer{
		KV: kv, O: o, log: o.Logger, clock: o.Clock, Machine: layout.RunOf(o.Machine),
		in: make(chan *Request), stopped: make(chan struct{}), Budget: budgetOf(kv.Limits()),
		metas: map[crawl.Partition]*shown{}, parts: map[crawl.Partition]*Partition{},
		payloads: map[crawl.Partition]*filters.Payloads{}, rebuilds: newTodo[rebuild](),
		DeadList: newDeadList(),
	}
	if f.clock == nil {
		f.clock, f.Machine = processClock{time.Now()}, 0
	}
	f.writing.base = time.Now()
	f.syncing.base = f.writing.base
	f.syncs = newSyncQueue(func() error { return f.syncing.during(kv.Sync) })
	if f.log == nil {
		f.log = slog.New(slog.DiscardHandler)
	}
	f.O.Logger = f.log
	f.PayloadRoom = cmp.Or(f.O.PayloadFilterBytes, filters.DefaultPayloadFilters)
	if f.O.CacheEntries == 0 {
		f.O.CacheEntries = 1 << 21
	}
	var secret [8]byte
	_, _ = rand.Read(secret[:]) // it never fails
	f.Cache = filters.NewSeenCache(f.O.CacheEntries, binary.NativeEndian.Uint64(secret[:]))
	if err := f.load(); err != nil {
		return nil, fmt.Errorf("frontier: cannot read the partitions of the store: %w", err)
	}
	f.loadFilters()
	return f, nil
}

// load begins with what the store has.
func (w *Writer) load() error {
	found, err := recovery.Load(recovery.Options{
		KV:        w.KV,
		HighWater: w.O.HighWater,
		Machine:   w.Machine,
		Now:       w.moment(),
		Node:      w.O.Node,
		Log:       w.log,
	})
	if err != nil {
		return err
	}
	w.marks, w.sets = found.Marks, found.Sets
	for p, s := range found.Partitions {
		w.parts[p] = &Partition{PartState: *s}
		w.slots.restore(w.parts[p], found.Books)
		w.showLocked(s) // no other goroutine knows w yet
	}
	for _, g := range found.Dead {
		w.DeadList.Add(g, 0)
	}
	return nil
}

// Close closes the store. Run and all readers must be over.
func (w *Writer) Close() error {
	err := w.KV.Close()
	if w.marks != nil {
		err = errors.Join(err, w.marks.Close())
	}
	return err
}
