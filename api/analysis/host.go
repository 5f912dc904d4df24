package analysis

import (
	"context"
	"errors"
	"math"
	"slices"
	"time"

	"crawlnode/api/urllist"
	"crawlnode/crawl"
)

const (
	// reading bounds the time for which a host's URLs are counted, and mostURLs how many are.
	reading  = 4 * time.Second
	patience = 2 * time.Second // for a partition that moves
	mostURLs = 200_000
	// minutes is how far back the throughput goes.
	minutes = 60
)

// Host counts the URLs of a host and adds them to what its report says. list reads a page of URLs.
// The error is that of the first page.
func Host(
	ctx context.Context,
	r *crawl.HostReport,
	list urllist.Fetch,
	now time.Time,
) (*crawl.HostAnalysis, error) {
	a := &crawl.HostAnalysis{Host: r.Host, Robots: robotsOf(r), AvgResponse: averageOf(&r.Politeness)}
	c := counter{a: a, begin: now.Add(-minutes * time.Minute), minute: map[int64]int64{}}
	bounded, cancel := context.WithTimeout(ctx, reading)
	defer cancel()
	err := urllist.Walk(bounded, list, crawl.URLQuery{Host: string(r.Host)}, patience, c.add)
	lacks := (*urllist.Incomplete)(nil)
	switch {
	case err == nil:
		a.Complete = true
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(err, errMany), bounded.Err() != nil, errors.As(err, &lacks):
	default:
		return nil, err
	}
	c.finish()
	return a, nil
}

// counter counts lines.
type counter struct {
	a             *crawl.HostAnalysis
	begin         time.Time
	tried, failed int64
	minute        map[int64]int64 // visits, by the minute since 1970; minutes+1 at most
}

var errMany = errors.New("the host has more URLs than are counted")

func (c *counter) add(lines []crawl.URLLine) error {
	for i := range lines {
		c.a.URLsDiscovered++
		c.count(&lines[i])
	}
	if c.a.URLsDiscovered >= mostURLs {
		return errMany
	}
	return nil
}

// count counts one URL. One that was fetched and waits for its next visit counts as fetched.
func (c *counter) count(l *crawl.URLLine) {
	again := l.State == crawl.ListQueued && l.Status != nil && l.Attempts == 0
	switch {
	case l.State == crawl.ListDone || again:
		c.a.URLsFetched++
		c.tried++
		if l.Status != nil && *l.Status >= 400 {
			c.failed++
		}
		if l.FetchedAt != nil && l.FetchedAt.After(c.begin) {
			c.minute[l.FetchedAt.Unix()/60]++
		}
	case l.State == crawl.ListFailed:
		c.tried++
		c.failed++
	case l.State == crawl.ListSkipped:
		c.a.URLsBlocked++
	}
}

// finish makes rates of the counts.
func (c *counter) finish() {
	if c.tried > 0 {
		rate := float64(c.failed) / float64(c.tried)
		c.a.ErrorRate = &rate
	}
	c.a.Throughput = []crawl.HostMinute{}
	for minute, n := range c.minute {
		c.a.Throughput = append(c.a.Throughput,
			crawl.HostMinute{Timestamp: time.Unix(minute*60, 0).UTC(), URLsPerMinute: n})
	}
	slices.SortFunc(c.a.Throughput,
		func(x, y crawl.HostMinute) int { return x.Timestamp.Compare(y.Timestamp) })
}

// averageOf is the mean duration of a request, or that of the last one when no more is known.
func averageOf(p *crawl.PolitenessReport) *float64 {
	seconds := p.LatencySeconds
	if p.AverageLatencySeconds != nil {
		seconds = *p.AverageLatencySeconds
	}
	if seconds <= 0 {
		return nil
	}
	ms := math.Round(seconds*1e6) / 1e3
	return &ms
}

// robotsOf puts the files of a host's origins together.
func robotsOf(r *crawl.HostReport) crawl.HostRobotsAnalysis {
	a := crawl.HostRobotsAnalysis{BlockedPaths: []string{}}
	for i := range r.Robots {
		o := &r.Robots[i]
		if a.LastFetched == nil || o.FetchedAt.After(*a.LastFetched) {
			a.LastFetched = &o.FetchedAt
		}
		if d := o.CrawlDelaySeconds; d > 0 && (a.CrawlDelay == nil || d > *a.CrawlDelay) {
			a.CrawlDelay = &d
		}
		for _, path := range o.BlockedPaths {
			if !slices.Contains(a.BlockedPaths, path) && len(a.BlockedPaths) < crawl.MaxBlockedPaths {
				a.BlockedPaths = append(a.BlockedPaths, path)
			}
		}
	}
	return a
}
