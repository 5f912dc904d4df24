package cash

import (
	"crawlnode/frontier/order"
	"crawlnode/frontier/reader"
	"crawlnode/frontier/storage"
	"crawlnode/importance/opic"
)

// Limits bound a fold.
type Limits struct {
	Entries  int // of the log
	LogBytes int // of the log
	// of changed blocks, before and after each of the two passes; exceeded by one block
	DirtyBytes int
	// that the log names, and that visits pass on, each exceeded by one page; settling has half; 0: as
	// by default
	Links int
	Least opic.Cash // the least threshold of settling
}

// DefaultLimits keep a plan below what one request may put into a transaction of the writer.
var DefaultLimits = Limits{
	Entries:    2_000,
	LogBytes:   256 << 10,
	DirtyBytes: 192 << 10,
	Links:      32_000,
	Least:      opic.Unit / 64,
}

// linkBytes is more than most links cost a transaction. What costs more is cut when it is seen.
const linkBytes = 120

// within fits the limits to a store.
func (l Limits) within(store storage.Limits) Limits {
	if l.Links == 0 {
		l.Links = DefaultLimits.Links
	}
	l.Links = max(min(l.Links, store.Bytes/linkBytes), 1)
	return l
}

// half is for a plan that is too large; false: there is no smaller one.
func (l Limits) half() (Limits, bool) {
	h := Limits{
		Entries:    max(l.Entries/2, 1),
		LogBytes:   max(l.LogBytes/2, 1),
		DirtyBytes: max(l.DirtyBytes/2, 1),
		Links:      max(l.Links/2, 1),
		Least:      l.Least,
	}
	return h, h != l
}

// fits reports whether the plan takes no more than half of what a transaction may have.
func (p *Plan) fits(store storage.Limits) bool {
	return p.Bytes() <= store.Bytes/2 && p.Entries() <= store.Entries/2
}

// Within plans a fold that fits into one transaction of the store, however many links the pages
// have: each page has 10,000 at most, and a fold that takes one entry of the log always fits.
func Within(
	v *reader.Partition,
	limits Limits,
	store storage.Limits,
	o *order.Policy,
) (*Plan, error) {
	limits = limits.within(store)
	for {
		p, err := New(v, limits, o)
		if err != nil || p == nil || p.fits(store) {
			return p, err
		}
		smaller, ok := limits.half()
		if !ok {
			return p, nil
		}
		limits = smaller
	}
}
