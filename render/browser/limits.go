package browser

import "time"

// Grace is how long a page may take beyond its time-out: to read it, and to close its tab.
const Grace = 5 * time.Second

const (
	readTime  = 2 * time.Second // of Grace: to read a page at its time-out
	closeTime = 2 * time.Second // of Grace: to close its tab; after that the browser is killed

	// the same for a page that was read when it was quiet, or taken back: nobody waits for it
	closeLate = 10 * time.Second

	// to clear the tab of a page that was read when it was quiet; after that it is closed
	clearTime = 10 * time.Second

	endTime = 2 * time.Second // for processes that were killed to be gone

	quietTime = 500 * time.Millisecond // without a request or a change of the DOM
	lookEvery = 100 * time.Millisecond

	arriveEvery = 10 * time.Millisecond // looks for a new document
	maxArrivals = 100                   // of them may fail

	pagesPerTab = 100 // of one origin, one after the other

	maxRequests     = 500 // of a page, answered or refused by the Fetcher
	maxOpenRequests = 32  // of a page at one time
	maxBytes        = 64 << 20

	// maxShadows is how many open shadow roots are read.
	maxShadows = 10_000
	maxDOM     = 16 << 20 // characters
	maxText    = 4 << 20
	maxLinks   = 50_000
	maxURL     = 8 << 10
	maxTitle   = 4 << 10
	maxRoutes  = 1_000
)
