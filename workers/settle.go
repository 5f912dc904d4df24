package workers

import (
	"context"
	"encoding/base32"
	"encoding/hex"
	"errors"
	"math"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"

	"crawlnode/crawl"
	"crawlnode/pipeline"
	"crawlnode/web/urlnorm"
	"crawlnode/workers/leases"
)

// errNotCopied says that a replica is late.
var errNotCopied = errors.New(
	"the results are stored here, and not yet on all replicas: send them again")

// settled is a result that counts, and its visit.
type settled struct {
	visits  []crawl.Visit
	results []*crawl.WorkerResult // of the visits
}

// Settle takes the results of a lease's URLs, which are canonical and of partitions that this node
// holds. It returns when what counts is in the frontier, here and at the replicas. With an error
// some may count; sending all of them again is harmless.
//
// A URL that is not open here may have been leased by the node that had its partition before. Then
// its host's state says so.
func (d *Desk) Settle(
	ctx context.Context,
	id string,
	results []crawl.WorkerResult,
) (report crawl.ResultsReport, err error) {
	return d.settle(ctx, id, results, false)
}

// settle is Settle. With late, results count as well whose lease has ended, or is not said, while
// nobody else has the URL.
func (d *Desk) settle(
	ctx context.Context,
	id string,
	results []crawl.WorkerResult,
	late bool,
) (report crawl.ResultsReport, err error) {
	if len(id) > maxLeaseID {
		return crawl.ResultsReport{Ended: len(results)}, nil
	}
	ctx = context.WithoutCancel(ctx) // a page that was fetched is kept, whoever waits for the answer
	w := newWriting()
	own, strange, err := d.take(id, results, w, &report, late)
	if err != nil {
		return report, err
	}
	defer d.ends.Done() // take has added it
	err = d.write(ctx, own, &report)
	if len(strange) > 0 {
		adopted, unsure := d.adopt(ctx, id, strange, w, &report, late)
		err = errors.Join(err, unsure, d.write(ctx, adopted, &report))
	}
	d.stored(w)
	return report, errors.Join(err, d.awaitRepeats(ctx, w), d.failed())
}

// take ends the leases of those URLs that are open here, and returns the results that the Book does
// not know. It counts this call among the ends.
func (d *Desk) take(
	id string,
	results []crawl.WorkerResult,
	w *writing,
	report *crawl.ResultsReport,
	late bool,
) (own settled, strange []*crawl.WorkerResult, err error) {
	tags := make([]crawl.LeaseTag, len(results))
	for i := range results {
		tags[i] = crawl.TagOf(id, results[i].URL)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed || d.pages == nil {
		return own, nil, errClosed
	}
	d.ends.Add(1)
	now := time.Now()
	for i := range results {
		visit, answer := d.book.Settle(now, id, results[i].URL, uint64(tags[i]))
		if late && id == "" {
			if v, open := d.byURL[results[i].URL]; open { // who has it does not say so
				tags[i] = d.open[v].lease
				d.book.Withdraw(now, v)
				d.book.Settled(uint64(tags[i]))
				visit, answer = v, leases.Yours
			}
		}
		switch answer {
		case leases.Yours:
			own.add(d.remove(visit).Visit, &results[i])
			d.ends.Done() // the call stands for it
			d.settles(w, tags[i])
			report.Processed++
		case leases.Repeated:
			d.repeats(w, tags[i], results[i].URL)
			report.Processed++
		default:
			strange = append(strange, &results[i])
		}
	}
	return own, strange, nil
}

func (s *settled) add(v crawl.Visit, r *crawl.WorkerResult) {
	s.visits, s.results = append(s.visits, v), append(s.results, r)
}

// adopt opens visits for results of URLs that were leased by somebody else. What is left has ended,
// unless there is an error.
func (d *Desk) adopt(
	ctx context.Context,
	id string,
	results []*crawl.WorkerResult,
	w *writing,
	report *crawl.ResultsReport,
	late bool,
) (adopted settled, err error) {
	d.adopting.Lock()
	defer d.adopting.Unlock()
	var claims []crawl.LeaseClaim
	var of []*crawl.WorkerResult
	twice, claimed := []crawl.LeaseTag(nil), map[crawl.LeaseTag]bool{}
	d.mu.Lock()
	for _, r := range results {
		u, err := urlnorm.ParseStored(r.URL)
		tag := crawl.TagOf(id, r.URL)
		switch {
		case err != nil:
			report.Ended++
		case d.book.WasSettled(uint64(tag)): // by another call, a moment ago
			d.repeats(w, tag, r.URL)
			report.Processed++
		case claimed[tag]:
			twice = append(twice, tag)
		default:
			claimed[tag] = true
			claims = append(claims,
				crawl.LeaseClaim{Partition: d.o.Node.Partition(crawl.Host(u.Host())), URL: u, Lease: tag})
			of = append(of, r)
		}
	}
	d.mu.Unlock()
	visits, err := d.o.Source.Adopt(ctx, claims)
	over := make([]bool, len(claims)) // their results are there
	if late {
		err = errors.Join(err, d.openLate(ctx, claims, visits, over))
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for i, v := range visits {
		switch {
		case over[i]:
			report.Processed++
		case v.ID != 0 || v.Late:
			d.book.Settled(uint64(claims[i].Lease))
			d.settles(w, claims[i].Lease)
			adopted.add(v, of[i])
			report.Processed++
		case err == nil:
			report.Ended++
		}
	}
	for _, tag := range twice {
		switch {
		case d.book.WasSettled(uint64(tag)):
			report.Processed++
		case err == nil:
			report.Ended++
		}
	}
	return adopted, err
}

// write ends the visits with their results.
func (d *Desk) write(ctx context.Context, s settled, report *crawl.ResultsReport) error {
	if len(s.visits) == 0 {
		return nil
	}
	copied := d.copied(s.visits)
	var writing sync.WaitGroup
	for i, v := range s.visits {
		end := d.pages.Answered(v, reportOf(s.results[i], d.o.Lease))
		if end.Retried() {
			report.RetriesScheduled++
		}
		d.settling <- struct{}{}
		writing.Go(func() {
			defer func() { <-d.settling }()
			d.note(d.pages.Settle(ctx, end))
		})
	}
	writing.Wait()
	return awaitCopied(ctx, copied, s.visits)
}

// awaitCopied waits until what was stored for visits is on the disks of their partitions' in-sync
// sets, as copied says.
func awaitCopied(
	ctx context.Context,
	copied func(context.Context) func(crawl.Partition) bool,
	visits []crawl.Visit,
) error {
	ctx, cancel := context.WithTimeout(ctx, copyPatience)
	defer cancel()
	is := copied(ctx)
	for i := range visits {
		if !is(visits[i].Partition) {
			return errNotCopied
		}
	}
	return nil
}

const (
	// maxPageBytes and maxPageLinks bound what one page adds to counters that nothing may make
	// overflow.
	maxPageBytes = 1 << 36
	maxPageLinks = 1 << 24
)

// reportOf translates a result. A worker says what it likes, so times are bounded by what is
// possible.
func reportOf(r *crawl.WorkerResult, life time.Duration) pipeline.Report {
	out := pipeline.Report{
		Status: r.HTTPStatus, ContentType: cut(r.ContentType, 256),
		Bytes: min(max(r.ContentLength, 0), maxPageBytes), Took: seconds(r.FetchTimeMS/1000, life),
		RetryAfter: seconds(r.RetryAfter, math.MaxInt64), Digest: digestOf(r.ContentHash),
		Simhash: simhashOf(string(r.Simhash)),
		Links:   r.Links, LinksFound: min(max(r.LinksFound, 0), maxPageLinks), Error: cut(r.Error, 500),
	}
	if out.Postponed = r.Status == crawl.WorkerPostponed; out.Postponed {
		out.Status = 0
	} else if out.Status < 100 || out.Status > 999 {
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

// digestOf reads a SHA-1, in hexadecimal or base32, with or without "sha1:" before it. Other hashes
// are not known: zero.
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

// cut shortens a text of a worker to at most n bytes of valid UTF-8 without control characters.
func cut(s string, n int) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s[:min(len(s), n)], ""))
}

// openLate opens the URLs of those claims that no visit was opened for and that nobody else has.
// over says of which there is a result.
func (d *Desk) openLate(
	ctx context.Context,
	claims []crawl.LeaseClaim,
	visits []crawl.Visit,
	over []bool,
) (err error) {
	for i := range claims {
		if visits[i].ID != 0 {
			continue
		}
		v, state, failed := d.o.Source.Late(ctx, claims[i].Partition, claims[i].URL)
		switch {
		case failed != nil:
			err = failed
		case state == crawl.LateOpen:
			visits[i] = v
		case state == crawl.LateOver:
			over[i] = true
		}
	}
	return err
}
