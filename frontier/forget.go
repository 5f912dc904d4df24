package frontier

import (
	"bytes"
	"context"
	"fmt"

	"crawlnode/crawl"
	"crawlnode/frontier/commit"
	"crawlnode/frontier/layout"
	"crawlnode/frontier/storage"
	"crawlnode/frontier/texts"
	"crawlnode/web/urlnorm"
)

// Forgotten says which URLs are forgotten.
type Forgotten struct {
	Host crawl.Host // ""; of all hosts
	// Before: only those that a client has put before then, in seconds since 1970; 0: all.
	Before int64
	// Delete takes queued URLs out of the dispatcher's memory, before they leave the queue and once
	// more when they have left it: it may have read them meanwhile. It must not hold up the caller
	// for long.
	Delete func(host crawl.Host, url string)
}

const (
	forgetPiece = 200
	// forgetEntries and forgetBytes are what one forgotten URL changes at most: its record, its
	// place, its host, the places of that, its plan, its document, its note with the date.
	forgetEntries = 12
	forgetBytes   = 6 << 10
)

// Forget deletes URLs of a held partition, as if they had never been found, and returns how many:
// they may be found and fetched again. The politeness of their hosts stays, and so does what has
// been counted of their visits. A visit of such a URL that is under way brings nothing. It is cut
// into several atomic pieces: after an error some URLs may be forgotten.
func (f *Frontier) Forget(
	ctx context.Context,
	p crawl.Partition,
	c Forgotten,
) (forgotten int, err error) {
	if _, _, err := f.w.Held(p); err != nil {
		return 0, err
	}
	if err := f.splitHosts(ctx, p, c.Host); err != nil {
		return 0, err
	}
	prefix := []byte{layout.TableRecords}
	if c.Host != "" {
		prefix = append(layout.AppendHost(nil, layout.TableRecords, c.Host), 0)
	}
	for after := []byte(nil); ; {
		keys, queued, next, err := f.chosen(p, prefix, after, &c)
		if err != nil {
			return forgotten, fmt.Errorf("frontier: forgetting URLs of partition %d: %w", p, err)
		}
		n := 0
		queued.delete(&c)
		err = f.do(
			ctx,
			&commit.Request{
				Patient: true,
				Entries: forgetEntries * len(keys),
				Bytes:   forgetBytes * len(keys),
				Apply: f.in(func(g group) error {
					n = 0 // it may be called again after a wait for space on the disk
					pg := g.part(p)
					if !pg.State.Serves() {
						return fmt.Errorf("%w: partition %d", ErrNotHolder, p)
					}
					for _, key := range keys {
						if pg.forget(key) {
							n++
						}
					}
					return nil
				}),
			},
		)
		if err != nil {
			return forgotten, fmt.Errorf("frontier: forgetting URLs of partition %d: %w", p, err)
		}
		queued.delete(&c)
		if forgotten += n; next == nil {
			return forgotten, nil
		}
		after = next
	}
}

// queuedURLs are URLs of the dispatcher.
type queuedURLs []struct {
	host crawl.Host
	url  string
}

func (q queuedURLs) delete(c *Forgotten) {
	if c.Delete == nil {
		return
	}
	for _, u := range q {
		c.Delete(u.host, u.url)
	}
}

// splitHosts gives the only URLs of hosts records of their own: of one host or, for "", of all.
func (f *Frontier) splitHosts(ctx context.Context, p crawl.Partition, host crawl.Host) error {
	hosts := []crawl.Host{host}
	if host == "" {
		var err error
		if hosts, err = f.inlineHosts(p); err != nil {
			return err
		}
	}
	for len(hosts) > 0 {
		piece := hosts[:min(len(hosts), forgetPiece)]
		hosts = hosts[len(piece):]
		err := f.do(
			ctx,
			&commit.Request{
				Patient: true,
				Entries: 8 * len(piece),
				Bytes:   forgetBytes * len(piece),
				Apply: f.in(func(g group) error {
					pg := g.part(p)
					if !pg.State.Serves() {
						return fmt.Errorf("%w: partition %d", ErrNotHolder, p)
					}
					for _, h := range piece {
						pg.split(h, pg.Host(h))
					}
					return nil
				}),
			},
		)
		if err != nil {
			return err
		}
	}
	return nil
}

// inlineHosts are the hosts whose only URL stands in their entries.
func (f *Frontier) inlineHosts(p crawl.Partition) (hosts []crawl.Host, err error) {
	v, err := f.w.Read(p)
	if err != nil {
		return nil, err
	}
	defer v.Close()
	it := v.Iterate([]byte{layout.TableHosts})
	defer it.Close()
	for it.Seek(v.Abs([]byte{layout.TableHosts})); it.Valid(); it.Next() {
		value, err := it.Value()
		if err != nil {
			return nil, err
		}
		e, err := layout.DecodeHost(value)
		if err != nil {
			return nil, err
		}
		if e.Inline != nil {
			hosts = append(hosts, crawl.Host(it.Key()[layout.PrefixLen+1:]))
		}
	}
	return hosts, nil
}

// chosen reads the relative keys of the next records, and which of their URLs are queued; next is
// nil behind the last ones.
func (f *Frontier) chosen(
	p crawl.Partition,
	prefix, after []byte,
	c *Forgotten,
) (keys [][]byte, queued queuedURLs, next []byte, err error) {
	v, err := f.w.Read(p)
	if err != nil {
		return nil, nil, nil, err
	}
	defer v.Close()
	err = v.EachBehind(prefix, after, func(key []byte, it storage.Iterator) (more bool, err error) {
		host, fp, ok := layout.ParseRecordKey(key)
		if !ok {
			return false, fmt.Errorf("%w: key of a record", layout.ErrCorrupt)
		}
		value, err := it.Value()
		if err != nil {
			return false, err
		}
		rec, err := layout.DecodeRecord(value)
		if err != nil {
			return false, err
		}
		if c.Before != 0 {
			b, ok, err := v.Get(layout.AppendNoteKey(nil, host, fp))
			if err != nil {
				return false, err
			}
			if n, err := layout.DecodeNote(b); !ok || err != nil || n.Created >= c.Before {
				return true, nil
			}
		}
		if rec.State == crawl.Queued {
			if u, err := rec.URLOf(host); err == nil {
				queued = append(queued, struct {
					host crawl.Host
					url  string
				}{host, u.String()})
			}
		}
		if keys = append(keys, bytes.Clone(key)); len(keys) == forgetPiece {
			next = keys[forgetPiece-1]
		}
		return next == nil, nil
	})
	return keys, queued, next, err
}

// forget deletes a URL by the key of its record.
func (pg part) forget(key []byte) bool {
	host, fp, _ := layout.ParseRecordKey(key)
	v, ok := pg.Get(key)
	if !ok {
		return false
	}
	rec, err := layout.DecodeRecord(v)
	var u urlnorm.URL
	if err == nil {
		u, err = rec.URLOf(host)
	}
	if err != nil {
		pg.Group.Fail(fmt.Errorf("%w of host %s", err, host))
		return false
	}
	if _, shared := pg.Get(layout.AppendRecordKey(nil, host, fp.Probe(1))); shared {
		return false // a URL with the same fingerprint is only found behind this one
	}
	rec.URL = u
	if rec.State == crawl.Queued {
		q, ok := pg.queueEntry(host, rec.Band, rec.Seq)
		if !ok || !layout.SameURL(u, q.HTTPS, q.Rest) {
			return false // the store is damaged, or cannot be read; completing the URL reports it
		}
		q.Item.URL, q.Item.Band, q.Item.Seq = u, rec.Band, rec.Seq
		pg.dequeue(host, &q)
	}
	pg.withdraw(host, fp, &rec.Record)
	pg.countFailed(&rec.Record, -1)
	gone := crawl.Record{Item: crawl.Item{URL: u}, State: crawl.RefusedForever}
	texts.Note(pg.Part, fp, &gone, true, false, nil)
	pg.dropNote(host, fp)
	pg.Del(key)
	pg.State.Counters.Seen--
	cache := pg.f.w.Cache
	k := cache.Key(pg.Gen(), u.String())
	pg.Group.Then(func() { cache.Remove(k) })
	return true
}
