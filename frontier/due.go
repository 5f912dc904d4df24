package frontier

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"crawlnode/crawl"
	"crawlnode/frontier/commit"
	"crawlnode/frontier/layout"
	"crawlnode/frontier/reader"
)

// SetPlanner sets the planner of visits. Call it before Run; without it no page is planned.
func (f *Frontier) SetPlanner(j Planner) { f.planner = j }

// DueHead returns the earliest due time of a held partition, also one that has come; ok is false
// when no page is planned. It costs no read of the store unless the head was taken since the last
// call.
func (f *Frontier) DueHead(p crawl.Partition) (at time.Time, ok bool, err error) {
	m, line, err := f.w.Held(p)
	if err != nil {
		return at, false, err
	}
	key, known := f.dueHeads.known(layout.Generation{Partition: p, Number: m.Generation})
	if !known {
		first, err := f.Due(p, farAway, 1)
		if err != nil || len(first) == 0 {
			return at, false, err
		}
		return first[0].At, true, nil
	}
	if key == nil {
		return at, false, nil
	}
	d, ok := layout.ParseDueKey(key)
	return line.Read(d.Time()), ok, nil
}

// farAway is later than any page is due.
var farAway = time.Unix(0, 1<<62)

// Due reads up to n planned pages of a held partition that are due at until or before, the earliest
// first.
func (f *Frontier) Due(p crawl.Partition, until time.Time, n int) ([]Due, error) {
	m, _, err := f.w.Held(p)
	if err != nil {
		return nil, err
	}
	look := f.dueHeads.begin(layout.Generation{Partition: p, Number: m.Generation})
	from := look.from
	if from == nil {
		from = []byte{layout.TableDue}
	}
	var out []Due
	var first []byte
	err = f.readDue(p, &m, func(v *reader.Partition) error {
		return eachDue(v, m.Epoch, from, func(rel []byte, d *Due) bool {
			if first == nil {
				first = bytes.Clone(rel)
			}
			if len(out) >= n || d.At.After(until) {
				return false
			}
			out = append(out, *d)
			return true
		})
	})
	look.end(first, err == nil)
	return out, err
}

// readDue reads a held partition, which must still be the one of m.
func (f *Frontier) readDue(
	p crawl.Partition,
	m *layout.Meta,
	read func(*reader.Partition) error,
) error {
	v, err := f.w.Read(p)
	if err != nil {
		return err
	}
	defer v.Close()
	if v.Generation.Number != m.Generation {
		return fmt.Errorf("%w: partition %d was replaced meanwhile", ErrNotHolder, p)
	}
	if err := read(v); err != nil {
		return fmt.Errorf("frontier: due pages of partition %d: %w", p, err)
	}
	return nil
}

// Planned looks at up to n records of a held partition behind a place and returns those of planned
// pages, without what they count for. done says that the end is reached. It goes through the
// records, whose keys stay: a page that is planned anew meanwhile is not met again.
func (f *Frontier) Planned(
	p crawl.Partition, after DueCursor, n int,
) (pages []Due, next DueCursor, done bool, err error) {
	m, _, err := f.w.Held(p)
	if err != nil {
		return nil, after, false, err
	}
	err = f.readDue(p, &m, func(v *reader.Partition) (err error) {
		visit := func(host crawl.Host, fp layout.Fingerprint, rec *crawl.Record) {
			if planned(rec) {
				d := layout.DueAt(rec.CheckAt, host, fp)
				at := v.Line.Read(d.Time())
				pages = append(pages, Due{Partition: p, Epoch: m.Epoch, DueSlot: d, At: at})
			}
		}
		next, done, err = eachDone(v, after, n, visit)
		return err
	})
	return pages, next, done, err
}

// EachPlanned calls visit with what each planned page of a held partition counts for, in one pass
// over a snapshot, until it returns false. Pages that wait in a queue are not among them.
func (f *Frontier) EachPlanned(p crawl.Partition, visit func(Estimate) bool) error {
	m, _, err := f.w.Held(p)
	if err != nil {
		return err
	}
	return f.readDue(p, &m, func(v *reader.Partition) error { return eachEstimate(v, visit) })
}

// duePiece is the number of pages in one request: each writes its record, two places, its host and
// that one's place in the wake index, which is replaced.
const duePiece = 250

// errNoPlanner says that nobody can plan pages.
var errNoPlanner = errors.New("BUG: due pages without a planner")

// MoveDue puts planned pages into the queues of their hosts, in band 0, and counts them. It is cut
// into several atomic pieces. A page that was moved, planned anew or completed since it was read is
// left alone, and every page while no page is visited again.
// It fails with ErrNotHolder when a partition is not held in the epoch in which its page was read;
// those before it may have been moved.
func (f *Frontier) MoveDue(ctx context.Context, pages []Due) (moved int, err error) {
	return inPieces(ctx, f, pages, "moving due pages", tenureOf, part.moveDue)
}

// Replan has the planner plan pages anew, and counts these. One whose visit has come by the new
// plan is due now: whoever pays for visits moves it. As to repeats and errors it is as MoveDue.
func (f *Frontier) Replan(ctx context.Context, pages []Due) (planned int, err error) {
	return inPieces(ctx, f, pages, "planning due pages", tenureOf, part.replan)
}

func tenureOf(d *Due) (crawl.Partition, crawl.Epoch) { return d.Partition, d.Epoch }

// inPieces does something with pages of the tenures in which they were read, and counts those of
// which it returns true.
func inPieces[T any](
	ctx context.Context,
	f *Frontier,
	pages []T,
	what string,
	tenure func(*T) (crawl.Partition, crawl.Epoch),
	do func(part, *T) bool,
) (n int, err error) {
	if f.planner == nil {
		return 0, errNoPlanner
	}
	for len(pages) > 0 && f.planner.On() {
		piece := pages[:min(len(pages), duePiece)]
		pages = pages[len(piece):]
		done := 0
		apply := func(g group) error {
			done = 0 // it may be called again after a wait for space on the disk
			for i := range piece {
				p, epoch := tenure(&piece[i])
				if _, err := g.leased(&crawl.Lease{Partition: p, Epoch: epoch}); err != nil {
					return err
				}
			}
			for i := range piece {
				p, _ := tenure(&piece[i])
				if do(g.part(p), &piece[i]) {
					done++
				}
			}
			return nil
		}
		err := f.do(ctx, &commit.Request{
			Patient: true,
			Entries: len(piece) * dueEntries,
			Bytes:   len(piece) * dueBytes,
			Apply:   f.in(apply),
		})
		if err != nil {
			return n, fmt.Errorf("frontier: %s: %w", what, err)
		}
		n += done
	}
	return n, nil
}

// What a page adds to a transaction at most: its record and its place in the queue have its URL,
// and its host changes.
const (
	dueEntries = 8
	dueBytes   = 5 << 10
)

// duePage reads the record of a page that is still due. An entry that its record does not know is
// taken away: the record is the truth.
func (pg part) duePage(d *layout.DueSlot) (rec crawl.Record, ok bool) {
	if _, ok := pg.Get(layout.AppendDueKey(nil, d)); !ok {
		return rec, false
	}
	rec, ok = pg.recordAt(d.Host, d.Fingerprint)
	if !ok || rec.State != crawl.Done || !planned(&rec) ||
		layout.DueAt(rec.CheckAt, d.Host, d.Fingerprint) != *d {
		pg.dropDue(*d)
		return rec, false
	}
	return rec, true
}

// recordAt reads a record by its key.
func (pg part) recordAt(host crawl.Host, fp layout.Fingerprint) (rec crawl.Record, ok bool) {
	v, ok := pg.Get(layout.AppendRecordKey(nil, host, fp))
	if !ok {
		return rec, false
	}
	s, err := layout.DecodeRecord(v)
	if err == nil {
		s.URL, err = layout.JoinURL(host, s.HTTPS, s.Rest)
	}
	if err != nil {
		pg.Group.Fail(fmt.Errorf("%w of host %s", err, host))
		return rec, false
	}
	return s.Record, true
}

// moveDue puts a due page into its queue.
func (pg part) moveDue(d *Due) bool {
	rec, ok := pg.duePage(&d.DueSlot)
	if ok {
		pg.queueDue(&d.DueSlot, &rec)
	}
	return ok
}

// queueDue puts a planned page into its queue, with its validators if the next visit may send them.
func (pg part) queueDue(d *layout.DueSlot, rec *crawl.Record) {
	now := pg.Group.Now.Now
	pg.withdraw(d.Host, d.Fingerprint, rec)
	probe, ok := layout.ProbeOf(rec.URL.String(), d.Fingerprint)
	if !ok {
		pg.Group.Fail(fmt.Errorf("%w: %s stands under a wrong fingerprint", layout.ErrCorrupt, rec.URL))
		return
	}
	page := pg.page(d.Host, d.Fingerprint, rec, now)
	it := crawl.Item{URL: rec.URL, Depth: rec.Depth, Hops: rec.Hops, Via: rec.Via, Revisit: true}
	pg.take(pg.Host(d.Host), d.Host, &it)
	etag, modified := rec.ETag, rec.LastModified
	if pg.f.planner.Conditional(&page) {
		it.ETag, it.LastModified = etag, modified
	}
	pg.Set(layout.AppendQueueKey(nil, d.Host, it.Band, it.Seq), layout.EncodeQueued(&it, true, probe))
	rec.Item = it
	rec.ETag, rec.LastModified, rec.State, rec.Reason = etag, modified, crawl.Queued, ""
	pg.Set(layout.AppendRecordKey(nil, d.Host, d.Fingerprint), layout.EncodeRecord(rec))
	countOverdue(&pg.State.Counters, now.Sub(pg.State.Line.Read(d.Time())))
}

// replan has a planned page planned anew; false: it is none any more.
func (pg part) replan(d *Due) bool {
	rec, ok := pg.duePage(&d.DueSlot)
	if !ok {
		return false
	}
	now := pg.Group.Now.Now
	page := pg.page(d.Host, d.Fingerprint, &rec, now)
	plan := pg.f.planner.Planned(&page)
	pg.setPlan(d.Host, d.Fingerprint, &page, &plan)
	return true
}

// setPlan writes a plan of a page that is not queued. It queues none: what is due is moved by
// MoveDue alone, so that its caller counts the visits.
func (pg part) setPlan(host crawl.Host, fp layout.Fingerprint, page *Page, plan *Plan) {
	rec := *page.Record
	pg.unplan(host, fp, &rec)
	pg.carryOut(host, fp, page, &rec, plan, pg.Group.Now.Now)
	pg.Set(layout.AppendRecordKey(nil, host, fp), layout.EncodeRecord(&rec))
}
