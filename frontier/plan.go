package frontier

import (
	"encoding/binary"
	"time"

	"crawlnode/crawl"
	"crawlnode/frontier/layout"
	"crawlnode/frontier/result"
	"crawlnode/recrawl/visits"
)

// A page is planned when it is done, its record has Visits and a CheckAt. Then it has exactly one
// entry in the table of due pages, at CheckAt. While it is queued it has none; Visits and CheckAt
// stay in its record. A page that is forgotten, and one that the scope excludes now, keeps Visits
// alone.

// planned reports whether its site counts a page: it is planned, or was when it was queued.
func planned(rec *crawl.Record) bool { return rec.Visits != "" && !rec.CheckAt.IsZero() }

// planVisit asks the planner for the next visit, at the end of one. rec is the record as it would
// be without a plan; old is what there was before, empty on a first visit. The verdict is nil when
// nobody has judged.
func (pg part) planVisit(host crawl.Host, fp layout.Fingerprint, old, rec *crawl.Record,
	it *crawl.Item, o *crawl.Outcome, weight float64) *visits.Verdict {
	j := pg.f.planner
	counted := planned(old)
	if j == nil || !j.On() && old.Visits == "" || rec.State != crawl.Done && !counted {
		if j != nil { // what was learnt of a page that was forgotten
			rec.Visits, rec.VisitedAt = old.Visits, old.VisitedAt
		}
		return nil
	}
	known := old
	if known.State == 0 {
		known = &crawl.Record{Item: *it, State: crawl.Queued}
	}
	at := pg.visitTime(o)
	page := pg.page(host, fp, known, at)
	page.Weight = weight
	plan := j.Visited(&page, o)
	// The wait begins with the end of the visit, so that its server sees no two visits nearer than
	// that.
	plan.Wait += min(max(o.Took, 0), maxAgo)
	if it.Revisit {
		told := Revisit{Copy: plan.Copy}
		if o.Status != 0 && it.Via != crawl.ViaSitemapFile {
			countRevisit(&pg.State.Counters, o.Status, plan.Verdict)
			told.Answered = true
			told.Changed = plan.Verdict == visits.Changed ||
				plan.Verdict == visits.Gone && visits.AnswerOf(old.Status) == visits.Content
		}
		pg.Group.Then(func() { j.Revisited(told) })
	}
	failed := rec.State != crawl.Done ||
		plan.Verdict == visits.Unknown && visits.AnswerOf(old.Status) != visits.Failed
	if counted && failed {
		// Nothing was learnt of the page: what was known stays.
		item := rec.Item
		*rec = *old
		rec.Item, rec.ETag, rec.LastModified = item, old.ETag, old.LastModified
		rec.State, rec.Reason = crawl.Done, ""
	} else {
		pg.keepValidators(old, rec, o)
	}
	pg.carryOut(host, fp, &page, rec, &plan, at)
	return &plan.Verdict
}

// keepValidators keeps the validators of a page some of whose links were left out for their depth:
// with revisits it is requested again and again. See requeue for the request that wants the links.
func (pg part) keepValidators(old, rec *crawl.Record, o *crawl.Outcome) {
	rec.DepthCut = o.DepthCut() || o.Status == result.NotModified && old.DepthCut
	if rec.DepthCut && o.Status != result.NotModified {
		rec.ETag, rec.LastModified = o.ETag, o.LastMod
	}
}

// maxAgo bounds how long ago a visit may have been when it is completed. Beyond it the time of the
// request is not to be believed.
const maxAgo = 10 * time.Minute

// visitTime is the time of a visit that ends now: of its request, which is a little earlier.
func (pg part) visitTime(o *crawl.Outcome) time.Time {
	now := pg.Group.Now.Now
	if ago := now.Sub(o.FetchedAt); o.Status != 0 && ago > 0 && ago < maxAgo {
		return now.Add(-ago)
	}
	return now
}

// page is what the planner is told. known has its times on the partition's timeline.
func (pg part) page(
	host crawl.Host,
	fp layout.Fingerprint,
	known *crawl.Record,
	at time.Time,
) Page {
	e := pg.Host(host)
	p := Page{
		Partition: pg.State.Partition, Record: known, Counted: planned(known), Site: e.Site,
		Host:   e.HostState,
		Spread: float64(binary.BigEndian.Uint32(fp[:])) / (1 << 32),
	}
	if !known.VisitedAt.IsZero() {
		p.Elapsed, p.Blurred = pg.State.Line.Elapsed(known.VisitedAt, at)
	}
	return p
}

// carryOut makes a plan of the judge's true: the page's record, its place among the due pages, its
// site. The caller stores the record. at is when the visit was, or now.
func (pg part) carryOut(
	host crawl.Host,
	fp layout.Fingerprint,
	page *Page,
	rec *crawl.Record,
	plan *Plan,
	at time.Time,
) {
	rec.Visits, rec.VisitedAt, rec.CheckAt = plan.Visits, page.Record.VisitedAt, time.Time{}
	if plan.Visited {
		rec.VisitedAt = pg.State.Line.Write(at)
	}
	e := pg.Host(host)
	if e.Site != plan.Site {
		e.Site = plan.Site
		pg.Touch(e)
	}
	var before, after *Estimate
	if page.Counted && page.Record.State == crawl.Done {
		before = &plan.Before
	}
	switch {
	case plan.Visits == "":
	case plan.Forget != "":
		rec.State, rec.Reason = crawl.Failed, plan.Forget
	case plan.Parked:
	default:
		after = &plan.Estimate
		rec.CheckAt = pg.State.Line.Write(at.Add(max(plan.Wait, 0)))
		pg.setDue(layout.DueAt(rec.CheckAt, host, fp), plan.Estimate)
	}
	pg.replanned(before, after, rec.CheckAt)
}

// replanned tells the judge, once the group is committed.
func (pg part) replanned(before, after *Estimate, check time.Time) {
	p, at, j := pg.State.Partition, pg.State.Line.Read(check), pg.f.planner
	if before == nil && after == nil || j == nil {
		return
	}
	pg.Group.Then(func() { j.Replanned(p, before, after, at) })
}

// setDue gives a page its place among the due ones.
func (pg part) setDue(d layout.DueSlot, e Estimate) {
	key := layout.AppendDueKey(nil, &d)
	pg.Set(key, layout.EncodeDue(e))
	gen, heads := pg.Gen(), &pg.f.dueHeads
	pg.Group.Then(func() { heads.put(gen, key) })
}

// dropDue takes a planned page out of the due ones.
func (pg part) dropDue(d layout.DueSlot) {
	pg.Del(layout.AppendDueKey(nil, &d))
	gen, heads := pg.Gen(), &pg.f.dueHeads
	pg.Group.Then(func() { heads.del(gen, d) })
}

// unplan takes a page out of the due ones, if it is there, before it is planned anew.
func (pg part) unplan(host crawl.Host, fp layout.Fingerprint, rec *crawl.Record) {
	if rec.State == crawl.Done && planned(rec) {
		pg.dropDue(layout.DueAt(rec.CheckAt, host, fp))
	}
}

// withdraw takes a page out of the due ones and out of the sums, if it is there, before it is
// queued.
func (pg part) withdraw(host crawl.Host, fp layout.Fingerprint, rec *crawl.Record) {
	if rec.State != crawl.Done || !planned(rec) {
		return
	}
	d := layout.DueAt(rec.CheckAt, host, fp)
	if v, ok := pg.Get(layout.AppendDueKey(nil, &d)); ok {
		if e, err := layout.DecodeDue(v); err == nil {
			pg.replanned(&e, nil, time.Time{})
		}
	}
	pg.dropDue(d)
}
