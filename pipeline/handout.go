package pipeline

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"crawlnode/crawl"
	"crawlnode/retry"
)

// Handout takes visits of pages that programs outside of the cluster fetch. The pipeline fetches
// robots.txt and sitemap files itself all the same: they say how the host wants to be crawled.
type Handout interface {
	// Take takes a visit whose URL may be requested now. The host's turn goes on until Answered.
	// False: nobody wants it any more. It must not block for long.
	Take(v crawl.Visit) bool
}

// handOut gives a visit to a program outside.
func (w *worker) handOut(keep context.Context, v crawl.Visit, to Handout) error {
	if to != nil && w.p.o.Source.MayRequest(v) && to.Take(v) {
		return nil
	}
	return w.finish(keep, v, crawl.Response{Kind: crawl.Aborted},
		crawl.Outcome{Kind: crawl.Aborted, Reason: "no worker takes it any more", FetchedAt: time.Now()})
}

// Report is what a program outside says of a page that it was to fetch. Nothing in it is trusted.
type Report struct {
	Status      int // HTTP status; 0: there was no answer, and Error says why
	ContentType string
	Bytes       int64
	Took        time.Duration
	RetryAfter  time.Duration
	Digest      crawl.Digest // SHA-1 of the payload; zero: not known
	Simhash     uint64
	// as they stand on the page, or absolute. Of a redirect the first is its target
	Links      []string
	LinksFound int // before its own rules; at least as many as Links
	// Error is a sentence. It may begin with the name of a category and a colon, as in "dns: no
	// such host".
	Error string
	// Postponed: there is no answer, and the URL is wanted again at a time that is kept elsewhere.
	// Until then it is done.
	Postponed bool
}

// MaxReportedLinks bounds the links of one Report; more are not taken.
const MaxReportedLinks = 10_000

// Settlement is a visit that was handed out, with what its Report means.
type Settlement struct {
	visit    crawl.Visit
	report   Report
	outcome  crawl.Outcome
	response crawl.Response
}

// Retried reports whether the URL stays queued for another try, unless it has had all of them.
func (s *Settlement) Retried() bool { return s.outcome.Kind != crawl.Fetched }

// Answered judges the report of a visit and ends the host's turn: its gap begins. Settle must
// follow.
func (p *Pipeline) Answered(v crawl.Visit, r Report) *Settlement {
	s := &Settlement{visit: v, report: r, outcome: crawl.Outcome{
		FetchedAt: time.Now(), Took: max(r.Took, 0), Bytes: max(r.Bytes, 0), Status: r.Status,
		ContentType: r.ContentType, Digest: r.Digest, Simhash: r.Simhash,
	}}
	o, wait := &s.outcome, time.Duration(0)
	switch {
	case r.Postponed:
		o.Kind, o.Category = crawl.Fetched, crawl.ErrOther
		o.Reason = "a client wants it again later"
		if r.Error != "" {
			o.Reason += ": " + r.Error
		}
	case retry.Limited(r.Status):
		o.Kind = crawl.RateLimited
		wait = min(max(r.RetryAfter, 0), maxRetryAfter)
		o.Reason = limitReason(r.Status, wait)
	case triedAgain(&v, r.Status, p.o.Rules()):
		o.Kind, o.Reason = crawl.URLFailed, retryReason(r.Status)
	case r.Status != 0:
		o.Kind = crawl.Fetched
	default:
		o.Kind, o.Category = reportedFailure(r.Error)
		o.Reason = "a worker could not fetch it"
		if r.Error != "" {
			o.Reason += ": " + r.Error
		}
	}
	s.response = crawl.Response{
		Kind:       o.Kind,
		Requested:  true,
		Took:       o.Took,
		Bytes:      o.Bytes,
		RetryAfter: wait,
	}
	p.o.Source.Release(v, s.response)
	return s
}

// reportedFailure classifies a failure by the word that it begins with.
func reportedFailure(text string) (crawl.Kind, crawl.ErrCategory) {
	word, _, ok := strings.Cut(text, ":")
	if !ok {
		return crawl.URLFailed, crawl.ErrOther
	}
	for i, name := range crawl.ErrCategoryNames {
		if name != word {
			continue
		}
		switch c := crawl.ErrCategory(i); c {
		case crawl.ErrDNS, crawl.ErrConnect, crawl.ErrTLS, crawl.ErrBlockedAddress:
			return crawl.HostFailed, c
		default:
			return crawl.URLFailed, c
		}
	}
	return crawl.URLFailed, crawl.ErrOther
}

// Settle does the rest of a visit whose Report was taken: its links are judged as those of a page
// that was fetched here, what is derived from it is written, and it is completed. An error is a
// storage error.
func (p *Pipeline) Settle(ctx context.Context, s *Settlement) error {
	w := &worker{p: p}
	v, o := s.visit, &s.outcome
	if o.Kind != crawl.Fetched {
		return w.completeVisit(ctx, v, *o)
	}
	rules := p.o.Rules().of(v.Item.URL)
	if err := w.prepare(ctx, &v, rules); err != nil {
		return w.broken(ctx, v, err, o)
	}
	w.takeLinks(v, &s.report, rules, o)
	c := crawl.Capture{
		URL:         v.Item.URL,
		FetchedAt:   o.FetchedAt,
		Addr:        v.Addr,
		Status:      o.Status,
		ContentType: o.ContentType,
		Digest:      o.Digest,
		Simhash:     o.Simhash,
	}
	if err := w.derive(ctx, &v, &c, o, nil, nil); err != nil {
		return w.broken(ctx, v, fmt.Errorf("write what is derived from %s: %w", v.Item.URL, err), o)
	}
	return w.completeVisit(ctx, v, *o)
}

// takeLinks judges the links of a report.
func (w *worker) takeLinks(v crawl.Visit, r *Report, rules *Rules, o *crawl.Outcome) {
	f := &linkCollector{v: v, rules: rules, seen: map[string]struct{}{
		v.Item.URL.String(): {},
	}, o: o, log: w.p.o.Log, deriver: w.p.o.Deriver, complete: w.complete}
	defer func() { w.skipped = f.skipped }()
	links := r.Links
	switch {
	case redirects(r.Status):
		if len(links) > 0 {
			f.location(links[0])
		}
		return
	case r.Status < http.StatusOK || r.Status >= http.StatusMultipleChoices, f.isForeign():
		return
	}
	o.LinksFound = max(r.LinksFound, len(links))
	if n := len(links) - MaxReportedLinks; n > 0 {
		o.Skipped[crawl.SkipTrap] += int64(n)
		o.Reason = fmt.Sprintf("%d of the %d links that a worker reported were left out: "+
			"they are more than the limit for one page", n, len(links))
		links = links[:MaxReportedLinks]
	}
	for _, ref := range links {
		u, err := v.Item.URL.Resolve(ref)
		if err != nil {
			o.Skipped[invalidBy(err)]++
			continue
		}
		f.add(crawl.Target{URL: u, Depth: v.Item.Depth + 1, Via: crawl.ViaLink}, 0)
	}
}

// Held says that somebody may still request a host: for how long at most, and by which lease.
type Held struct {
	For   time.Duration
	Lease crawl.LeaseTag
}

// Return ends a visit that was handed out and not answered. While it is held nobody else may
// request the host; asked says that a request may have been made. failed counts as an attempt, for
// reason.
func (p *Pipeline) Return(
	ctx context.Context,
	v crawl.Visit,
	asked bool,
	held Held,
	failed bool,
	reason string,
) error {
	w := &worker{p: p}
	r := crawl.Response{
		Kind:       crawl.Aborted,
		Requested:  asked,
		RetryAfter: max(held.For, 0),
		Lease:      held.Lease,
	}
	o := crawl.Outcome{Kind: crawl.Aborted, Reason: reason, FetchedAt: time.Now()}
	if failed {
		r.Kind, o.Kind, o.Category = crawl.URLFailed, crawl.URLFailed, crawl.ErrTimeout
	}
	return w.finish(ctx, v, r, o)
}
