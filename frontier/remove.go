package frontier

import (
	"context"
	"fmt"

	"crawlnode/crawl"
	"crawlnode/frontier/layout"
	"crawlnode/web/urlnorm"
)

// Remove takes a URL out of its host's queue, as a person asked, and returns the state that it had;
// 0: the partition does not know it. Only a queued URL is changed: its record then says that it was
// removed, so that links do not bring it back, and a seed does (admitOne). It is durable on return.
// It fails with ErrNotHolder when the partition is not held here.
func (f *Frontier) Remove(
	ctx context.Context,
	p crawl.Partition,
	u urlnorm.URL,
) (was crawl.RecordState, err error) {
	err = f.change(ctx, func(g group) error {
		was = 0 // it may be called again after a wait for space on the disk
		pg := g.part(p)
		if !pg.State.Serves() {
			return ErrNotHolder
		}
		was = pg.remove(u)
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("frontier: removing %s from the queue of partition %d: %w", u, p, err)
	}
	return was, nil
}

// remove is Remove within a group.
func (pg part) remove(u urlnorm.URL) crawl.RecordState {
	host, fp := layout.HostOf(u), layout.FingerprintOf(u.String())
	found := pg.lookup(u, fp)
	if found.ok && removedByHand(&found.rec.Record) {
		return crawl.Queued // maybe by this very request, whose answer was lost
	}
	if !found.ok || found.rec.State != crawl.Queued {
		return found.rec.State
	}
	pg.split(host, pg.Host(host))
	q, ok := pg.queueEntry(host, found.rec.Band, found.rec.Seq)
	if !ok || !layout.SameURL(u, q.HTTPS, q.Rest) {
		return found.rec.State // the store is damaged, or cannot be read; completing the URL reports it
	}
	q.Item.URL, q.Item.Band, q.Item.Seq = u, found.rec.Band, found.rec.Seq
	o := crawl.Outcome{Kind: crawl.Refused, Skip: crawl.SkipOutOfScope, Reason: crawl.RemovedByHand}
	pg.finalise(host, &q, &o, crawl.RefusedForever, 0)
	pg.Mutated = true
	return crawl.Queued
}

// removedByHand reports whether a record is of a URL that a person has removed.
func removedByHand(rec *crawl.Record) bool {
	return rec.State == crawl.RefusedForever && rec.Reason == crawl.RemovedByHand
}
