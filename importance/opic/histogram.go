package opic

import "math/bits"

// perOctave is the number of buckets between a value and its double: ranks are as fine as values
// that differ by 1/32.
const (
	perOctave = 32
	subBits   = 5 // log2 of perOctave
	buckets   = (64 - subBits) * perOctave
)

// Histogram counts values by size. Histograms of partitions are summed: the sum does not depend on
// which node has which partition, so all nodes compute the same ranks.
type Histogram struct {
	total  int64
	counts [buckets]int64
}

// bucketOf numbers the buckets: values below perOctave have their own, and of larger ones the five
// bits behind the first decide.
func bucketOf(v Cash) int {
	if v < perOctave {
		return int(max(v, 0))
	}
	shift := bits.Len64(uint64(v)) - subBits - 1
	return shift*perOctave + int(v>>shift)
}

// bounds are the least value of a bucket and that of the next.
func bounds(bucket int) (from, to float64) {
	if bucket < perOctave {
		return float64(bucket), float64(bucket + 1)
	}
	shift := bucket/perOctave - 1
	from = float64(uint64(bucket-shift*perOctave) << shift)
	return from, from + float64(uint64(1)<<shift)
}

// Add counts a value n times more; n may be negative.
func (h *Histogram) Add(v Cash, n int64) {
	h.counts[bucketOf(v)] += n
	h.total += n
}

// Move counts a value that has changed.
func (h *Histogram) Move(from, to Cash) {
	h.counts[bucketOf(from)]--
	h.counts[bucketOf(to)]++
}

// Plus adds the counts of another histogram.
func (h *Histogram) Plus(other *Histogram) {
	h.total += other.total
	for i, n := range other.counts {
		h.counts[i] += n
	}
}

// Total is the number of values.
func (h *Histogram) Total() int64 { return h.total }

// Rank is the share of values below v, 0 to 1; within a bucket values count as evenly spread.
// Without values it is 0.
func (h *Histogram) Rank(v Cash) float64 {
	if h.total <= 0 {
		return 0
	}
	bucket := bucketOf(v)
	var below int64
	for _, n := range h.counts[:bucket] {
		below += n
	}
	from, to := bounds(bucket)
	inside := (float64(max(v, 0)) - from) / (to - from)
	return min((float64(below)+inside*float64(h.counts[bucket]))/float64(h.total), 1)
}

// Ranks is a histogram made ready for many questions: Rank in constant time.
type Ranks struct {
	below [buckets + 1]float64 // shares
}

// Ranks sums up the histogram.
func (h *Histogram) Ranks() *Ranks {
	r := &Ranks{}
	var below int64
	for i, n := range h.counts {
		below += n
		r.below[i+1] = float64(below) / float64(max(h.total, 1))
	}
	return r
}

// Rank is Histogram.Rank.
func (r *Ranks) Rank(v Cash) float64 {
	bucket := bucketOf(v)
	from, to := bounds(bucket)
	inside := (float64(max(v, 0)) - from) / (to - from)
	return r.below[bucket] + inside*(r.below[bucket+1]-r.below[bucket])
}

// Quantile is the least value v of which Rank(v) is at least q, to the width of a bucket.
func (r *Ranks) Quantile(q float64) Cash {
	low, high := 0, buckets-1
	for low < high {
		if mid := (low + high) / 2; r.below[mid+1] >= q {
			high = mid
		} else {
			low = mid + 1
		}
	}
	from, to := bounds(low)
	if width := r.below[low+1] - r.below[low]; width > 0 && q > r.below[low] {
		return Cash(from + (to-from)*min((q-r.below[low])/width, 1))
	}
	return Cash(from)
}
