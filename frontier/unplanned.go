package frontier

import (
	"context"
	"fmt"

	"crawlnode/crawl"
	"crawlnode/frontier/layout"
	"crawlnode/frontier/reader"
)

// Unplanned is a done page without a plan: it was done while no page was visited again.
type Unplanned struct {
	Partition   crawl.Partition
	Epoch       crawl.Epoch
	Host        crawl.Host
	Fingerprint layout.Fingerprint
}

// Unplanned looks at up to n records of a held partition behind a place and returns those of done
// pages without a plan: never planned, or parked. done says that the end is reached.
func (f *Frontier) Unplanned(
	p crawl.Partition, after DueCursor, n int,
) (pages []Unplanned, next DueCursor, done bool, err error) {
	m, _, err := f.w.Held(p)
	if err != nil {
		return nil, after, false, err
	}
	err = f.readDue(p, &m, func(v *reader.Partition) (err error) {
		visit := func(host crawl.Host, fp layout.Fingerprint, rec *crawl.Record) {
			if !planned(rec) {
				pages = append(pages, Unplanned{p, m.Epoch, host, fp})
			}
		}
		next, done, err = eachDone(v, after, n, visit)
		return err
	})
	return pages, next, done, err
}

// PlanFirst has the planner plan done pages that have no plan, and counts those that have one now.
// As to repeats and errors it is as MoveDue.
func (f *Frontier) PlanFirst(ctx context.Context, pages []Unplanned) (count int, err error) {
	return inPieces(ctx, f, pages, "planning done pages",
		func(u *Unplanned) (crawl.Partition, crawl.Epoch) { return u.Partition, u.Epoch }, part.planFirst)
}

// planFirst plans a page that is done and has no plan; false: it is not one.
func (pg part) planFirst(u *Unplanned) bool {
	rec, ok := pg.recordAt(u.Host, u.Fingerprint)
	if !ok || rec.State != crawl.Done || planned(&rec) {
		return false
	}
	page := pg.page(u.Host, u.Fingerprint, &rec, pg.Group.Now.Now)
	plan := pg.f.planner.Planned(&page)
	if plan.Visits == "" || plan.Parked {
		return false
	}
	pg.setPlan(u.Host, u.Fingerprint, &page, &plan)
	return true
}

// claim has a planned page planned anew when its site says that it has changed.
func (pg part) claim(t *crawl.Target, fp layout.Fingerprint, found *lookup) {
	j := pg.f.planner
	if t.Claimed.IsZero() || j == nil || !j.On() || found.rec.State != crawl.Done ||
		!planned(&found.rec.Record) {
		return
	}
	host, rec := layout.HostOf(t.URL), found.rec.Record
	rec.URL = t.URL
	page := pg.page(host, fp, &rec, pg.Group.Now.Now)
	if plan, ok := j.Claimed(&page, t.Claimed); ok {
		pg.setPlan(host, fp, &page, &plan)
	}
}

// Stamp writes how far the timelines of held partitions have come, so that due times that are days
// away go on where they were after a restart of the machine. It is for partitions in which nothing
// has changed for minutes: each change writes it. Partitions that are not held are left out.
func (f *Frontier) Stamp(ctx context.Context, ps []crawl.Partition) error {
	err := f.change(ctx, func(g group) error {
		for _, p := range ps {
			if pg := g.part(p); pg.State.Serves() {
				pg.Mutated = true
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("frontier: stamping %d partitions: %w", len(ps), err)
	}
	return nil
}
