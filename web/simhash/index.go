package simhash

import (
	"math/bits"
	"slices"
)

const (
	// maxChain bounds the entries that one lookup reads in one block. Pages made to have the same
	// block could otherwise make each lookup walk the whole index.
	maxChain = 256
	// denseFrom is the number of entries of a block from which they are kept side by side as well.
	denseFrom = 16
)

// Index keeps the newest fingerprints, each with a value of the caller.
type Index[T any] struct {
	// Entries are numbered from 1; entry n is stored at n % capacity. A chain leads from the newest
	// entry of a block to older ones, and ends at numbers that were overwritten.
	prints []uint64
	values []T
	before [blocks][]uint64
	newest [blocks][]uint64 // by block; 0: none
	last   uint64
	// dense has the blocks whose chain was found to be long. Each step of a chain waits for two places
	// of memory; side by side, 256 fingerprints take less time than eight steps.
	dense [blocks]map[uint16]*row
}

const (
	blocks     = 4
	blockSpace = 1 << 16 // values of a block
)

// row is the newest maxChain entries of one block, oldest first.
type row struct{ prints, numbers []uint64 }

// NewIndex makes an index for capacity fingerprints. Each takes 40 bytes plus the value, and up to
// 128 more where many share their blocks; the index itself takes 2 MiB.
func NewIndex[T any](capacity int) *Index[T] {
	capacity = max(capacity, 1)
	x := &Index[T]{prints: make([]uint64, capacity), values: make([]T, capacity)}
	for i := range blocks {
		x.before[i], x.newest[i], x.dense[i] = make([]uint64, capacity), make([]uint64, blockSpace),
			make(map[uint16]*row)
	}
	return x
}

// Len is the number of fingerprints kept.
func (x *Index[T]) Len() int { return int(min(x.last, uint64(len(x.prints)))) }

// block returns one of the four parts of a fingerprint.
func block(print uint64, i int) uint16 { return uint16(print >> (16 * i)) }

// oldest is the number before the oldest entry that is kept.
func (x *Index[T]) oldest() uint64 { return x.last - uint64(x.Len()) }

// Add adds print. When the index is full, the oldest entry is dropped.
func (x *Index[T]) Add(print uint64, value T) {
	x.last++
	at := x.last % uint64(len(x.prints))
	gone := x.prints[at]
	x.prints[at], x.values[at] = print, value
	for i := range blocks {
		b := block(print, i)
		if r := x.dense[i][b]; r != nil {
			r.add(print, x.last)
		}
		x.before[i][at], x.newest[i][b] = x.newest[i][b], x.last
		if x.oldest() > 0 {
			x.shorten(i, block(gone, i))
		}
	}
}

// shorten takes from the row of a block what the index has dropped.
func (x *Index[T]) shorten(i int, b uint16) {
	r := x.dense[i][b]
	if r == nil {
		return
	}
	for len(r.numbers) > 0 && r.numbers[0] <= x.oldest() {
		r.drop()
	}
	if len(r.numbers) == 0 {
		delete(x.dense[i], b)
	}
}

func (r *row) add(print, number uint64) {
	if len(r.prints) == maxChain {
		r.drop()
	}
	r.prints, r.numbers = append(r.prints, print), append(r.numbers, number)
}

// drop drops the oldest entry. Its memory goes when append next makes room.
func (r *row) drop() { r.prints, r.numbers = r.prints[1:], r.numbers[1:] }

// nearest is the nearest entry of a lookup so far.
type nearest struct {
	distance int // MaxDistance + 1: none
	number   uint64
}

// take takes an entry if it is nearer, or as near and newer.
func (n *nearest) take(distance int, number uint64) {
	if distance < n.distance ||
		distance == n.distance && distance <= MaxDistance && number > n.number {
		n.distance, n.number = distance, number
	}
}

// Near returns the value of the nearest fingerprint within MaxDistance, the newest of several, and
// its distance; false when there is none.
func (x *Index[T]) Near(print uint64) (value T, distance int, found bool) {
	return x.NearBy(print, [blocks]bool{true, true, true, true})
}

// NearBy is Near among the fingerprints that have one of some blocks in common with print.
func (x *Index[T]) NearBy(print uint64, by [blocks]bool) (value T, distance int, found bool) {
	best := nearest{distance: MaxDistance + 1}
	for i := range blocks {
		if !by[i] {
			continue
		}
		b := block(print, i)
		if r := x.dense[i][b]; r != nil {
			r.near(print, &best)
		} else if x.walk(i, print, &best) > denseFrom {
			x.dense[i][b] = x.rowOf(i, b)
		}
	}
	if best.distance > MaxDistance {
		return value, 0, false
	}
	return x.values[best.number%uint64(len(x.prints))], best.distance, true
}

// near compares the entries of a row with print.
func (r *row) near(print uint64, best *nearest) {
	numbers := r.numbers[:len(r.prints)]
	for j, p := range r.prints {
		if d := bits.OnesCount64(p ^ print); d <= MaxDistance {
			best.take(d, numbers[j])
		}
	}
}

// walk compares the chain of a block with print, the newest first, and returns how many entries it
// has read.
func (x *Index[T]) walk(i int, print uint64, best *nearest) (length int) {
	n, oldest := x.newest[i][block(print, i)], x.oldest()
	for ; n > oldest && length < maxChain; length++ {
		slot := n % uint64(len(x.prints))
		best.take(Distance(print, x.prints[slot]), n)
		n = x.before[i][slot]
	}
	return length
}

// rowOf puts the newest entries of a block side by side.
func (x *Index[T]) rowOf(i int, b uint16) *row {
	var numbers []uint64 // newest first
	for n, oldest := x.newest[i][b], x.oldest(); n > oldest && len(numbers) < maxChain; {
		numbers = append(numbers, n)
		n = x.before[i][n%uint64(len(x.prints))]
	}
	slices.Reverse(numbers)
	prints := make([]uint64, 0, cap(numbers))
	for _, n := range numbers {
		prints = append(prints, x.prints[n%uint64(len(x.prints))])
	}
	return &row{prints, numbers}
}
