package filters

import (
	"context"
	"math/bits"
	"slices"

	"github.com/bits-and-blooms/bloom/v3"
	"github.com/zeebo/xxh3"

	"crawlnode/crawl"
	"crawlnode/frontier/layout"
	"crawlnode/frontier/reader"
	"crawlnode/frontier/storage"
)

// SeenCache remembers URLs whose record exists. It holds halves of hashes with a secret
// seed, so that nobody can craft URLs that collide in it; the other half says in which
// bucket. So two URLs are taken for one by chance once in 2^61 look-ups. A bucket
// is a line of the processor's cache, with eight slots: the oldest hash is evicted. A zero slot is
// empty.
type SeenCache struct {
	slots  []uint64
	mask   uint64 // number of buckets - 1
	Secret uint64
}

const bucketSize = 8

// NewSeenCache returns a cache of about n entries of 8 bytes.
func NewSeenCache(n int, secret uint64) *SeenCache {
	buckets := uint64(1)
	for buckets*bucketSize < uint64(max(n, bucketSize)) {
		buckets <<= 1
	}
	return &SeenCache{slots: make([]uint64, buckets*bucketSize), mask: buckets - 1, Secret: secret}
}

// Key hashes a URL of one generation of a partition, so nothing is known of a partition
// that was given away and comes back under a new generation.
func (c *SeenCache) Key(g layout.Generation, url string) xxh3.Uint128 {
	seed := c.Secret ^ bits.RotateLeft64(uint64(g.Partition)<<32|uint64(g.Number), 17)
	return xxh3.HashString128Seed(url, seed)
}

func (c *SeenCache) bucket(k xxh3.Uint128) *[bucketSize]uint64 {
	return (*[bucketSize]uint64)(c.slots[(k.Lo&c.mask)*bucketSize:])
}

// Has reports whether the cache has the key.
func (c *SeenCache) Has(k xxh3.Uint128) bool {
	return k.Hi != 0 && slices.Contains(c.bucket(k)[:], k.Hi)
}

// Add puts a key into the cache, and may evict another one.
func (c *SeenCache) Add(k xxh3.Uint128) {
	if c.Has(k) {
		return
	}
	b := c.bucket(k)
	copy(b[1:], b[:])
	b[0] = k.Hi
}

// Remove takes a key out of the cache: its record is deleted.
func (c *SeenCache) Remove(k xxh3.Uint128) {
	b := c.bucket(k)
	for i := range b {
		if b[i] == k.Hi {
			b[i] = 0
		}
	}
}

// The filters' size: 9.6 bits a URL or host at the capacity, which is half as much
// again as the partition held when the filter was made. So a filter has
// between 9.6 and 14.4 bits each, and at worst 1 % of new ones are maybe.
const (
	filterHashes      = 7
	filterBitsPer10   = 96 // bits for ten URLs
	filterMinCapacity = 1024
)

// URLs is the Bloom filter of one partition: of the URLs that have a record or are
// their host's only one, and of the hosts that have an entry. It belongs to the writer.
type URLs struct {
	bits     *bloom.BloomFilter
	Count    int64 // URLs and hosts added
	Capacity int64 // those that it is made for
}

// NewURLs returns an empty filter for a partition that holds this many.
func NewURLs(keys int64) *URLs {
	capacity := max(keys+keys/2, filterMinCapacity)
	return &URLs{bits: bloom.New(uint(capacity)*filterBitsPer10/10, filterHashes), Capacity: capacity}
}

// Add adds the fingerprint of a URL, or of a host.
func (f *URLs) Add(fp layout.Fingerprint) {
	f.bits.Add(fp[:])
	f.Count++
}

// Maybe reports whether the fingerprint may have been added; false is sure.
func (f *URLs) Maybe(fp layout.Fingerprint) bool { return f.bits.Test(fp[:]) }

// Full reports whether the filter should be rebuilt larger.
func (f *URLs) Full() bool { return f.Count > f.Capacity }

// ReadURLs makes a filter of the records and the hosts of one generation; keys is
// how many these are.
func ReadURLs(
	ctx context.Context,
	snap storage.Snapshot,
	gen layout.Generation,
	keys int64,
) (*URLs, error) {
	fl := NewURLs(keys)
	v := reader.Partition{Snapshot: snap, Generation: gen}
	err := v.Each(ctx, layout.TableRecords, func(it storage.Iterator) error {
		if fp, ok := layout.FingerprintOfKey(it.Key()); ok {
			fl.Add(fp)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	err = v.Each(ctx, layout.TableHosts, func(it storage.Iterator) error {
		h := crawl.Host(it.Key()[layout.PrefixLen+1:])
		fl.Add(layout.FingerprintOf(string(h)))
		value, err := it.Value()
		if err != nil {
			return err
		}
		e, err := layout.DecodeHost(value)
		if err != nil || e.Inline == nil {
			return err
		}
		fp, err := e.Inline.Fingerprint(h)
		fl.Add(fp)
		return err
	})
	return fl, err
}
