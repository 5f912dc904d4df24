package frontier

import (
	"fmt"

	"crawlnode/crawl"
	"crawlnode/frontier/layout"
	"crawlnode/frontier/reader"
	"crawlnode/web/urlnorm"
)

// Load reads up to n queued URLs of a host. A chain of calls that each begin
// with the Next of the one before returns every entry once; what was added
// meanwhile, in whichever band, comes with the next call. A host that is not
// known has an empty queue. It fails with ErrNotHolder when nothing of the
// partition is here.
func (f *Frontier) Load(
	p crawl.Partition,
	host crawl.Host,
	after reader.Cursor,
	n int,
) (reader.HostQueue, error) {
	q := reader.HostQueue{Partition: p, Host: host, Next: after}
	v, err := f.w.Read(p)
	if err != nil {
		return q, err
	}
	defer v.Close()
	e, err := v.Host(host)
	if err != nil {
		return q, fmt.Errorf("frontier: loading host %s: %w", host, err)
	}
	if e == nil {
		return q, nil
	}
	q.State, q.Queued = v.Line.ReadHost(e.HostState), e.Total()
	if q.Robots, err = v.Robots(host, e); err != nil {
		return q, err
	}
	return q, v.Items(&q, e, n)
}

// Waiting lists hosts with queued URLs: by band, in the band by time. Each
// such host is listed once. The entry of a host dates from when the host was
// last parked, or got its first or a better URL; Load has the present state. The
// cursor returned continues behind the last host; with less than n hosts, the
// end is reached.
func (f *Frontier) Waiting(
	p crawl.Partition,
	from reader.WakeCursor,
	n int,
) ([]reader.Wake, reader.WakeCursor, error) {
	v, err := f.w.Read(p)
	if err != nil {
		return nil, from, err
	}
	defer v.Close()
	it := v.Iterate([]byte{layout.TableWake})
	defer it.Close()
	var out []reader.Wake
	for it.Seek(v.Abs(append([]byte{layout.TableWake}, from...))); it.Valid() &&
		len(out) < n; it.Next() {
		rel := it.Key()[layout.PrefixLen:]
		w, host, ok := layout.ParseWakeKey(rel)
		if !ok {
			return nil, from, fmt.Errorf("%w: wake index of partition %d", layout.ErrCorrupt, p)
		}
		out = append(out, reader.Wake{Host: host, Band: w.Band, NotBefore: v.Line.Read(w.Time())})
		// The zero byte makes the next key in order: no host holds one.
		from = reader.WakeCursor(rel[1:]) + "\x00"
	}
	return out, from, nil
}

// Record returns what is known of a URL; ok is false when it was never seen in
// this partition.
func (f *Frontier) Record(p crawl.Partition, u urlnorm.URL) (rec crawl.Record, ok bool, err error) {
	v, err := f.w.Read(p)
	if err != nil {
		return rec, false, err
	}
	defer v.Close()
	return v.Record(u)
}

// Refer replaces what names a record's referrer in the store by that page's URL; "" when its record
// is not there.
func (f *Frontier) Refer(p crawl.Partition, rec *crawl.Record) error {
	v, err := f.w.Read(p)
	if err != nil {
		return err
	}
	defer v.Close()
	return v.Refer(rec)
}

// Host returns the state of a host and the number of its queued URLs by band;
// ok is false when it is not known in this partition.
func (f *Frontier) Host(
	p crawl.Partition,
	host crawl.Host,
) (s crawl.HostState, queued [crawl.Bands]int64, ok bool, err error) {
	v, err := f.w.Read(p)
	if err != nil {
		return s, queued, false, err
	}
	defer v.Close()
	e, err := v.Host(host)
	if err != nil || e == nil {
		return s, queued, false, err
	}
	for i := range e.Bands {
		queued[i] = e.Bands[i].Queued
	}
	return v.Line.ReadHost(e.HostState), queued, true, nil
}
