package frontier

import (
	"context"
	"math/bits"

	"github.com/bits-and-blooms/bloom/v3"
	"github.com/zeebo/xxh3"

	"crawlnode/crawl"
)

// seenCache remembers URLs whose record exists. It holds hashes with a secret
// seed, so that nobody can craft URLs that collide in it. A bucket has four slots,
// and the oldest hash is evicted. A zero slot is empty.
type seenCache struct {
	slots  []xxh3.Uint128
	mask   uint64 // number of buckets - 1
	secret uint64
}

const bucketSize = 4

// newSeenCache returns a cache of about n entries of 16 bytes.
func newSeenCache(n int, secret uint64) *seenCache {
	buckets := uint64(1)
	for buckets*bucketSize < uint64(max(n, bucketSize)) {
		buckets <<= 1
	}
	return &seenCache{slots: make([]xxh3.Uint128, buckets*bucketSize), mask: buckets - 1, secret: secret}
}

// key hashes a URL of one generation of a partition, so nothing is known of a partition
// that was given away and comes back under a new generation.
func (c *seenCache) key(g generation, url string) xxh3.Uint128 {
	seed := c.secret ^ bits.RotateLeft64(uint64(g.partition)<<32|uint64(g.number), 17)
	return xxh3.HashString128Seed(url, seed)
}

func (c *seenCache) bucket(k xxh3.Uint128) []xxh3.Uint128 {
	i := (k.Lo & c.mask) * bucketSize
	return c.slots[i : i+bucketSize : i+bucketSize]
}

func (c *seenCache) has(k xxh3.Uint128) bool {
	for _, s := range c.bucket(k) {
		if s == k {
			return true
		}
	}
	return false
}

func (c *seenCache) add(k xxh3.Uint128) {
	if c.has(k) {
		return
	}
	b := c.bucket(k)
	copy(b[1:], b)
	b[0] = k
}

// The filters' size: 9.6 bits a URL or host at the capacity, which is half as much
// again as the partition held when the filter was made. So a filter has
// between 9.6 and 14.4 bits each, and says maybe to 1 % of new ones at worst.
const (
	filterHashes      = 7
	filterBitsPer10   = 96 // bits for ten URLs
	filterMinCapacity = 1024
)

// filter is the Bloom filter of one partition: of the URLs that have a record or are
// their host's only one, and of the hosts that have an entry. It belongs to the writer.
type filter struct {
	bits     *bloom.BloomFilter
	count    int64 // URLs and hosts added
	capacity int64 // those that it is made for
}

// newFilter returns an empty filter for a partition that holds this many.
func newFilter(keys int64) *filter {
	capacity := max(keys+keys/2, filterMinCapacity)
	return &filter{bits: bloom.New(uint(capacity)*filterBitsPer10/10, filterHashes), capacity: capacity}
}

func (f *filter) add(fp fingerprint) {
	f.bits.Add(fp[:])
	f.count++
}

func (f *filter) maybe(fp fingerprint) bool { return f.bits.Test(fp[:]) }

// full reports whether the filter should be rebuilt larger.
func (f *filter) full() bool { return f.count > f.capacity }

// readFilter makes a filter of the records and the hosts of one generation; keys is
// how many these are.
func readFilter(ctx context.Context, snap Snapshot, gen generation, keys int64) (*filter, error) {
	fl := newFilter(keys)
	v := view{snap: snap, gen: gen}
	err := v.each(ctx, tableRecords, func(it Iterator) error {
		if fp, ok := fingerprintOfKey(it.Key()); ok {
			fl.add(fp)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	err = v.each(ctx, tableHosts, func(it Iterator) error {
		h := crawl.Host(it.Key()[prefixLen+1:])
		fl.add(fingerprintOf(string(h)))
		value, err := it.Value()
		if err != nil {
			return err
		}
		e, err := decodeHost(value)
		if err != nil || e.sole == nil {
			return err
		}
		fp, err := e.sole.fingerprint(h)
		fl.add(fp)
		return err
	})
	return fl, err
}
