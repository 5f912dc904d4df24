package workers

import (
	"context"
	"encoding/base32"
	"encoding/hex"
	"math"
	"strconv"
	"strings"
	"sync"
	"time"

	"crawlnode/crawl"
	"crawlnode/node/leases"
	"crawlnode/pipeline"
)

// Settle takes the results of a lease's URLs of this node, whose URLs are canonical. It returns when what counts is in the
// frontier.
func (d *Desk) Settle(ctx context.Context, id string, results []crawl.WorkerResult) (crawl.ResultsReport, error) {
	var report crawl.ResultsReport
	ctx = context.WithoutCancel(ctx) // a page that was fetched is kept, whoever waits for the answer
	var writing sync.WaitGroup
	defer writing.Wait()
	for i := range results {
		r := &results[i]
		d.mu.Lock()
		now := time.Now()
		visitID, answer := d.book.Settle(now, id, r.URL)
		var v *visit
		if answer == leases.Yours {
			v = d.remove(visitID)
		}
		d.mu.Unlock()
		switch answer {
		case leases.Yours:
		case leases.Repeated:
			report.Processed++
			continue
		default:
			report.Ended++
			continue
		}
		report.Processed++
		s := d.pages.Answered(v.Visit, reportOf(r, d.o.Lease))
		if s.Retried() {
			report.RetriesScheduled++
		}
		d.settling <- struct{}{}
		writing.Go(func() {
			defer d.ends.Done()
			defer func() { <-d.settling }()
			d.note(d.pages.Settle(ctx, s))
		})
	}
	writing.Wait()
	return report, d.failed()
}

// reportOf translates a result. A worker says what it likes, so times are bounded by what is possible.
func reportOf(r *crawl.WorkerResult, life time.Duration) pipeline.Report {
	out := pipeline.Report{
		Status: r.HTTPStatus, ContentType: cut(r.ContentType, 256), Bytes: r.ContentLength, Took: seconds(r.FetchTimeMS/1000, life),
		RetryAfter: seconds(r.RetryAfter, math.MaxInt64), Digest: digestOf(r.ContentHash), Simhash: simhashOf(string(r.Simhash)),
		Links: r.Links, LinksFound: min(r.LinksFound, math.MaxInt32), Error: cut(r.Error, 500),
	}
	if out.Status < 100 || out.Status > 599 {
		out.Status = 0
		if r.Status == crawl.WorkerSuccess { // an answer whose status it did not say
			out.Status = 200
		}
	}
	return out
}

// seconds is a duration of 0 to most.
func seconds(s float64, most time.Duration) time.Duration {
	switch {
	case !(s > 0): // NaN too
		return 0
	case s >= most.Seconds():
		return most
	}
	return time.Duration(s * float64(time.Second))
}

// digestOf reads a SHA-1, in hexadecimal or base32, with or without "sha1:" before it. Other hashes are not known: zero.
func digestOf(text string) (d crawl.Digest) {
	text = strings.TrimPrefix(text, "sha1:")
	var raw []byte
	var err error
	switch len(text) {
	case hex.EncodedLen(len(d)):
		raw, err = hex.DecodeString(text)
	case base32.StdEncoding.EncodedLen(len(d)):
		raw, err = base32.StdEncoding.DecodeString(strings.ToUpper(text))
	}
	if err == nil && len(raw) == len(d) {
		copy(d[:], raw)
	}
	return d
}

// simhashOf reads 16 hexadecimal digits; 0: it is none.
func simhashOf(text string) uint64 {
	n, err := strconv.ParseUint(strings.TrimPrefix(text, "0x"), 16, 64)
	if err != nil {
		return 0
	}
	return n
}

// cut shortens a text of a worker to at most n bytes of valid UTF-8.
func cut(s string, n int) string { return strings.ToValidUTF8(s[:min(len(s), n)], "") }
