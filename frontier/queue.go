package frontier

import (
	"bytes"
	"fmt"
	"time"

	"crawlnode/crawl"
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

// Load reads up to n queued URLs of a host. A chain of calls that each begin
// with the Next of the one before returns every entry once; what was added
// meanwhile, in whichever band, comes with the next call. A host that is not
// known has an empty queue. It fails with ErrNotHolder when nothing of the
// partition is here.
func (f *Frontier) Load(p crawl.Partition, host crawl.Host, after Cursor, n int) (HostQueue, error) {
	q := HostQueue{Partition: p, Host: host, Next: after}
	v, err := f.read(p)
	if err != nil {
		return q, err
	}
	defer v.close()
	e, err := v.host(host)
	if err != nil {
		return q, fmt.Errorf("frontier: loading host %s: %w", host, err)
	}
	if e == nil {
		return q, nil
	}
	q.State, q.Queued = v.line.readHost(e.HostState), e.total()
	if q.Robots, err = v.robots(host, e); err != nil {
		return q, err
	}
	return q, v.items(&q, e, n)
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

// Waiting lists hosts with queued URLs: by band, in the band by time. Each
// such host is listed once. What it says of a host was true when the host was
// last parked, or got its first or a better URL; Load tells the truth. The
// cursor returned continues behind the last host; with less than n hosts, the
// end is reached.
func (f *Frontier) Waiting(p crawl.Partition, from WakeCursor, n int) ([]Wake, WakeCursor, error) {
	v, err := f.read(p)
	if err != nil {
		return nil, from, err
	}
	defer v.close()
	it := v.iterate([]byte{tableWake})
	defer it.Close()
	var out []Wake
	for it.Seek(v.abs(append([]byte{tableWake}, from...))); it.Valid() && len(out) < n; it.Next() {
		rel := it.Key()[prefixLen:]
		w, host, ok := parseWakeKey(rel)
		if !ok {
			return nil, from, fmt.Errorf("%w: wake index of partition %d", ErrCorrupt, p)
		}
		out = append(out, Wake{Host: host, Band: w.band, NotBefore: v.line.read(w.time())})
		// The zero byte makes the next key in order: no host holds one.
		from = WakeCursor(rel[1:]) + "\x00"
	}
	return out, from, nil
}

// Record returns what is known of a URL; ok is false when it was never seen in
// this partition.
func (f *Frontier) Record(p crawl.Partition, u urlnorm.URL) (rec crawl.Record, ok bool, err error) {
	v, err := f.read(p)
	if err != nil {
		return rec, false, err
	}
	defer v.close()
	host := hostOf(u)
	fp := fingerprintOf(u.String())
	for n := uint64(0); n < maxProbes; n++ {
		b, ok, err := v.get(appendRecordKey(nil, host, fp.probe(n)))
		if err == nil && !ok && n == 0 {
			return v.soleRecord(u, host)
		}
		if err != nil || !ok {
			return rec, false, err
		}
		s, err := decodeRecord(b)
		if err != nil {
			return rec, false, fmt.Errorf("%w of %s", err, u)
		}
		if !s.is(u) {
			continue
		}
		s.URL = u
		err = v.queueState(&s.Record)
		return s.Record, true, err
	}
	return rec, false, nil
}

// soleRecord is Record for a host's only URL.
func (v *view) soleRecord(u urlnorm.URL, host crawl.Host) (rec crawl.Record, ok bool, err error) {
	e, err := v.host(host)
	if err != nil || e == nil {
		return rec, false, err
	}
	found, err := e.sole.lookup(u)
	if err != nil || !found.ok {
		return rec, false, err
	}
	found.rec.URL = u
	return found.rec.Record, true, nil
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

// Host returns the state of a host and the number of its queued URLs by band;
// ok is false when it is not known in this partition.
func (f *Frontier) Host(p crawl.Partition, host crawl.Host) (s crawl.HostState, queued [crawl.Bands]int64, ok bool, err error) {
	v, err := f.read(p)
	if err != nil {
		return s, queued, false, err
	}
	defer v.close()
	e, err := v.host(host)
	if err != nil || e == nil {
		return s, queued, false, err
	}
	for i := range e.bands {
		queued[i] = e.bands[i].queued
	}
	return v.line.readHost(e.HostState), queued, true, nil
}
