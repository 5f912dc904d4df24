package frontier

import (
	"encoding/binary"
	"math/bits"

	"github.com/bits-and-blooms/bloom/v3"
	"github.com/zeebo/xxh3"
)

// fingerprint is the xxh3-128 hash of a canonical URL. It names the record;
// two URLs of one host with the same fingerprint are told apart by the URL in
// the record, and the second takes the next fingerprint that is free.
type fingerprint [16]byte

// maxProbes bounds that search. It cannot be reached by accident.
const maxProbes = 16

// probe is the n-th fingerprint under which a record may stand, from 0.
func (f fingerprint) probe(n uint64) fingerprint {
	if n > 0 {
		binary.BigEndian.PutUint64(f[8:], binary.BigEndian.Uint64(f[8:])+n)
	}
	return f
}

func fingerprintOf(url string) fingerprint { return xxh3.HashString128(url).Bytes() }

// seenCache remembers URLs whose record exists. It holds hashes with a secret
// seed, so that nobody can make URLs that collide in it, and of each bucket of
// four it forgets the oldest. The zero slot is empty.
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

// key hashes a URL of one generation of a partition: a partition that went
// away and comes back begins with nothing.
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
