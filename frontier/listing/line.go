package listing

import (
	"time"

	"crawlnode/crawl"
	"crawlnode/frontier/layout"
	"crawlnode/frontier/reader"
	"crawlnode/frontier/result"
)

// line reads a row; ok is false when its URL is not wanted.
func (f *Filter) line(v *reader.Partition, r *row) (l crawl.URLLine, ok bool, err error) {
	if r.value == nil {
		return f.inlineLine(v, r)
	}
	if state, ok := layout.StateOf(r.value); ok && f.state != 0 && state != f.state {
		return l, false, nil
	}
	rec, err := layout.DecodeRecord(r.value)
	if err != nil || !f.wantsRecord(&rec.Record) {
		return l, false, err
	}
	url := layout.JoinText(r.host, rec.HTTPS, rec.Rest)
	if ok, err = f.wantsURL(url); !ok {
		return l, false, err
	}
	if rec.State == crawl.Queued && (rec.Reason != "" || f.referrer) { // else it was not tried
		if err := v.QueueTries(r.host, &rec.Record); err != nil {
			return l, false, err
		}
	}
	if err := f.refer(v, r.host, &rec); err != nil {
		return l, false, err
	}
	rec.VisitedAt, rec.CheckAt = v.Line.Read(rec.VisitedAt), v.Line.Read(rec.CheckAt)
	l = lineOf(&rec.Record, time.Now())
	l.URL, l.Host, l.Partition = url, r.host, v.Generation.Partition
	return l, true, nil
}

// inlineLine is line for a host's only URL, which was never tried.
func (f *Filter) inlineLine(v *reader.Partition, r *row) (l crawl.URLLine, ok bool, err error) {
	q, err := layout.DecodeQueued(r.entry.Entry)
	if err != nil {
		return l, false, err
	}
	url := layout.JoinText(r.host, q.HTTPS, q.Rest)
	if ok, err = f.wantsURL(url); !ok {
		return l, false, err
	}
	rec := layout.StoredRecord{HTTPS: q.HTTPS, Rest: q.Rest,
		Record: crawl.Record{Item: q.Item, State: crawl.Queued, Referrer: string(q.Referrer)}}
	if err := f.refer(v, r.host, &rec); err != nil {
		return l, false, err
	}
	l = lineOf(&rec.Record, time.Now())
	l.URL, l.Host, l.Partition = url, r.host, v.Generation.Partition
	return l, true, nil
}

// refer replaces what names a record's referrer by that page's URL, or by nothing when it is not
// wanted: it costs a look-up.
func (f *Filter) refer(v *reader.Partition, host crawl.Host, rec *layout.StoredRecord) (err error) {
	if !f.referrer {
		rec.Referrer = ""
	}
	if rec.Referrer == "" {
		return nil
	}
	if rec.URL, err = layout.JoinURL(host, rec.HTTPS, rec.Rest); err != nil {
		return err
	}
	return v.Refer(&rec.Record)
}

// lineOf is the line of a record, without what names its URL.
func lineOf(rec *crawl.Record, now time.Time) crawl.URLLine {
	l := crawl.URLLine{State: stateName(rec.State), Depth: rec.Depth, Attempts: rec.Attempts,
		FetchedAt: timeOrNil(rec.FetchedAt), NotBefore: timeOrNil(rec.NotBefore),
		ChangedAt: timeOrNil(rec.ChangedAt), Preferences: rec.Said(now)}
	if rec.Referrer != "" {
		l.Referrer = &rec.Referrer
	}
	if rec.Status != 0 {
		l.Status = &rec.Status
	}
	if reason, product := result.ReasonOf(rec); reason != "" {
		l.Reason = &reason
		if product != "" {
			l.Wall = &product
		}
	}
	if cause := result.CauseOf(rec); cause != "" {
		l.Cause = &cause
	}
	return l
}

func timeOrNil(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}
