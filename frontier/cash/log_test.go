package cash

import (
	"fmt"
	"testing"

	"crawlnode/frontier/layout"
	"crawlnode/importance/opic"
)

// Credits of one site to one URL are one; a post is for one partition.
func TestPostsAreSummed(t *testing.T) {
	t.Parallel()
	var all []away
	for page := range 10 {
		for u := range opic.URL(3) {
			all = append(all,
				away{to: 2, site: opic.Site(page % 2), Credit: opic.Credit{URL: u, Amount: 5, Links: 1}})
		}
		all = append(all,
			away{to: 1, site: 7, Credit: opic.Credit{URL: opic.URL(page), Amount: -1, Links: -1}})
	}
	out := posts(all)
	if len(out) != 2 || out[0].To != 1 || out[1].To != 2 {
		t.Fatalf("%d posts", len(out))
	}
	entries, err := layout.DecodeCashCredits(layout.EncodeCashCredits(out[1].Credits))
	if err != nil || len(entries) != 2 {
		t.Fatalf("%+v, %v", entries, err)
	}
	for _, e := range entries {
		if len(e.Credits) != 3 {
			t.Fatalf("%+v", e)
		}
		for _, c := range e.Credits {
			if c.Amount != 25 || c.Links != 5 {
				t.Errorf("%+v", c)
			}
		}
	}
	if entries, err = layout.DecodeCashCredits(layout.EncodeCashCredits(out[0].Credits)); err != nil ||
		len(entries) != 1 || len(entries[0].Credits) != 10 {
		t.Errorf("%+v, %v", entries, err)
	}
}

// A post is bounded; what is beyond is another one.
func TestPostsAreBounded(t *testing.T) {
	t.Parallel()
	var all []away
	for u := range opic.URL(2*postCredits + 1) {
		all = append(all, away{to: 1, Credit: opic.Credit{URL: u, Amount: 1}})
	}
	n := 0
	for _, p := range posts(all) {
		bytes := layout.EncodeCashCredits(p.Credits)
		if len(bytes) > p.bytes() {
			t.Errorf("%d bytes, at most %d were expected", len(bytes), p.bytes())
		}
		entries, err := layout.DecodeCashCredits(bytes)
		if err != nil || len(entries) != 1 || len(entries[0].Credits) > postCredits {
			t.Fatalf("%d entries, %v", len(entries), err)
		}
		n += len(entries[0].Credits)
	}
	if n != len(all) {
		t.Errorf("%d credits of %d", n, len(all))
	}
}

// Visits of one page count once, the last.
func TestTheLastVisitCounts(t *testing.T) {
	t.Parallel()
	visit := func(u opic.URL, site opic.Site, number uint64) visited {
		return visited{CashVisit: layout.CashVisit{URL: u, Site: site}, numbers: []uint64{number}}
	}
	l := logPiece{
		last:    10,
		numbers: []uint64{8, 10},
		visits:  []visited{visit(5, 1, 4), visit(2, 1, 5), visit(5, 2, 6), visit(5, 3, 9)},
	}
	l.sortVisits()
	s := l.visitOf(5)
	if len(l.visits) != 2 || s == nil || s.Site != 3 || s.at() != 9 || len(s.numbers) != 3 ||
		l.visitOf(3) != nil {
		t.Fatalf("%+v", l.visits)
	}
	finish := func(removed string, taken int, folded uint64) {
		t.Helper()
		var gone []uint64
		n, upto := l.finish(func(number uint64) { gone = append(gone, number) })
		if fmt.Sprint(gone) != removed || n != taken || upto != folded {
			t.Errorf("%d are taken, up to %d, and %d removed; want %d, %d and %s", n, upto, gone, taken,
				folded, removed)
		}
	}
	two := l.visitOf(2)
	two.done, two.keep = true, 5
	finish("[8 10]", 3, 3) // the page that is not done stays whole
	s.done, s.keep = true, 9
	finish("[8 10 4 6]", 6, 10)
	two.before = true
	finish("[8 10 4 6]", 5, 10)
	s.keep = 3 // it has the links of a visit before, or none
	finish("[8 10 4 6 9]", 5, 10)
}

// What a fold puts into the log is cut, and nothing of it is lost.
func TestLogEntriesAreCut(t *testing.T) {
	t.Parallel()
	var later []opic.Entry
	var due []opic.Delta
	for page := range 3 {
		e := opic.Entry{Site: opic.MaxSite}
		for i := range 10_000 {
			u := opic.URLOf(uint64(i)<<40, uint64(page)<<40)
			e.Credits = append(e.Credits, opic.Credit{URL: u, Amount: -opic.Unit << 10, Links: -1})
		}
		later = append(later, e)
	}
	for i := range 1 << 14 {
		due = append(due, opic.Delta{URL: opic.URL(i) << 48, Amount: -opic.Unit << 10, Links: -1})
	}
	credits, deltas := 0, 0
	for _, value := range append(cutCredits(later), cutDeltas(due)...) {
		e, err := layout.DecodeCashLog(value)
		if err != nil || len(value) > 64<<10 {
			t.Fatalf("an entry of %d bytes: %v", len(value), err)
		}
		for i := range e.Credits {
			credits += len(e.Credits[i].Credits)
		}
		deltas += len(e.Deltas)
	}
	if credits != 30_000 || deltas != len(due) {
		t.Errorf("%d credits, %d deltas", credits, deltas)
	}
	if cutCredits(nil) != nil || cutDeltas(nil) != nil {
		t.Error("nothing makes entries")
	}
}
