package inspect

import (
	"math"
	"time"

	"crawlnode/crawl"
	"crawlnode/recrawl/visits"
	"crawlnode/web/preferences"
)

// visitsAnswer is what the visits of a URL have left, and the page on which it was found first, sent as JSON.
type visitsAnswer struct {
	History       []crawl.VisitReport          `json:"history"` // newest first
	NextAt        *time.Time                   `json:"next_at,omitempty"`
	ChangeSeconds *float64                     `json:"change_seconds,omitempty"`
	Referrer      *string                      `json:"referrer,omitempty"`
	Render        *crawl.RenderReport          `json:"render,omitempty"`
	Preferences   *preferences.PagePreferences `json:"preferences,omitempty"`
}

// visitsOf reads what a record says of visits. Without revisits it has the last fetch alone, and a
// record of visits that cannot be read counts as none: the store has reported that.
func visitsOf(rec *crawl.Record, revisits bool, now time.Time) *visitsAnswer {
	a := &visitsAnswer{History: []crawl.VisitReport{}, Render: rec.Rendering.Report(), Preferences: rec.Said(now)}
	if rec.Referrer != "" {
		a.Referrer = &rec.Referrer
	}
	known, _, err := visits.Decode([]byte(rec.Visits))
	if rec.Visits == "" || err != nil || len(known.Past) == 0 {
		if rec.Status != 0 && !rec.FetchedAt.IsZero() {
			a.History = append(a.History, crawl.VisitReport{At: rec.FetchedAt.UTC(), Status: &rec.Status})
		}
	}
	if rec.Visits == "" || err != nil {
		return a
	}
	a.History = append(a.History, historyOf(&known, rec.VisitedAt)...)
	if seconds := 1 / known.Belief.Mean(); seconds > 0 && !math.IsInf(seconds, 0) { // not NaN either
		a.ChangeSeconds = &seconds
	}
	if revisits && (rec.State == crawl.Done || rec.State == crawl.Queued) {
		a.NextAt = nextVisit(&known, rec, now)
	}
	return a
}

// historyOf lists the visits that a record remembers. Its times are distances from the newest one.
func historyOf(known *visits.Record, newest time.Time) []crawl.VisitReport {
	list := make([]crawl.VisitReport, len(known.Past))
	at := newest
	for i := range known.Past {
		p := &known.Past[i]
		took := p.Took.Milliseconds()
		list[i] = crawl.VisitReport{At: at.UTC(), Milliseconds: &took}
		if p.Status != 0 {
			list[i].Status = &p.Status
		}
		if i+1 < len(known.Past) || len(known.Past) == visits.MaxPast { // the first of all is compared with nothing
			list[i].Changed = &p.Changed
		}
		at = at.Add(-p.Before)
	}
	return list
}

// nextVisit is when the page is visited again: when it waits in the queue already, at the earliest that it may be. Else
// when it is due or, when it is looked at before its visit, an interval after the newest one. Of some pages it is not known
// when that was.
func nextVisit(known *visits.Record, rec *crawl.Record, now time.Time) *time.Time {
	if rec.State == crawl.Queued {
		return timeOrNil(crawl.Latest(now, rec.NotBefore))
	}
	if rec.CheckAt.IsZero() {
		return nil // the scope excludes it now, or it was forgotten
	}
	at := rec.CheckAt
	if !rec.VisitedAt.IsZero() {
		at = crawl.Latest(at, rec.VisitedAt.Add(known.Interval))
	}
	return timeOrNil(at)
}
