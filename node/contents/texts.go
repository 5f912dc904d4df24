package contents

import "crawlnode/web/simhash"

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
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.near == nil {
		x.near = simhash.NewIndex[string](max(int(x.o.Memory/bytesPerPrint), minPrints))
	}
	like, distance, found := x.near.Near(print)
	switch {
	case !found:
		if len(url) <= maxPrintURL {
			x.near.Add(print, url)
		}
		return "", 0
	case like == url: // it is fetched again
		return "", 0
	}
	return like, uint32(distance)
}
