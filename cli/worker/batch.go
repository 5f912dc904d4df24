package worker

import (
	"cmp"
	"context"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"crawlnode/api/client"
	"crawlnode/crawl"
	"crawlnode/web/fetcher"
	"crawlnode/web/htmlparse"
	"crawlnode/web/simhash"
	"crawlnode/web/urlnorm"
)

const (
	// sendEvery and sendAtMost say how often results are sent: hosts wait for them.
	sendEvery, sendAtMost = 200 * time.Millisecond, 100
)

// pageFetcher makes one request.
type pageFetcher interface {
	Do(ctx context.Context, req fetcher.Request) (*fetcher.Response, error)
}

// batch is one lease.
type batch struct {
	fetcher pageFetcher
	send    func(context.Context, crawl.WorkerResults) (crawl.ResultsReport, error)
	lease   crawl.WorkerLease
}

// run fetches all URLs of the lease and sends their results. No request goes on after the lease's
// end.
func (b *batch) run(ctx context.Context) (fetched int, err error) {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(b.lease.LeaseSeconds*float64(time.Second)))
	defer cancel()
	came := make(chan crawl.WorkerResult, len(b.lease.URLs)) // room for all: no fetch waits
	for i := range b.lease.URLs {
		u := &b.lease.URLs[i]
		go func() { came <- b.visit(ctx, u) }()
	}
	var waiting []crawl.WorkerResult
	tick := time.NewTicker(sendEvery)
	defer tick.Stop()
	for left := len(b.lease.URLs); left > 0 || len(waiting) > 0; {
		due := left == 0 || len(waiting) >= sendAtMost
		if !due {
			select {
			case r := <-came:
				waiting = append(waiting, r)
				left--
			case <-tick.C:
				due = len(waiting) > 0
			}
		}
		if !due {
			continue
		}
		if sendErr := b.report(ctx, waiting); err == nil { // the other fetches are awaited all the same
			err = sendErr
		}
		fetched += len(waiting)
		waiting = nil
	}
	return fetched, err
}

// report sends results until they count, or the lease is over.
func (b *batch) report(ctx context.Context, results []crawl.WorkerResult) error {
	for ctx.Err() == nil {
		_, err := b.send(ctx, crawl.WorkerResults{LeaseID: b.lease.LeaseID, Results: results})
		failed := (*client.Error)(nil)
		switch {
		case err == nil, errors.As(err, &failed) && failed.Code == http.StatusGone:
			// its URLs are queued again
			return nil
		case !passes(err):
			return err
		}
		crawl.Wait(ctx, pause)
	}
	return nil
}

// visit makes one request and reads what it leads to.
func (b *batch) visit(ctx context.Context, leased *crawl.LeasedURL) crawl.WorkerResult {
	r := crawl.WorkerResult{URL: leased.URL, Status: crawl.WorkerError}
	u, err := urlnorm.ParseRouted(leased.URL)
	if err != nil {
		r.Error = fmt.Sprintf("other: %v", err)
		return r
	}
	addr, err := netip.ParseAddr(leased.IP)
	if err != nil {
		r.Error = "dns: the node gave no address"
		return r
	}
	resp, err := b.fetcher.Do(ctx, fetcher.Request{
		URL:          u,
		Addr:         addr,
		ETag:         leased.ETag,
		LastModified: leased.LastModified,
		UserAgent:    b.lease.UserAgent,
	})
	if err != nil {
		r.Error = err.Error()
		return r
	}
	defer resp.Release()
	sum := sha1.Sum(resp.RawBody)
	r.Status, r.HTTPStatus, r.ContentType, r.ContentLength, r.ContentHash = crawl.WorkerSuccess,
		resp.Status, resp.MediaType, resp.WireBytes, "sha1:"+hex.EncodeToString(sum[:])
	r.FetchTimeMS = float64(resp.Took) / float64(time.Millisecond)
	if wait, err := strconv.ParseUint(strings.TrimSpace(resp.Header.Get("Retry-After")), 10,
		31); err == nil {
		r.RetryAfter = float64(wait)
	}
	// A node of an earlier release names no token.
	agent := cmp.Or(b.lease.RobotsAgent, crawl.ProductToken(b.lease.UserAgent))
	switch {
	case resp.Status >= http.StatusMultipleChoices && resp.Status < http.StatusBadRequest:
		if ref := resp.Header.Get("Location"); ref != "" {
			r.Links = []string{ref}
			if to, err := u.ResolveBytes(ref); err == nil { // JSON has characters, and a header bytes
				r.Links = []string{to.String()}
			}
		}
	case resp.Status == http.StatusOK && htmlparse.IsPage(resp.ContentType, resp.Body):
		readPage(resp, u, agent, &r)
	default:
		refresh(resp, u, agent, &r, false)
	}
	return r
}

// readPage takes the links of a page, unless it asks agent that they are not followed.
func readPage(resp *fetcher.Response, u urlnorm.URL, agent string, r *crawl.WorkerResult) {
	doc := htmlparse.ParseWith(htmlparse.Options{Agent: agent, Now: resp.Started}, resp.Body,
		resp.ContentType, u)
	if of, _ := simhash.Fingerprint(doc.Text); of != 0 {
		r.Simhash = crawl.Simhash(strconv.FormatUint(of, 16))
	}
	r.LinksFound = doc.LinksFound
	_, noFollow := htmlparse.RobotsHeader(resp.Header["X-Robots-Tag"], agent, resp.Started)
	refresh(resp, u, agent, r, doc.NoFollow)
	if noFollow || doc.NoFollow {
		return
	}
	for i := range doc.Links {
		if l := &doc.Links[i]; !l.Asset() {
			r.Links = append(r.Links, l.URL.String())
		}
	}
}

// refresh takes the target of a Refresh header of a delivered answer as the crawl itself does.
func refresh(
	resp *fetcher.Response,
	u urlnorm.URL,
	agent string,
	r *crawl.WorkerResult,
	noFollow bool,
) {
	ref := htmlparse.RefreshHeader(resp.Header.Get("Refresh"))
	if ref == "" || resp.Status < 200 || resp.Status > 299 {
		return
	}
	r.LinksFound++
	if _, no := htmlparse.RobotsHeader(resp.Header["X-Robots-Tag"], agent, resp.Started); no ||
		noFollow {
		return
	}
	if to, err := u.ResolveBytes(ref); err == nil {
		r.Links = append(r.Links, to.String())
	}
}
