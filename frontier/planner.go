package frontier

import (
	"time"

	"crawlnode/crawl"
	"crawlnode/frontier/layout"
	"crawlnode/recrawl/visits"
)

// Planner plans the next visit of a page after each visit (package recrawl/judge). The writer calls
// it within a write, with what the store has at that moment: so visits of one host that end at the
// same time cannot lose each other's part of the site's sums. It must be quick and must not call
// the frontier. The same arguments may come again, when a write had to wait for space on the disk.
type Planner interface {
	// On reports whether pages are visited again at present. Without it no page is planned that was
	// not, and those that were keep their plan.
	On() bool
	// Visited judges the end of a visit: of the first one, of one that was due, or of one that a
	// person wanted. The outcome may be without an answer.
	Visited(k *Page, o *crawl.Outcome) Plan
	// Planned plans a page anew without a visit, or for the first time one that was done before
	// pages were visited again.
	Planned(k *Page) Plan
	// Claimed plans a page anew whose site says that it has last changed at a time, before or since
	// the newest visit; false: nothing changes.
	Claimed(k *Page, changed time.Time) (Plan, bool)
	// Conditional reports whether the page's next visit may send validators.
	Conditional(k *Page) bool
	// Revisited is called after the commit, by the writer, for each visit of a page that was due.
	Revisited(r Revisit)
	// Replanned is called after the commit, by the writer, with what a page counted for before and
	// counts for now; nil: it did not count, or does not. A page in a queue does not count. at is
	// when its time comes, in this process; zero: it is queued or forgotten.
	Replanned(p crawl.Partition, before, after *Estimate, at time.Time)
}

// Estimate is what the sums of pages count a planned page with.
type Estimate = layout.Estimate

// Page is what the store has of a page when it is judged.
type Page struct {
	Partition crawl.Partition
	// Record is the page's, from before the visit. Without a result it is the first visit. Its
	// VisitedAt and CheckAt are not for the judge, but for whether VisitedAt is known.
	Record *crawl.Record
	// Counted: its site counts the page, with what Record.Visits says. A page that was forgotten has
	// visits and is not counted.
	Counted bool
	Site    string          // visits.Site of its host; "": none yet
	Host    crawl.HostState // politeness; times are not for the judge
	// Elapsed is the time from the newest visit to this one, or to now when there is none, by the
	// partition's timeline. 0: it is not known. Blurred: more than half of it may be missing.
	Elapsed time.Duration
	Blurred bool
	// Weight is how important the page is, 0 to 1, as far as the one knows who completes the visit; 0:
	// not known.
	Weight float64
	// Spread is a number of the page from 0 to below 1, as good as random.
	Spread float64
}

// Plan is what the judge decided.
type Plan struct {
	// Visits is the page's encoded visits.Record; "": the page is not planned.
	Visits string
	// Visited: the visit counts as the newest one. False: there was no request, or no visit.
	Visited bool
	// Wait is how long after the visit, or from now on without one, the page is looked at again.
	Wait time.Duration
	// Forget, when not "", is why the page is not tried again: it fails with this reason.
	Forget string
	// Parked: the page has no next visit for now. It stays done, with what Visits knows of it, and is
	// among the unplanned ones.
	Parked bool
	// Before is what the page counted with, good only when it is counted. Estimate is what it counts
	// with from now on; it has DueVisit when the page is visited after Wait.
	Before, Estimate Estimate
	Site             string
	Verdict          visits.Verdict
	// Copy is what the page's copy was before the visit.
	Copy visits.Copy
}

// Revisit is what a visit of a page that was due has brought.
type Revisit struct {
	Answered bool // countRevisit counts it
	Changed  bool // it found a change; a page that is gone is one, once
	Copy     visits.Copy
}
