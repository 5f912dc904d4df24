package scopeset

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"

	"github.com/bits-and-blooms/bloom/v3"
	"github.com/zeebo/xxh3"

	"crawlnode/web/scope"
)

const (
	freshLimit    = 1 << 15 // keys that become one run
	indexedAtOnce = 4096    // keys that are added under one lock
	cacheSlots    = 1 << 15
	filterStart   = 1 << 12 // keys for which the first filter is made
	filterBits    = 10      // a key, when the filter is full
	filterHashes  = 7
)

// fingerprint identifies a key.
type fingerprint = xxh3.Uint128

// index is the set of the keys' fingerprints. It allows one writer at a time and any number of
// readers.
type index struct {
	dir    string
	secret uint64
	kinds  [scope.Kinds]atomic.Int64 // keys of each kind: most crawls have one or two
	// half of a fingerprint each, 0 for none; the other half names the slot
	cache [cacheSlots]atomic.Uint64

	mu       sync.RWMutex // guards fresh, filter, count and runs; held for memory accesses only
	fresh    map[fingerprint]struct{}
	filter   *bloom.BloomFilter
	count    int // keys in the filter
	capacity int // keys that it is made for
	runs     []*run

	// reading is held while files of runs are read, so that none is closed meanwhile. It is needed
	// only for keys that the filter does not exclude and that are not found in memory.
	reading sync.RWMutex
	broken  error // why the last run could not be written; used by the writer only
}

func newIndex(dir string) *index {
	return &index{
		dir:      dir,
		secret:   rand.Uint64(),
		fresh:    map[fingerprint]struct{}{},
		filter:   newFilter(filterStart),
		capacity: filterStart,
	}
}

func newFilter(
	keys int,
) *bloom.BloomFilter {
	return bloom.New(uint(keys)*filterBits, filterHashes)
}

func (x *index) fingerprint(k scope.Key) fingerprint {
	return xxh3.HashString128Seed(k.Text, x.secret+uint64(k.Kind))
}

// has reports whether a key is in the set. If the disk fails, it answers yes: the holder judges a
// wrongly admitted link again, while a wrongly refused one would be lost.
func (x *index) has(k scope.Key) bool {
	known, err := x.knows(k)
	return known || err != nil
}

// knows is has, and returns the error of the disk.
func (x *index) knows(k scope.Key) (bool, error) {
	if x.kinds[k.Kind].Load() == 0 {
		return false, nil
	}
	f := x.fingerprint(k)
	slot := &x.cache[f.Hi%cacheSlots]
	if f.Lo != 0 && slot.Load() == f.Lo {
		return true, nil
	}
	known, err := x.find(f)
	if known {
		slot.Store(f.Lo)
	}
	return known, err
}

// find looks up the filter, the fresh keys and the runs.
func (x *index) find(f fingerprint) (bool, error) {
	b := f.Bytes()
	x.mu.RLock()
	maybe := x.filter.Test(b[:])
	_, fresh := x.fresh[f]
	x.mu.RUnlock()
	if !maybe || fresh {
		return fresh, nil
	}
	x.reading.RLock()
	defer x.reading.RUnlock()
	x.mu.RLock()
	runs := x.runs
	_, fresh = x.fresh[f]
	x.mu.RUnlock()
	for i := len(runs) - 1; i >= 0 && !fresh; i-- {
		var err error
		if fresh, err = runs[i].has(f); err != nil {
			return false, err
		}
	}
	return fresh, nil
}

// add adds keys; those already there may be among them.
func (x *index) add(keys []scope.Key) {
	for len(keys) > 0 {
		part := keys[:min(len(keys), indexedAtOnce)]
		keys = keys[len(part):]
		fs := make([]fingerprint, 0, len(part))
		for _, k := range part {
			if !x.has(k) {
				fs = append(fs, x.fingerprint(k))
			}
		}
		x.mu.Lock()
		for _, f := range fs {
			x.fresh[f] = struct{}{}
			b := f.Bytes()
			x.filter.Add(b[:])
		}
		x.count += len(fs)
		x.mu.Unlock()
		for _, k := range part { // last: a reader that sees the kind finds the key
			x.kinds[k.Kind].Add(1)
		}
		if len(x.fresh) >= freshLimit {
			x.broken = x.flush()
		}
	}
}

// room is an error when the keys in memory cannot be written to a run.
func (x *index) room() error {
	if len(x.fresh) >= 2*freshLimit {
		x.broken = x.flush()
	}
	if len(x.fresh) >= 2*freshLimit {
		return fmt.Errorf("the index of the scope entries: %w", x.broken)
	}
	return nil
}

// flush writes the fresh keys to a run, merges the runs that are due, and makes a larger filter
// when this one is full.
func (x *index) flush() error {
	r, err := writeRun(x.dir, sorted(x.fresh))
	if err != nil {
		return err
	}
	runs := append(append([]*run(nil), x.runs...), r)
	x.mu.Lock()
	x.runs, x.fresh = runs, make(map[fingerprint]struct{}, freshLimit)
	x.mu.Unlock()
	if err := x.merge(); err != nil {
		return err
	}
	return x.enlarge()
}

// merge merges the last two runs until each is at least twice as large as the next. So there are at
// most as many runs as the number of keys has bits.
func (x *index) merge() error {
	for n := len(x.runs); n > 1 && x.runs[n-2].n < 2*x.runs[n-1].n; n = len(x.runs) {
		a, b := x.runs[n-2], x.runs[n-1]
		m, err := mergeRuns(x.dir, a, b)
		if err != nil {
			return err
		}
		runs := append(append([]*run(nil), x.runs[:n-2]...), m)
		x.mu.Lock()
		x.runs = runs
		x.mu.Unlock()
		x.reading.Lock() // no reader uses the old runs now; later readers get the new list
		err = errors.Join(a.close(), b.close())
		x.reading.Unlock()
		if err != nil {
			return err
		}
	}
	return nil
}

// enlarge rebuilds the filter from the runs.
func (x *index) enlarge() error {
	if x.count <= x.capacity {
		return nil
	}
	capacity := x.capacity
	for capacity < x.count+freshLimit {
		capacity *= 2
	}
	filter := newFilter(capacity)
	for _, r := range x.runs {
		if err := r.each(func(f fingerprint) {
			b := f.Bytes()
			filter.Add(b[:])
		}); err != nil {
			return err
		}
	}
	for f := range x.fresh {
		b := f.Bytes()
		filter.Add(b[:])
	}
	x.mu.Lock()
	x.filter, x.capacity = filter, capacity
	x.mu.Unlock()
	return nil
}

func (x *index) close() error {
	x.reading.Lock()
	defer x.reading.Unlock()
	var errs []error
	for _, r := range x.runs {
		errs = append(errs, r.close())
	}
	return errors.Join(errs...)
}
