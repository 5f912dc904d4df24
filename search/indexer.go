package search

import (
	"context"
	"log/slog"
	"runtime"
	"sync"
	"time"

	"crawlnode/crawl"
	search "crawlnode/search/index"
	"crawlnode/ticks"
)

const (
	// roundEvery is the pause between rounds when all is in the index, retryEvery the one after an
	// error.
	roundEvery = time.Second
	retryEvery = 5 * time.Second
	// share is the part of the processors that the index takes while much waits, one of them at the
	// most: the crawl comes first, and what waits is safe. mostRest bounds the pauses by which it is
	// kept.
	share    = 0.125
	mostRest = 20 * time.Second
	// roundDocuments and roundBytes of text bound what a round holds in memory.
	roundDocuments = 1000
	roundBytes     = 8 << 20
	// servedAtOnce bounds the calls of nodes, this one included, that are answered at a time.
	servedAtOnce = 16
)

// Indexer keeps the index of this node. New makes it; Run does the work.
type Indexer struct {
	o     Options
	slots chan struct{} // each call that uses the index has one; who closes the index takes all

	mu      sync.Mutex // guards what follows; held for moments
	index   Index      // nil: not open
	on      bool
	cursors cursors
	behind  time.Time // since when something waits; zero: nothing does
	times   latencies
	fails   error // what keeps the index from being written, since failsSince
	// failsSince is the time of the first failure in a row.
	failsSince time.Time

	unpack unpacker // of Run
}

// OpenSearch opens an index of search/index.
func OpenSearch(dir string, log *slog.Logger) (Index, bool, error) {
	x, repair, err := search.Open(dir, search.Options{Log: log})
	if err != nil {
		return nil, false, err
	}
	return x, repair.Damaged() || x.Size().Documents == 0, nil
}

// New makes an Indexer; the index is opened by Run, when it is on.
func New(o Options) *Indexer {
	if o.Open == nil {
		o.Open = func(dir string) (Index, bool, error) { return OpenSearch(dir, o.Log) }
	}
	return &Indexer{
		o:       o,
		slots:   make(chan struct{}, servedAtOnce),
		cursors: cursors{Partitions: map[crawl.Partition]*cursor{}},
	}
}

// On reports whether this node answers questions.
func (x *Indexer) On() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.on && x.index != nil
}

// Failing is what keeps the index from being written, and since when; nil: nothing does.
func (x *Indexer) Failing() (since time.Time, err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.failsSince, x.fails
}

// ended keeps how a round ended.
func (x *Indexer) ended(err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if err != nil && x.fails == nil {
		x.failsSince = x.o.Now()
	}
	x.fails = err
}

// Run keeps the index up to date until ctx ends, then closes it. An index that cannot be written
// delays no crawl: it is tried again, and the status says how far it is behind.
func (x *Indexer) Run(ctx context.Context) error {
	defer x.close()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-timer.C:
		}
		wait, began := ticks.Until(time.Now(), roundEvery), x.o.Now()
		more, err := x.step(ctx)
		x.ended(err)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			x.o.Log.Error("the index could not be brought up to date; it is tried again", "error", err)
			wait = retryEvery
		case more:
			wait = rest(x.o.Now().Sub(began), runtime.GOMAXPROCS(0))
		}
		timer.Reset(wait)
	}
}

// rest is the pause after a round that took so long, by which the index keeps to its share of the
// processors.
func rest(took time.Duration, processors int) time.Duration {
	busy := min(share*float64(processors), 1)
	return min(max(time.Duration(float64(took)*(1/busy-1)), 0), mostRest)
}

// step does one round, if the index is on.
func (x *Indexer) step(ctx context.Context) (more bool, err error) {
	rules := x.o.Rules()
	x.mu.Lock()
	x.on = rules.On
	open := x.index != nil
	x.mu.Unlock()
	if !rules.On {
		return false, nil
	}
	if !open {
		if err := x.open(); err != nil {
			return false, err
		}
	}
	return x.round(ctx, &rules)
}

// open opens the index. When it has lost something, everything is read again.
func (x *Indexer) open() error {
	index, fresh, err := x.o.Open(x.o.Dir)
	if err != nil {
		return err
	}
	c, known := readCursors(x.o.Dir)
	if fresh || !known {
		if err := forgetCursors(x.o.Dir); err != nil {
			_ = index.Close()
			return err
		}
		c = cursors{Partitions: map[crawl.Partition]*cursor{}}
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.index, x.cursors = index, c
	return nil
}

// close waits for the calls that use the index, and closes it.
func (x *Indexer) close() {
	x.mu.Lock()
	index := x.index
	x.index = nil
	x.mu.Unlock()
	if index == nil {
		return
	}
	for range cap(x.slots) {
		x.slots <- struct{}{}
	}
	if err := index.Close(); err != nil {
		x.o.Log.Error("the index could not be closed", "error", err)
	}
}
