package contents

import (
	"strings"

	"crawlnode/web/simhash"
)

const (
	// bytesPerPrint is the approximate memory of a fingerprint with its URL.
	bytesPerPrint = 256
	// maxPrintURL is the longest URL that is kept, in bytes; most of bytesPerPrint is the URL.
	maxPrintURL = 512
	// minPrints is the capacity for fingerprints, however little memory there is.
	minPrints = 1 << 10
)

// nearest finds a page with nearly the same text. A text without a match is added, so that
// near-duplicates all name the same page.
func (x *Index) nearest(url string, print uint64) (string, uint32) {
	by := x.heldBlocks(print)
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.near == nil {
		x.near = simhash.NewIndex[string](max(int(x.o.Memory/bytesPerPrint), minPrints))
	}
	like, distance, found := x.near.NearBy(print, by)
	switch {
	case !found:
		if len(url) <= maxPrintURL {
			x.near.Add(print, strings.Clone(url)) // it may be a part of a larger string
		}
		return "", 0
	case like == url: // it is fetched again
		return "", 0
	}
	return like, uint32(distance)
}

// heldBlocks are the blocks of a fingerprint whose partitions this node holds: those that have
// another of its blocks in common are found by the holder of that one. A node that holds none, or
// knows of no other, looks at all.
func (x *Index) heldBlocks(print uint64) (by [4]bool) {
	some := false
	if !x.o.Cluster.Alone() {
		for i, p := range blockPartitions(print, x.o.Cluster.Partitions()) {
			by[i] = x.o.Cluster.Holder(p) == x.o.Self
			some = some || by[i]
		}
	}
	if !some {
		return [4]bool{true, true, true, true}
	}
	return by
}
