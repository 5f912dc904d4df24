package scheduler

import (
	"time"

	"crawlnode/crawl"
	"crawlnode/web/urlnorm"
)

// This file gives errands (crawl.Via.Errand) a place in their hosts' turns: robots fetches, and
// parts of pages that a browser shows. They are in no queue on disk: the loop offers each to its
// host until a visit takes it, so a host may leave memory at any time.

// Errand is one fetch for somebody who waits for its answer.
type Errand struct {
	Partition crawl.Partition
	Host      crawl.Host
	URL       urlnorm.URL
	// ETag and LastModified are validators of an earlier answer, or "".
	ETag, LastModified string
}

func (e *Errand) item(via crawl.Via) crawl.Item {
	return crawl.Item{URL: e.URL, Via: via, ETag: e.ETag, LastModified: e.LastModified}
}

// Errands is a table of errands of one kind. Its methods may be called from any goroutine and do
// not block.
type Errands interface {
	// Waiting returns the errands that no visit has begun, those of one host or, for "", of all.
	Waiting(host crawl.Host, now time.Time) []Errand
	// Wants reports whether an errand of the host has no answer yet.
	Wants(host crawl.Host) bool
	// News reports whether one has come since the last call of Waiting for all.
	News() bool
	// Begin notes that a visit makes the request. False: it is not wanted any more.
	Begin(u urlnorm.URL, visit uint64) bool
	// Ended says how the visit has ended; o is nil if it was never made. Without an answer the errand
	// waits for another visit.
	Ended(v *crawl.Visit, o *crawl.Outcome)
}

// errandTable is a table, with the way in which its URLs are found.
type errandTable struct {
	via   crawl.Via
	table Errands
}

// errandsOf is the table that v is of; nil: v is no errand.
func (d *Dispatcher) errandsOf(v *crawl.Visit) Errands {
	if !v.Item.Via.Errand() {
		return nil
	}
	for _, e := range d.errands {
		if e.via == v.Item.Via {
			return e.table
		}
	}
	return nil
}

// Look makes the loop look for new errands.
func (d *Dispatcher) Look() { d.signal() }

// ErrandCompleted takes the result of the visit of an errand. Nothing of it is stored: the host's
// politeness is written when the host leaves memory.
func (d *Dispatcher) ErrandCompleted(v crawl.Visit, o *crawl.Outcome) { d.errandEnded(&v, o) }

// errandEnded reports the end of a visit, if it was one of an errand; o is nil if it was never
// made.
func (d *Dispatcher) errandEnded(v *crawl.Visit, o *crawl.Outcome) {
	if t := d.errandsOf(v); t != nil {
		t.Ended(v, o)
	}
}

// errandNews reports whether an errand has come.
func (l *loop) errandNews() bool {
	for _, e := range l.d.errands {
		if e.table.News() {
			return true
		}
	}
	return false
}

// wantsErrand reports whether an errand of the host is to be made.
func (l *loop) wantsErrand(host crawl.Host) bool {
	for _, e := range l.d.errands {
		if e.table.Wants(host) {
			return true
		}
	}
	return false
}

// runErrands offers waiting errands to their hosts, and loads those hosts.
func (l *loop) runErrands(now time.Time) {
	l.loadWished()
	for _, t := range l.d.errands {
		for _, e := range t.table.Waiting("", now) {
			h := l.held[e.Partition]
			if h == nil || h.frozen || l.core.Errand(now, e.Host, e.item(t.via)) {
				continue
			}
			if _, loading := l.loading[e.Host]; !loading && !l.leaving[e.Host] && l.room() > 0 {
				l.load(h, e.Host)
			}
		}
	}
}

// offerErrands gives a loaded host its errands.
func (l *loop) offerErrands(now time.Time, host crawl.Host) {
	for _, t := range l.d.errands {
		for _, e := range t.table.Waiting(host, now) {
			l.core.Errand(now, host, e.item(t.via))
		}
	}
}

// beginErrand reports whether v is not an errand, or one that is still wanted. An unwanted one ends
// here.
func (l *loop) beginErrand(now time.Time, v crawl.Visit) bool {
	t := l.d.errandsOf(&v)
	if t == nil || t.Begin(v.Item.URL, v.ID) {
		return true
	}
	l.core.Release(now, v.ID, crawl.Response{Kind: crawl.Aborted})
	l.core.Completed(now, v.ID)
	return false
}
