package reader

import (
	"time"

	"crawlnode/crawl"
	"crawlnode/frontier/layout"
	"crawlnode/web/urlnorm"
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

// Items fills in Items, Next and More.
func (v *Partition) Items(q *HostQueue, e *layout.HostEntry, n int) error {
	if e.Inline != nil {
		return v.inlineItem(q, e.Inline, n)
	}
	w := v.walk(q.Host, e)
	defer w.it.Close()
	for b := range crawl.Band(crawl.Bands) {
		bq := &e.Bands[b]
		q.Next[b] = max(q.Next[b], bq.Head)
		if bq.Queued == 0 || q.Next[b] >= bq.Next {
			continue
		}
		if len(q.Items) >= n {
			q.More = true // maybe only entries that were returned before are left
			return nil
		}
		w.begin(b, q.Next[b])
		for {
			seq, value, err := w.next()
			if err != nil {
				return err
			}
			if value == nil {
				break
			}
			if len(q.Items) >= n {
				q.More = true
				return nil
			}
			item, err := layout.DecodeItem(q.Host, b, seq, value)
			if err != nil {
				return err
			}
			item.NotBefore = v.Line.Read(item.NotBefore)
			q.Items = append(q.Items, item)
			q.Next[b] = seq + 1
		}
		q.Next[b] = max(q.Next[b], bq.Next)
	}
	return nil
}

// inlineItem is items for a host's only URL.
func (v *Partition) inlineItem(q *HostQueue, s *layout.InlineURL, n int) error {
	if q.Next[s.Band] > s.Seq {
		return nil
	}
	if n <= 0 {
		q.More = true
		return nil
	}
	item, err := s.Item(q.Host)
	if err != nil {
		return err
	}
	q.Items = append(q.Items, item) // it has no time: it was never tried
	q.Next[s.Band] = s.Seq + 1
	return nil
}

// Robots reads the robots entries of a host.
func (v *Partition) Robots(host crawl.Host, e *layout.HostEntry) ([]*crawl.Robots, error) {
	var out []*crawl.Robots
	for _, tag := range e.Origins {
		b, ok, err := v.Get(layout.AppendRobotsKey(nil, host, tag))
		if err != nil {
			return nil, err
		}
		if !ok {
			continue
		}
		r, err := layout.DecodeRobots(host, tag, b)
		if err != nil {
			return nil, err
		}
		out = append(out, v.Line.ReadRobots(r))
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

// InlineRecord is Record for a host's only URL.
func (v *Partition) InlineRecord(
	u urlnorm.URL,
	host crawl.Host,
) (rec crawl.Record, ok bool, err error) {
	e, err := v.Host(host)
	if err != nil || e == nil {
		return rec, false, err
	}
	found, ok, err := e.Inline.Record(u)
	if err != nil || !ok {
		return rec, false, err
	}
	found.URL = u
	return found.Record, true, nil
}

// QueueState completes the record of a queued URL from its queue entry.
func (v *Partition) QueueState(rec *crawl.Record) error {
	if rec.State != crawl.Queued {
		return nil
	}
	return v.QueueTries(layout.HostOf(rec.URL), rec)
}

// QueueTries is QueueState for the record of a queued URL whose host is known.
func (v *Partition) QueueTries(host crawl.Host, rec *crawl.Record) error {
	b, ok, err := v.Slot(host, rec.Band, rec.Seq)
	if err != nil || !ok {
		return err
	}
	q, err := layout.DecodeQueued(b)
	rec.Attempts, rec.NotBefore = q.Item.Attempts, v.Line.Read(q.Item.NotBefore)
	if rec.Referrer == "" {
		rec.Referrer = string(q.Referrer)
	}
	return err
}
