package metrics

import (
	"slices"
	"sync/atomic"
	"time"
)

// Durations counts how long things took. It may be used from any number of
// goroutines; Observe costs two atomic additions and a search in the bounds.
type Durations struct {
	bounds []time.Duration
	counts []atomic.Int64
	sum    atomic.Int64 // nanoseconds
}

// NewDurations counts by the given upper bounds, which must ascend.
func NewDurations(bounds ...time.Duration) *Durations {
	if !slices.IsSorted(bounds) {
		panic("BUG: the bounds of a histogram do not ascend")
	}
	return &Durations{bounds: bounds, counts: make([]atomic.Int64, len(bounds)+1)}
}

// Observe counts one duration. A duration equal to a bound is within it.
func (d *Durations) Observe(took time.Duration) {
	i, _ := slices.BinarySearch(d.bounds, took)
	d.counts[i].Add(1)
	d.sum.Add(int64(max(took, 0)))
}

// Histogram returns what was counted so far.
func (d *Durations) Histogram() Histogram {
	h := Histogram{Counts: make([]int64, len(d.counts)), Sum: time.Duration(d.sum.Load()).Seconds()}
	for _, b := range d.bounds {
		h.Bounds = append(h.Bounds, b.Seconds())
	}
	for i := range d.counts {
		h.Counts[i] = d.counts[i].Load()
	}
	return h
}
