package dashboard

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"crawlnode/crawl"
)

// resultsShown is how many results a page has.
const resultsShown = 10

// searchData is what the search page shows.
type searchData struct {
	Query          string
	Report         *crawl.SearchReport // nil: nothing was asked, or there is no answer
	Rows           []searchRow
	Problem        string
	Page           int
	Before, Behind string // other pages of results; "": there is none
	Suggested      string // the address of the question with its typing errors corrected
	Partly         bool   // the answer does not cover all documents
	Feed           string
	First          int
}

// searchRow is a result, with the address of its archived copy in the dashboard.
type searchRow struct {
	crawl.SearchResult
	Archived string
}

func (d *Dashboard) search(
	ctx context.Context,
	w http.ResponseWriter,
	r *http.Request,
	st *crawl.Status,
) {
	v := r.URL.Query()
	n, err := strconv.Atoi(v.Get("page"))
	if err != nil {
		n = 1
	}
	data := searchData{
		Query: strings.ToValidUTF8(strings.TrimSpace(v.Get("query")), "\uFFFD"),
		Page:  min(max(n, 1), 100),
	}
	if data.Query != "" {
		d.ask(ctx, &data)
	}
	d.show(w, r, http.StatusOK, "search",
		page{Title: "Search", Nav: "/search", Status: st, Data: &data})
}

// ask fills in the answer, or why there is none.
func (d *Dashboard) ask(ctx context.Context, data *searchData) {
	report, err := d.backend.Search(ctx,
		crawl.SearchQuery{Query: data.Query, Page: data.Page, Size: resultsShown})
	switch {
	case errors.Is(err, crawl.ErrRefused):
		data.Problem = "This crawl has no index. Set index to on, with crawlnode crawl-config set " +
			"index=on: pages that are fetched from then on are found."
		return
	case err != nil:
		data.Problem = "There is no answer now: " + err.Error()
		return
	}
	data.Report = report
	for _, h := range report.Results {
		row := searchRow{SearchResult: h}
		if h.File != "" {
			row.Archived = "/urls?" + url.Values{"url": {h.Link}, "view": {"page"}}.Encode() + "#archived"
		}
		data.Rows = append(data.Rows, row)
	}
	at := func(query string, page int) string {
		return "/search?" + url.Values{"query": {query}, "page": {strconv.Itoa(page)}}.Encode()
	}
	if data.Page > 1 {
		data.Before = at(data.Query, data.Page-1)
	}
	if int64(data.Page*resultsShown) < report.Total && len(report.Results) > 0 {
		data.Behind = at(data.Query, data.Page+1)
	}
	if report.DidYouMean != nil {
		data.Suggested = at(*report.DidYouMean, 1)
	}
	data.Partly = report.Coverage < 0.9995
	data.First = (data.Page-1)*resultsShown + 1
	data.Feed = "/api/v1/search?" + url.Values{"query": {data.Query}, "format": {"atom"}}.Encode()
}
