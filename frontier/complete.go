package frontier

import (
	"context"
	"fmt"
	"slices"
	"time"

	"crawlnode/crawl"
	"crawlnode/frontier/commit"
	"crawlnode/frontier/layout"
	"crawlnode/frontier/result"
	"crawlnode/frontier/texts"
	"crawlnode/web/urlnorm"
)

// Completion is all that becomes of a visit.
type Completion struct {
	Lease   crawl.Lease
	Outcome crawl.Outcome
	// Host is the host's state after the visit. The frontier itself counts
	// HostState.Suspicious and NearStreak and keeps its own figures.
	Host crawl.HostState
	// RetryAt is the earliest next attempt after URLFailed and RateLimited;
	// the zero time gives the URL up.
	RetryAt time.Time
	// Own are the links whose partition this node holds, Outbox those that
	// must wait for their owner.
	Own, Outbox []crawl.Routed
	// Contents is the page's payload, when it is the first with it and the payload's
	// partition is held here; as in NoteContents.
	Contents []Content
	// Cites are the page's links, as cash.CitesOf makes them; nil while importance is off.
	Cites []byte
	// Weight is how important the page is for its next visits, 0 to 1; 0: not known.
	Weight float64
}

// Complete writes what became of a leased URL, in one transaction: its record,
// its place in the queue, the host's state, the robots entry, the counters and
// the links. By the kind of the outcome the URL is
//
//	Fetched                    done
//	Refused                    refused for ever
//	URLFailed, RateLimited     tried again at RetryAt, or failed; its record says why
//	Blocked                    failed
//	RobotsFetched, HostFailed,
//	RobotsPending, Lost        still queued
//	Aborted                    still queued, nothing is counted but ErrProxy
//
// A URL that is still queued, or tried again, keeps its place and its number
// in the queue; Attempts and NotBefore of its Item are brought up to date in
// the store. So a chain of Load calls does not return it a second time: who
// leased it keeps it. The lease of a URL that was moved to a better band meanwhile (see Raise) is
// as good as before.
//
// Own links whose partition is no longer held here go to the outbox, as do those to
// other partitions while the page's own is copied to another node. When
// there are more links than one transaction takes, the excess is added first.
// It fails with ErrNotHolder when the lease's partition is not held in the
// lease's epoch, and with ErrStaleLease when the URL has left the queue.
func (f *Frontier) Complete(ctx context.Context, c Completion) error {
	err := f.addExcess(ctx, &c)
	if err == nil {
		err = f.change(ctx, func(g group) error { return g.complete(&c) })
	}
	if err != nil {
		return fmt.Errorf("frontier: completing %s in partition %d: %w", c.Lease.Item.URL,
			c.Lease.Partition, err)
	}
	return nil
}

// addExcess adds the links that do not fit into the completion's own
// transaction, and takes them out of c.
func (f *Frontier) addExcess(ctx context.Context, c *Completion) error {
	for !f.w.Budget.Fits(c.Own, c.Outbox) {
		own := c.Own[:f.w.Budget.Cut(c.Own)]
		var out []crawl.Routed
		if len(own) == 0 {
			out = c.Outbox[:f.w.Budget.Cut(c.Outbox)]
		}
		err := f.change(ctx, func(g group) error {
			pg, err := g.leased(&c.Lease)
			if err == nil {
				pg.links(own, out)
			}
			return err
		})
		if err != nil {
			return err
		}
		c.Own, c.Outbox = c.Own[len(own):], c.Outbox[len(out):]
	}
	return nil
}

// leased opens the partition of a lease.
func (g group) leased(l *crawl.Lease) (part, error) {
	pg := g.part(l.Partition)
	if !pg.State.Serves() || pg.State.Epoch != l.Epoch {
		return part{}, fmt.Errorf("%w: it is %s in epoch %d, the lease is of epoch %d",
			commit.ErrNotHolder, pg.State.State, pg.State.Epoch, l.Epoch)
	}
	return pg, nil
}

// links adds the links of a page of this partition.
func (pg part) links(own, outbox []crawl.Routed) {
	own, aside := pg.apart(own)
	for i := range aside {
		pg.post(&aside[i])
	}
	admissions := make([]Admission, len(own))
	pg.group().admit(pg, own, admissions)
	for i, a := range admissions {
		if a == NotHolder {
			pg.post(&own[i])
		}
	}
	for i := range outbox {
		pg.post(&outbox[i])
	}
}

// apart takes out the links to other partitions when the page's is copied. The copies
// of theirs may be elsewhere, and know of the links later than the page's knows that it
// is done: the page's outbox goes with it.
func (pg part) apart(own []crawl.Routed) (with, aside []crawl.Routed) {
	if p := pg.State.Partition; len(pg.Live.Sinks) == 0 ||
		!slices.ContainsFunc(own, func(l crawl.Routed) bool { return l.Partition != p }) {
		return own, nil
	}
	for _, l := range own {
		if l.Partition == pg.State.Partition {
			with = append(with, l)
		} else {
			aside = append(aside, l)
		}
	}
	return with, aside
}

// complete applies a completion.
func (g group) complete(c *Completion) error {
	pg, err := g.leased(&c.Lease)
	if err != nil {
		return err
	}
	it := &c.Lease.Item
	host := layout.HostOf(it.URL)
	q, ok := pg.slotOf(host, it)
	if !ok {
		return fmt.Errorf("%w: band %d, number %d", ErrStaleLease, it.Band, it.Seq)
	}
	pg.completeHost(host, c)
	pg.count(&c.Outcome)
	switch v := verdictOf(c); v {
	case keep:
	case retry:
		pg.State.Counters.Retries++
		q.Item.Attempts++
		q.Item.NotBefore = pg.State.Line.Write(c.RetryAt)
		pg.split(host, pg.Host(host))
		pg.setEntry(host, q.Slot(), q.InBlock, q.Encode())
		pg.noteFailure(host, &q, c.Outcome.Reason)
	default:
		pg.finalise(host, &q, &c.Outcome, crawl.RecordState(v), c.Weight)
		pg.f.Cite(pg.Part, v == verdict(crawl.Done), c.Cites)
	}
	pg.links(pg.demoted(host, c), c.Outbox)
	for i := range c.Contents {
		g.noteContent(&c.Contents[i])
	}
	return nil
}

// noteFailure writes into the record of a queued URL why its last try failed.
func (pg part) noteFailure(host crawl.Host, q *layout.QueueEntry, reason string) {
	key := layout.AppendRecordKey(nil, host, layout.FingerprintOf(q.Item.URL.String()).Probe(q.Probe))
	v, ok := pg.Get(key)
	if !ok {
		return // the store is damaged, or cannot be read; completing the URL writes it anew
	}
	rec, err := layout.DecodeRecord(v)
	if err != nil {
		pg.Group.Fail(fmt.Errorf("%w of %s", err, q.Item.URL))
		return
	}
	if rec.Reason == reason {
		return // most tries of a URL fail alike
	}
	rec.URL, rec.Reason = q.Item.URL, reason
	pg.Set(key, layout.EncodeRecord(&rec.Record))
}

// A verdict is what becomes of the queue entry: keep, retry, or the state in
// which the URL leaves the queue.
type verdict crawl.RecordState

const (
	keep  verdict = 0
	retry         = verdict(crawl.Queued)
)

func verdictOf(c *Completion) verdict {
	switch c.Outcome.Kind {
	case crawl.Fetched:
		return verdict(crawl.Done)
	case crawl.Refused:
		return verdict(crawl.RefusedForever)
	case crawl.Blocked:
		return verdict(crawl.Failed)
	case crawl.URLFailed, crawl.RateLimited:
		if c.RetryAt.IsZero() {
			return verdict(crawl.Failed)
		}
		return retry
	default:
		return keep
	}
}

// queueEntry reads a host's queue entry with this number. Its URL pieces are
// good until the next read of the partition.
func (pg part) queueEntry(host crawl.Host, band crawl.Band, seq uint64) (layout.QueueEntry, bool) {
	v, in, ok := pg.entry(host, band, seq)
	if !ok {
		return layout.QueueEntry{}, false
	}
	q, err := layout.DecodeQueued(v)
	if err != nil {
		pg.Group.Fail(fmt.Errorf("%w of host %s", err, host))
		return layout.QueueEntry{}, false
	}
	q.Referrer, q.InBlock = slices.Clone(q.Referrer), in
	return q, true
}

// completeHost takes over the host's state and robots entry.
func (pg part) completeHost(host crawl.Host, c *Completion) {
	e := pg.Host(host)
	if c.Host.Requests >= e.Requests { // else a later visit's completion has overtaken this one
		pg.setState(e, pg.State.Line.WriteHost(c.Host))
	}
	countNear(e, &c.Outcome)
	pg.Touch(e)
	if jar := c.Outcome.HostCookies; jar != nil {
		pg.setCookies(host, *jar)
	}
	if r := c.Outcome.Robots; r != nil &&
		(c.Outcome.Kind == crawl.RobotsFetched || c.Outcome.Kind == crawl.HostFailed) {
		pg.setRobots(host, e, r)
	}
}

// setCookies keeps the host's jar.
func (pg part) setCookies(host crawl.Host, jar string) {
	key := layout.AppendCookiesKey(nil, host)
	if jar == "" {
		pg.Del(key)
		return
	}
	pg.Set(key, []byte(jar))
}

// setState takes over a state on the partition's timeline, save what the frontier keeps itself.
func (pg part) setState(h *commit.Host, s crawl.HostState) {
	if was, is := !h.WalledSince.IsZero(), !s.WalledSince.IsZero(); is && !was {
		pg.State.Counters.HostsWalled++
	} else if was && !is {
		pg.State.Counters.HostsWalled--
	}
	s.Suspicious, s.NearStreak, s.BlockedUntil = h.HostState.Suspicious, h.HostState.NearStreak,
		h.HostState.BlockedUntil
	s.AskedDelay = h.HostState.AskedDelay
	h.HostState = s
}

// setRobots keeps a robots entry, and drops the oldest beyond MaxRobots.
func (pg part) setRobots(host crawl.Host, e *commit.Host, r *crawl.Robots) {
	tag := layout.OriginTag(host, r.Origin)
	if i := slices.Index(e.Origins, tag); i >= 0 {
		e.Origins = slices.Delete(e.Origins, i, i+1)
	}
	if len(e.Origins) >= layout.MaxRobots {
		pg.Del(layout.AppendRobotsKey(nil, host, e.Origins[0]))
		e.Origins = slices.Delete(e.Origins, 0, 1)
	}
	e.Origins = append(e.Origins, tag)
	pg.Set(layout.AppendRobotsKey(nil, host, tag), layout.EncodeRobots(pg.State.Line.WriteRobots(r)))
}

// finalise takes a URL out of the queue and writes its record.
func (pg part) finalise(
	host crawl.Host,
	q *layout.QueueEntry,
	o *crawl.Outcome,
	state crawl.RecordState,
	weight float64,
) {
	rec := result.Record(q, o, state)
	fp := layout.FingerprintOf(q.Item.URL.String()).Probe(q.Probe)
	key := layout.AppendRecordKey(nil, host, fp)
	var old crawl.Record // empty without an earlier result
	stays := texts.Stays(state, o)
	if q.Refetch {
		old = pg.stored(key, q.Item.URL)
		pg.countFailed(&old, -1) // what was given up is so no more, or once more
		result.Keep(&old, &rec, o, stays)
	}
	basis := rec.Basis
	verdict := pg.planVisit(host, fp, &old, &rec, &q.Item, o, weight)
	if result.Changed(&old, o, verdict) {
		rec.ChangedAt = o.FetchedAt
	}
	rec.Basis = basis // also when the record stays that of the last good answer: its text may be gone
	pg.Set(key, layout.EncodeRecord(&rec))
	texts.Note(pg.Part, fp, &rec, q.Refetch, stays, o.Document)
	pg.dequeue(host, q)
	pg.countFailed(&rec, 1)
	if o.Status != 0 && !o.IsSitemap && q.Item.Via != crawl.ViaSitemapFile {
		// A page counts when it leaves the queue, so that one which was asked
		// to wait with 429 counts once.
		pg.State.Counters.Pages++
	}
}

// countFailed adds a record to those that were given up, or takes it out.
func (pg part) countFailed(rec *crawl.Record, times int64) {
	if rec.State != crawl.Failed {
		return
	}
	pg.State.Counters.Failed += times
	if why, ok := result.GiveUp(rec); ok {
		pg.State.Counters.GivenUp[why] += times
	}
}

// stored is the record under a key, empty when there is none.
func (pg part) stored(key []byte, u urlnorm.URL) crawl.Record {
	v, ok := pg.Get(key)
	if !ok {
		return crawl.Record{}
	}
	old, err := layout.DecodeRecord(v)
	if err != nil {
		pg.Group.Fail(fmt.Errorf("%w of %s", err, u))
		return crawl.Record{}
	}
	old.URL = u
	return old.Record
}

// dequeue gives up the place of an entry.
func (pg part) dequeue(host crawl.Host, q *layout.QueueEntry) {
	e, it := pg.Host(host), &q.Item
	b := &e.Bands[it.Band]
	b.Queued--
	if b.Head == it.Seq {
		b.Head++
	}
	if b.Queued == 0 {
		b.Head = b.Next
	}
	pg.Touch(e)
	pg.State.Counters.Queued[it.Band]--
	if it.Revisit {
		pg.State.Counters.QueuedRevisits--
	}
	pg.removeEntry(host, q.Slot(), q.InBlock)
}

// count brings the counters up to date with an outcome.
func (pg part) count(o *crawl.Outcome) {
	c := &pg.State.Counters
	if o.Kind == crawl.Aborted {
		if o.Category == crawl.ErrProxy {
			c.Errors[crawl.ErrProxy]++
		}
		return
	}
	c.Bytes += o.Bytes
	c.LinksFound += int64(o.LinksFound)
	for i, n := range o.Skipped {
		c.Skipped[i] += n
	}
	if o.Kind == crawl.RobotsFetched || o.Kind == crawl.RobotsPending && o.Status != 0 ||
		o.Kind == crawl.HostFailed && o.Robots != nil {
		c.Robots++
	}
	if o.Archive != (crawl.ArchiveRef{}) {
		c.Captures++
		if o.DuplicateOf != "" {
			c.ContentDup++
		}
	}
	c.CountWall(o)
	c.CountLeftOut(o)
	if o.NearOf != "" {
		c.NearDup++
	}
	switch o.Kind {
	case crawl.Fetched, crawl.RateLimited, crawl.URLFailed:
		if o.Status == 0 {
			c.Errors[o.Category.Known()]++
			return
		}
		if class := o.Status/100 - 2; class >= 0 && class < len(c.Responses) {
			c.Responses[class]++
		}
		c.Observe(o.Took.Milliseconds())
		c.CountDefects(o)
	case crawl.Lost:
		c.Retries++
	case crawl.Refused:
		c.Skipped[min(o.Skip, crawl.NumSkipReasons-1)]++
	case crawl.HostFailed, crawl.Blocked:
		c.Errors[o.Category.Known()]++
	}
}
