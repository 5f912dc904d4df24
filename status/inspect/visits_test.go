package inspect

import (
	"testing"
	"time"

	"crawlnode/crawl"
	recrawl "crawlnode/recrawl/visits"
)

// TestVisits: what a record says of its visits, in times of day.
func TestVisits(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	known := recrawl.Record{Weight: 1, Interval: 2 * time.Hour, Past: []recrawl.Past{
		{Before: time.Hour, Status: 304, Took: 5 * time.Millisecond},
		{Before: 30 * time.Minute, Took: time.Second, Changed: false}, // no answer
		{Status: 200, Took: 12 * time.Millisecond},
	}}
	known.Belief.Shape, known.Belief.Rate = 2, 7200
	rec := crawl.Record{State: crawl.Done, Status: 304, FetchedAt: noon, VisitedAt: noon, CheckAt: noon.Add(time.Hour), Visits: string(known.Append(nil))}
	a := visitsOf(&rec, true, noon)
	if len(a.History) != 3 || !a.History[0].At.Equal(noon) || !a.History[1].At.Equal(noon.Add(-time.Hour)) || !a.History[2].At.Equal(noon.Add(-90*time.Minute)) {
		t.Fatalf("history %+v", a.History)
	}
	if v := a.History[0]; *v.Status != 304 || *v.Milliseconds != 5 || v.Changed == nil || *v.Changed {
		t.Errorf("newest %+v", v)
	}
	if a.History[1].Status != nil || a.History[2].Changed != nil {
		t.Errorf("what is not known: %+v", a.History)
	}
	if a.ChangeSeconds == nil || *a.ChangeSeconds < 3500 || *a.ChangeSeconds > 3700 {
		t.Errorf("changes every %v s, want about 3600", *a.ChangeSeconds)
	}
	if a.NextAt == nil || !a.NextAt.Equal(noon.Add(2*time.Hour)) {
		t.Errorf("next at %v", a.NextAt)
	}
	if a := visitsOf(&rec, false, noon); a.NextAt != nil || len(a.History) != 3 {
		t.Errorf("without revisits: %+v", a)
	}
	gone := rec
	gone.State = crawl.Failed
	if a := visitsOf(&gone, true, noon); a.NextAt != nil {
		t.Errorf("a forgotten page is visited at %v", a.NextAt)
	}
	parked := rec
	parked.CheckAt = time.Time{}
	if a := visitsOf(&parked, true, noon); a.NextAt != nil || len(a.History) != 3 {
		t.Errorf("a page that is excluded now is visited at %v", a.NextAt)
	}
	queued := rec
	queued.State, queued.NotBefore = crawl.Queued, noon.Add(3*time.Hour)
	if a := visitsOf(&queued, true, noon); !a.NextAt.Equal(queued.NotBefore) {
		t.Errorf("a queued page is visited at %v", a.NextAt)
	}
}

// TestVisitsWithoutRecord: the last fetch is what is known.
func TestVisitsWithoutRecord(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for _, visits := range []string{"", "\x01damaged", "\xff"} {
		a := visitsOf(&crawl.Record{State: crawl.Done, Status: 200, FetchedAt: noon, Visits: visits}, true, noon)
		if len(a.History) != 1 || *a.History[0].Status != 200 || a.History[0].Milliseconds != nil || a.NextAt != nil || a.ChangeSeconds != nil {
			t.Errorf("%q: %+v", visits, a)
		}
	}
	if a := visitsOf(&crawl.Record{State: crawl.Queued}, true, noon); a.History == nil || len(a.History) != 0 {
		t.Errorf("never fetched: %+v", a)
	}
}

// TestNextVisit: when a page is visited again, by what is known of its visits.
func TestNextVisit(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	known := recrawl.Record{Weight: 1, Interval: 2 * time.Hour}
	visits := string(known.Append(nil))
	for name, tc := range map[string]struct {
		rec  crawl.Record
		want time.Time
	}{
		"as planned":                     {crawl.Record{State: crawl.Done, VisitedAt: noon.Add(-time.Hour), CheckAt: noon.Add(time.Hour)}, noon.Add(time.Hour)},
		"looked at before":               {crawl.Record{State: crawl.Done, VisitedAt: noon.Add(-time.Hour), CheckAt: noon.Add(time.Minute)}, noon.Add(time.Hour)},
		"done before revisits":           {crawl.Record{State: crawl.Done, CheckAt: noon.Add(30 * time.Minute)}, noon.Add(30 * time.Minute)},
		"the last visits failed":         {crawl.Record{State: crawl.Done, VisitedAt: noon.Add(-9 * time.Hour), CheckAt: noon.Add(time.Hour)}, noon.Add(time.Hour)},
		"queued":                         {crawl.Record{State: crawl.Queued, VisitedAt: noon.Add(-time.Hour), CheckAt: noon.Add(-time.Minute)}, noon},
		"queued, its host is waited for": {crawl.Record{State: crawl.Queued, Item: crawl.Item{NotBefore: noon.Add(time.Minute)}}, noon.Add(time.Minute)},
	} {
		tc.rec.Visits = visits
		if a := visitsOf(&tc.rec, true, noon); a.NextAt == nil || !a.NextAt.Equal(tc.want) {
			t.Errorf("%s: %v, want %v", name, a.NextAt, tc.want)
		}
	}
}
