package contents

import "crawlnode/web/simhash"

const (
	// bytesPerPrint is what a fingerprint with its URL takes in memory, about.
	bytesPerPrint = 256
	// maxPrintURL is the longest URL that is filed, in bytes: it is what most of that is.
	maxPrintURL = 512
	// minPrints is the room for fingerprints, however little memory there is.
	minPrints = 1 << 10
)

// nearest finds a page with nearly the same text. A text that is like no other is
// filed: so near-duplicates all name the same page.
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
