package dashboard

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"time"

	"crawlnode/api/codes"
	"crawlnode/crawl"
)

const (
	// foundShown is how many URLs a page of the search lists.
	foundShown = 50
	// firstReading bounds the reading for the first page of a search, so that it comes at once;
	// searchOnReading that of a person who asks to search on.
	firstReading    = 50 * time.Millisecond
	searchOnReading = 900 * time.Millisecond
	// hostReading bounds each of the two looks at the URLs of a host.
	hostReading = 40 * time.Millisecond
	queueShown  = 10
)

// found is a page of the search through the stored URLs.
type found struct {
	Query   crawl.URLQuery
	Lines   []crawl.URLLine
	States  []string
	First   string // the addresses of the first page and of the next one; no Next after the last
	Next    string
	Going   bool // it is not the first page
	Unread  []crawl.UnreadPartition
	Scanned int64
	Failure string
}

func (d *Dashboard) found(
	ctx context.Context,
	w http.ResponseWriter,
	r *http.Request,
	st *crawl.Status,
) {
	query := r.URL.Query()
	f := found{States: crawl.ListStates[:], Query: crawl.URLQuery{
		Contains: query.Get("contains"),
		State:    query.Get("state"),
		Status:   query.Get("status"),
		Host:     query.Get("host"),
		After:    query.Get("after"),
		Limit:    foundShown,
		Reading:  firstReading,
	}}
	code := http.StatusOK
	if f.Going = f.Query.After != ""; f.Going {
		f.Query.Reading = searchOnReading
	}
	report, err := d.backend.ListURLs(ctx, f.Query)
	switch {
	case errors.Is(err, crawl.ErrBadQuery):
		code, f.Failure = http.StatusBadRequest, err.Error()
	case err != nil:
		code, f.Failure = http.StatusServiceUnavailable, err.Error()
	default:
		f.First = f.address("")
		f.Lines, f.Unread, f.Scanned = report.URLs, report.Unread, report.Scanned
		if report.Next != nil {
			f.Next = f.address(*report.Next)
		}
	}
	d.show(w, r, code, "found", page{Title: "URLs", Nav: "/pages", Status: st, Data: f})
}

// address is that of the same search from a place on.
func (f *found) address(after string) string {
	q := url.Values{}
	for _, p := range [][2]string{{"contains", f.Query.Contains}, {"state", f.Query.State},
		{"status", f.Query.Status}, {"host", f.Query.Host}, {"after", after}} {
		if p[1] != "" {
			q.Set(p[0], p[1])
		}
	}
	return "/pages?" + q.Encode()
}

// hostURLs is what the page of a host shows of its URLs.
type hostURLs struct {
	Queue   []crawl.URLLine // the first of them
	Skipped []bar           // by reason
	More    bool            // skipped ones may be missing
	Failure string
}

// urlsOf looks at the URLs of a host for a moment: all of them could be millions.
func (d *Dashboard) urlsOf(ctx context.Context, host crawl.Host) (u hostURLs) {
	queue, err := d.backend.ListURLs(ctx,
		crawl.URLQuery{
			Host:    string(host),
			State:   crawl.ListQueued,
			Limit:   queueShown,
			Reading: hostReading,
		})
	if err != nil {
		return hostURLs{Failure: err.Error()}
	}
	skipped, err := d.backend.ListURLs(ctx, crawl.URLQuery{
		Host:    string(host),
		State:   crawl.ListSkipped,
		Limit:   crawl.MaxURLLines,
		Reading: hostReading,
	})
	if err != nil {
		return hostURLs{Failure: err.Error()}
	}
	for _, unread := range slices.Concat(queue.Unread, skipped.Unread) {
		u.Failure = unread.Why
	}
	u.Queue, u.More = queue.URLs, skipped.Next != nil
	u.Skipped = causes(skipped.URLs)
	return u
}

// causes counts URLs by their cause, the most frequent first.
func causes(lines []crawl.URLLine) []bar {
	counts := map[string]int64{}
	for i := range lines {
		cause := "unknown"
		if c := lines[i].Cause; c != nil {
			cause = *c
		}
		counts[cause]++
	}
	var bars []bar
	for name, n := range counts {
		bars = append(bars, bar{Name: words(name), Title: meaning(codes.Skip, name), Value: n})
	}
	slices.SortFunc(bars,
		func(a, b bar) int { return cmp.Or(cmp.Compare(b.Value, a.Value), cmp.Compare(a.Name, b.Name)) })
	return withShares(bars)
}
