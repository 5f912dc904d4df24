package frontier

import (
	"fmt"

	"crawlnode/crawl"
	"crawlnode/web/urlnorm"
)

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
