package simhash

// maxChain bounds the entries that one lookup reads in one block. Pages made to have the same block
// could otherwise make each lookup walk the whole index.
const maxChain = 256

// Index keeps the newest fingerprints, each with a value of the caller.
type Index[T any] struct {
	// Entries are numbered from 1; entry n is stored at n % capacity. A chain leads from the newest
	// entry of a block to older ones, and ends at numbers that were overwritten.
	prints []uint64
	values []T
	before [blocks][]uint64
	newest [blocks]map[uint16]uint64
	last   uint64
}

const blocks = 4

// NewIndex makes an index for capacity fingerprints. Each takes about 45 bytes plus the value.
func NewIndex[T any](capacity int) *Index[T] {
	capacity = max(capacity, 1)
	x := &Index[T]{prints: make([]uint64, capacity), values: make([]T, capacity)}
	for i := range blocks {
		x.before[i], x.newest[i] = make([]uint64, capacity), make(map[uint16]uint64)
	}
	return x
}

// Len is the number of fingerprints kept.
func (x *Index[T]) Len() int { return int(min(x.last, uint64(len(x.prints)))) }

// block returns one of the four parts of a fingerprint.
func block(print uint64, i int) uint16 { return uint16(print >> (16 * i)) }

// Add adds print. When the index is full, the oldest entry is dropped.
func (x *Index[T]) Add(print uint64, value T) {
	x.last++
	at := x.last % uint64(len(x.prints))
	x.prints[at], x.values[at] = print, value
	for i := range blocks {
		b := block(print, i)
		x.before[i][at], x.newest[i][b] = x.newest[i][b], x.last
	}
}

// Near returns the value of the nearest fingerprint within MaxDistance, the newest of several, and
// its distance; false when there is none.
func (x *Index[T]) Near(print uint64) (value T, distance int, found bool) {
	var oldest uint64 // still kept
	if n := uint64(len(x.prints)); x.last > n {
		oldest = x.last - n
	}
	distance, at := MaxDistance+1, uint64(0)
	for i := range blocks {
		n := x.newest[i][block(print, i)]
		for range maxChain {
			if n <= oldest {
				break
			}
			slot := n % uint64(len(x.prints))
			if d := Distance(print, x.prints[slot]); d < distance || d == distance && found && n > at {
				distance, at, found = d, n, true
			}
			n = x.before[i][slot]
		}
	}
	if !found {
		return value, 0, false
	}
	return x.values[at%uint64(len(x.prints))], distance, true
}
