package frontier

import (
	"bytes"
	"crawlnode/crawl"
	"crawlnode/web/urlnorm"
	"time"
)

// Cursor is a place in a host's queues: for each band the number of the next
// entry to read. The zero Cursor is the head.
type Cursor [crawl.Bands]uint64

// HostQueue is the head of a host's queues with all that politeness knows.
type HostQueue struct {
	Partition crawl.Partition
	Host      crawl.Host
	State     crawl.HostState
	Robots    []*crawl.Robots
	Items     []crawl.Item // the best band first, in each band in the order of admission
	Next      Cursor       // behind the last Item
	More      bool         // something is queued behind Next
	Queued    int64        // all that is queued
}

// items fills in Items, Next and More.
func (v *view) items(q *HostQueue, e *hostEntry, n int) error {
	if e.sole != nil {
		return v.soleItem(q, e.sole, n)
	}
	it := v.iterate(append(appendHost(nil, tableQueue, q.Host), 0))
	defer it.Close()
	for b := range crawl.Band(crawl.Bands) {
		bq := &e.bands[b]
		q.Next[b] = max(q.Next[b], bq.head)
		if bq.queued == 0 || q.Next[b] >= bq.next {
			continue
		}
		if len(q.Items) >= n {
			q.More = true // maybe only entries that were returned before are left
			return nil
		}
		start := v.abs(appendQueueKey(nil, q.Host, b, q.Next[b]))
		prefix := bytes.Clone(start[:len(start)-8])
		for it.Seek(start); it.Valid() && bytes.HasPrefix(it.Key(), prefix); it.Next() {
			if len(q.Items) >= n {
				q.More = true
				return nil
			}
			seq, _ := seqOfQueueKey(it.Key())
			value, err := it.Value()
			if err != nil {
				return err
			}
			item, err := decodeItem(q.Host, b, seq, value)
			if err != nil {
				return err
			}
			item.NotBefore = v.line.read(item.NotBefore)
			q.Items = append(q.Items, item)
			q.Next[b] = seq + 1
		}
		q.Next[b] = max(q.Next[b], bq.next)
	}
	return nil
}

// soleItem is items for a host's only URL.
func (v *view) soleItem(q *HostQueue, s *sole, n int) error {
	if q.Next[s.band] > s.seq {
		return nil
	}
	if n <= 0 {
		q.More = true
		return nil
	}
	item, err := s.item(q.Host)
	if err != nil {
		return err
	}
	q.Items = append(q.Items, item) // it has no time: it was never tried
	q.Next[s.band] = s.seq + 1
	return nil
}

// robots reads the robots entries of a host.
func (v *view) robots(host crawl.Host, e *hostEntry) ([]*crawl.Robots, error) {
	var out []*crawl.Robots
	for _, tag := range e.origin {
		b, ok, err := v.get(appendRobotsKey(nil, host, tag))
		if err != nil {
			return nil, err
		}
		if !ok {
			continue
		}
		r, err := decodeRobots(host, tag, b)
		if err != nil {
			return nil, err
		}
		out = append(out, v.line.readRobots(r))
	}
	return out, nil
}

// WakeCursor is a place in the wake index of a partition; "" is its start. It
// is an opaque string.
type WakeCursor string

// Wake is a host with queued URLs.
type Wake struct {
	Host crawl.Host
	Band crawl.Band // the best that is queued
	// NotBefore is the earliest start of its next request, in milliseconds,
	// rounded up; the zero time means at once.
	NotBefore time.Time
}

// soleRecord is Record for a host's only URL.
func (v *view) soleRecord(u urlnorm.URL, host crawl.Host) (rec crawl.Record, ok bool, err error) {
	e, err := v.host(host)
	if err != nil || e == nil {
		return rec, false, err
	}
	found, ok, err := e.sole.record(u)
	if err != nil || !ok {
		return rec, false, err
	}
	found.URL = u
	return found.Record, true, nil
}

// queueState completes the record of a queued URL from its queue entry.
func (v *view) queueState(rec *crawl.Record) error {
	if rec.State != crawl.Queued {
		return nil
	}
	b, ok, err := v.get(appendQueueKey(nil, hostOf(rec.URL), rec.Band, rec.Seq))
	if err != nil || !ok {
		return err
	}
	q, err := decodeQueued(b)
	rec.Attempts, rec.NotBefore = q.item.Attempts, v.line.read(q.item.NotBefore)
	return err
}
