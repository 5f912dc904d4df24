package guests

import (
	"context"
	"errors"
	"strings"
	"time"

	"crawlnode/crawl"
	"crawlnode/frontier"
	"crawlnode/frontier/guests"
	"crawlnode/retry"
	"crawlnode/web/urlnorm"
)

// maxRetryAfter bounds what a client says that a host asks for.
const maxRetryAfter = 7 * 24 * time.Hour

// Put stores guests and results of partitions that this node holds, and says what became of each.
// It returns when what counts is on the disks of the in-sync sets.
func (d *Desk) Put(
	ctx context.Context,
	items []crawl.GuestPut,
) (answers []crawl.GuestAnswer, why []string) {
	ctx = context.WithoutCancel(ctx)
	answers, why = make([]crawl.GuestAnswer, len(items)), make([]string, len(items))
	puts, at := make([]guests.Put, 0, len(items)), make([]int, 0, len(items))
	ps := make([]crawl.Partition, 0, len(items))
	var ended []*visit
	var responses []crawl.Response
	now := time.Now()
	for i := range items {
		it := &items[i]
		u, err := urlnorm.ParseStored(it.URL)
		switch {
		case err != nil || !crawl.ValidCrawl(it.Crawl):
			answers[i], why[i] = crawl.GuestRefused, "it is no URL, or its crawl's id is none"
			continue
		case it.Known:
			v, ok := d.settle(now, it)
			if !ok {
				answers[i], why[i] = crawl.GuestRefused, "another client has the URL now"
				continue
			}
			if v != nil {
				ended, responses = append(ended, v), append(responses, responseOf(it.Result))
			}
		}
		p := d.o.Node.Partition(crawl.Host(u.Host()))
		puts = append(puts, guests.Put{Partition: p, Crawl: it.Crawl, URL: u,
			Metadata: it.Metadata, Known: it.Known, Refetch: it.Refetch})
		at, ps = append(at, i), append(ps, p)
	}
	copied := d.copied(ps)
	refused, err := d.o.Store.PutGuests(ctx, puts)
	for i, v := range ended {
		d.end(v, responses[i])
		d.ends.Done()
	}
	later := func(i int, text string) { answers[i], why[i] = crawl.GuestLater, text }
	waiting, cancel := context.WithTimeout(ctx, copyPatience)
	defer cancel()
	on := copied(waiting)
	for n, i := range at {
		switch {
		case errors.Is(err, frontier.ErrNotHolder):
			later(i, crawl.ErrMoving.Error())
		case err != nil:
			later(i, err.Error())
		case refused[n] != nil:
			answers[i], why[i] = crawl.GuestRefused, refused[n].Error()
		case !on(ps[n]):
			later(i, "it is stored, and not yet on all replicas")
		}
	}
	d.mu.Lock()
	d.newsLocked()
	d.mu.Unlock()
	return answers, why
}

// settle ends the lease of a guest whose result has come, and returns its visit; nil: nobody has
// it. False: somebody else has it.
func (d *Desk) settle(now time.Time, it *crawl.GuestPut) (v *visit, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	key := keyOf(it.Crawl, it.URL)
	id, leased := d.byGuest[key]
	if !leased {
		return nil, true
	}
	v = d.open[id]
	switch {
	case v.lease == 0: // a client is about to get it
		return nil, it.Lease == ""
	case it.Lease != "" && crawl.TagOf(it.Lease, key) != v.lease:
		return nil, false
	}
	d.book.Withdraw(now, id)
	d.book.Settled(uint64(v.lease))
	return d.removeLocked(id), true
}

// responseOf is what a result says of the host.
func responseOf(r *crawl.WorkerResult) crawl.Response {
	out := crawl.Response{Kind: crawl.Fetched, Requested: true}
	if r == nil {
		return out
	}
	word, _, _ := strings.Cut(r.Error, ":")
	switch {
	case retry.Limited(r.HTTPStatus):
		out.Kind = crawl.RateLimited
		if r.RetryAfter > 0 {
			out.RetryAfter = time.Duration(
				min(r.RetryAfter, maxRetryAfter.Seconds()) * float64(time.Second),
			)
		}
	case r.HTTPStatus != 0:
	case word == crawl.ErrDNS.String(),
		word == crawl.ErrConnect.String(),
		word == crawl.ErrTLS.String(),
		word == crawl.ErrBlockedAddress.String():
		out.Kind = crawl.HostFailed
	case r.Error != "":
		out.Kind = crawl.URLFailed
	}
	return out
}

// Forget takes back visits for guests that were deleted, of a crawl and of one host or, for "", of
// all, as long as no client has them. What a client has it may still report, but it does not count
// as a guest any more.
func (d *Desk) Forget(id string, host crawl.Host) {
	d.mu.Lock()
	var ended []*visit
	for visit, v := range d.open {
		switch {
		case v.due.Crawl != id || host != "" && v.Host != host:
		case v.lease == 0:
			ended = append(ended, d.removeLocked(visit))
		default:
			v.deleted = true
		}
	}
	d.mu.Unlock()
	for _, v := range ended {
		d.end(v, crawl.Response{Kind: crawl.Aborted})
		d.ends.Done()
	}
}
