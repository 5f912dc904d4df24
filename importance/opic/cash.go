package opic

// Cash is what importance is counted in. A URL's is never negative in the end; a change may be.
type Cash int64

// Unit is what a page is given when it is first fetched: fine enough that rounding does not show
// for a page of 50,000 links, and small enough for 2^38 pages.
const Unit Cash = 1 << 24

// The share of its cash that a page passes on: 0.85, as an exact fraction.
const (
	dampingPercent = 85
	percent        = 100
)

// Account is what a URL got and what it passed on.
type Account struct {
	Settled Cash // was passed on, but for what evaporated
	Pending Cash // came since the page settled; of a URL that was never fetched, all
	Links   int  // of the page at its last fetch
	In      int  // links to the URL, from fetched pages
	Fetched bool
	Level   uint8 // the highest, of crawl.Bands, at which it was looked up in its queue
	Sites   Sites // that link to it
	// At is the number under which a store has the links of the page, if it has given one.
	At uint64
}

// Total is the importance of the URL.
func (a *Account) Total() Cash { return a.Settled + a.Pending }

// Flow is what a page passes on at one time.
type Flow struct {
	Minted     Cash // was given to the page
	Back       Cash // to each of its links before; never positive
	Each       Cash // to each of its links now
	Evaporated Cash // may be negative at a revisit
}

// passed is what each of n links has got in all of settled cash. It depends on nothing else, so
// rounding does not add up and all of it can be taken back.
func passed(settled Cash, n int) Cash {
	if n == 0 {
		return 0
	}
	return settled * dampingPercent / (percent * Cash(n))
}

// Visit notes that the page was fetched and has these many distinct links, others than at the
// fetch before. It takes back what the old links got and gives it to the new ones.
func (a *Account) Visit(links int) Flow {
	f := Flow{Back: -passed(a.Settled, a.Links)}
	released := a.Pending - f.Back*Cash(a.Links)
	if !a.Fetched {
		f.Minted = Unit
		released += Unit
		a.Pending += Unit
	}
	a.Fetched = true
	a.Settled, a.Pending, a.Links = a.Settled+a.Pending, 0, links
	f.Each = passed(a.Settled, links)
	f.Evaporated = released - f.Each*Cash(links)
	return f
}

// Settle passes on what is pending. The page was fetched.
func (a *Account) Settle() Flow {
	before := passed(a.Settled, a.Links)
	pending := a.Pending
	a.Settled, a.Pending = a.Settled+pending, 0
	f := Flow{Each: passed(a.Settled, a.Links) - before}
	f.Evaporated = pending - f.Each*Cash(a.Links)
	return f
}

// settleShare is the part of what a page passed on that must be pending before it settles again:
// less would hardly change the order of what it links to.
const settleShare = 256

// Due reports whether a page should settle: so much is pending that it is worth the write.
// least is the least amount for that; the caller raises it when too many pages are due.
func (a *Account) Due(least Cash) bool {
	return a.Fetched && a.Links > 0 && max(a.Pending, -a.Pending) >= max(least, a.Settled/settleShare)
}

// Ledger sums the cash of a partition.
type Ledger struct {
	Minted     Cash // given to pages
	Evaporated Cash
	Sent       Cash // to other partitions, delivered or not
	Received   Cash // from other partitions
}

// Held is what must be pending in all accounts of the partition.
func (l *Ledger) Held() Cash { return l.Minted + l.Received - l.Evaporated - l.Sent }

// Plus adds the sums of another partition.
func (l *Ledger) Plus(other Ledger) {
	l.Minted += other.Minted
	l.Evaporated += other.Evaporated
	l.Sent += other.Sent
	l.Received += other.Received
}
