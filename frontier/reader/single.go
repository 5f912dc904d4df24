package reader

import (
	"fmt"

	"crawlnode/crawl"
	"crawlnode/frontier/layout"
	"crawlnode/web/urlnorm"
)

// HostInfo is what the store knows of one host.
type HostInfo struct {
	State  crawl.HostState // as of the last outcome that was written
	Robots []*crawl.Robots // at most 8, the oldest first
	Queued [crawl.Bands]int64
}

// HostInfo reads what is known of a host; ok is false when no URL of it was ever admitted.
func (v *Partition) HostInfo(host crawl.Host) (info HostInfo, ok bool, err error) {
	e, err := v.Host(host)
	if err == nil && e != nil {
		info.State = v.Line.ReadHost(e.HostState)
		for b := range e.Bands {
			info.Queued[b] = e.Bands[b].Queued
		}
		info.Robots, err = v.Robots(host, e)
	}
	if err != nil {
		return info, false, fmt.Errorf("frontier: host %s: %w", host, err)
	}
	return info, e != nil && e.Admitted(), nil
}

// Record reads the record of a URL, with what its queue entry says; ok is false when there is none.
func (v *Partition) Record(u urlnorm.URL) (rec crawl.Record, ok bool, err error) {
	host := layout.HostOf(u)
	fp := layout.FingerprintOf(u.String())
	for n := uint64(0); n < layout.MaxProbes; n++ {
		b, ok, err := v.Get(layout.AppendRecordKey(nil, host, fp.Probe(n)))
		if err == nil && !ok && n == 0 {
			return v.InlineRecord(u, host)
		}
		if err != nil || !ok {
			return rec, false, err
		}
		s, err := layout.DecodeRecord(b)
		if err != nil {
			return rec, false, fmt.Errorf("%w of %s", err, u)
		}
		if !s.Is(u) {
			continue
		}
		s.URL = u
		s.VisitedAt, s.CheckAt = v.Line.Read(s.VisitedAt), v.Line.Read(s.CheckAt)
		err = v.QueueState(&s.Record)
		return s.Record, true, err
	}
	return rec, false, nil
}
