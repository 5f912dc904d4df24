package dashboard

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"

	"crawlnode/api/codes"
	"crawlnode/crawl"
)

// The interval at which scripts reload a page, in milliseconds. Pages that ask every member are
// reloaded less often.
const (
	refreshOwn = 2000
	refreshAll = 5000
)

// topShown is how many hosts the overview lists, hostsShown how many the page of hosts lists.
const (
	topShown   = 8
	hostsShown = crawl.MaxHostLines
)

// maxQuestion bounds the length of a URL in a query.
const maxQuestion = 32 << 10

// hostList is a list of hosts, or why there is none.
type hostList struct {
	*crawl.HostsReport
	Failure string
}

func (d *Dashboard) hostList(ctx context.Context, sort string, limit int) hostList {
	report, err := d.backend.Hosts(ctx, sort, limit)
	if err != nil {
		return hostList{HostsReport: &crawl.HostsReport{Sort: sort}, Failure: err.Error()}
	}
	return hostList{HostsReport: report}
}

// overviewData is what the overview shows in addition to the status.
type overviewData struct {
	Verdict   verdict
	Start     *formData // the form that starts a crawl, while there is none
	Chart     chart
	Spans     []Span
	Span      Span
	Bands     []bar
	Errors    []bar
	Responses []bar
	Skipped   []bar
	Hosts     hostList
}

func (d *Dashboard) overview(
	ctx context.Context,
	w http.ResponseWriter,
	r *http.Request,
	st *crawl.Status,
) {
	span := d.history.span(r.URL.Query().Get("span"))
	f := &st.Fetch
	var start *formData
	if st.Crawl.State == crawl.CrawlIdle {
		if report, err := d.backend.CrawlConfig(ctx); err == nil {
			start = &formData{settingsForm: newSettingsForm(&report).only(startNames)}
		}
	}
	d.show(w, r, http.StatusOK, "overview",
		page{Title: "Overview", Nav: "/", Status: st, Refresh: refreshOwn, Data: overviewData{
			Start:   start,
			Verdict: verdictOf(st), Chart: newChart(d.history.Series(span, ranksOf(st))), Spans: spans[:],
			Span:  spans[span],
			Bands: bandBars(st.Frontier.ByBand), Errors: countBars(f.ErrorsByCategory, codes.Fetch),
			Responses: countBars(f.Responses, ""), Skipped: countBars(f.SkippedByReason, codes.Skip),
			Hosts: d.hostList(ctx, crawl.SortQueued, topShown),
		}})
}

func (d *Dashboard) nodes(
	_ context.Context,
	w http.ResponseWriter,
	r *http.Request,
	st *crawl.Status,
) {
	d.show(w, r, http.StatusOK, "nodes",
		page{Title: "Nodes", Nav: "/nodes", Status: st, Refresh: refreshOwn})
}

func (d *Dashboard) ring(
	ctx context.Context,
	w http.ResponseWriter,
	r *http.Request,
	st *crawl.Status,
) {
	report, err := d.backend.Ring(ctx)
	if err != nil {
		d.fail(w, r, st, "/ring", err)
		return
	}
	d.show(w, r, http.StatusOK, "ring",
		page{Title: "Ring", Nav: "/ring", Status: st, Refresh: refreshAll, Data: newRingView(report, st)})
}

func (d *Dashboard) hosts(
	ctx context.Context,
	w http.ResponseWriter,
	r *http.Request,
	st *crawl.Status,
) {
	sort := r.URL.Query().Get("sort")
	if !slices.Contains(crawl.HostSorts[:], sort) {
		sort = crawl.HostSorts[0]
	}
	d.show(w, r, http.StatusOK, "hosts", page{
		Title:   "Hosts",
		Nav:     "/hosts",
		Status:  st,
		Refresh: refreshAll,
		Data:    d.hostList(ctx, sort, hostsShown),
	})
}

// host shows all details of one host. The form of the page of hosts uses ?host=.
func (d *Dashboard) host(
	ctx context.Context,
	w http.ResponseWriter,
	r *http.Request,
	st *crawl.Status,
) {
	name := r.PathValue("host")
	if name == "-" {
		name = r.URL.Query().Get("host")
	}
	report, err := d.backend.DescribeHost(ctx, name)
	if err != nil {
		d.fail(w, r, st, "/hosts", err)
		return
	}
	d.show(w, r, http.StatusOK, "host", page{
		Title:   string(report.Host),
		Nav:     "/hosts",
		Status:  st,
		Refresh: refreshAll,
		Data:    hostData{report, bandBars(report.ByBand), d.urlsOf(ctx, report.Host)},
	})
}

type hostData struct {
	*crawl.HostReport
	Bands []bar
	URLs  hostURLs
}

// urlData is a query about a URL with its answer, if any.
type urlData struct {
	Input, Depth string
	Report       *crawl.URLReport
	Content      *content
	Visits       *visitsView
	Failure      string
}

func (d *Dashboard) url(
	ctx context.Context,
	w http.ResponseWriter,
	r *http.Request,
	st *crawl.Status,
) {
	query := r.URL.Query()
	data := urlData{Input: query.Get("url"), Depth: query.Get("depth")}
	code := http.StatusOK
	if data.Input != "" {
		var err error
		if data.Report, err = d.explain(ctx, data.Input, data.Depth); err != nil {
			code, data.Failure = http.StatusServiceUnavailable, err.Error()
			if errors.Is(err, errQuestion) {
				code = http.StatusBadRequest
			}
		} else {
			data.Visits = visitsOf(data.Report)
			if isArchived(data.Report) {
				free, err := d.slot(ctx, w)
				if err != nil {
					d.fail(w, r, st, "/urls", err)
					return
				}
				defer free()
				data.Content = d.content(ctx, data.Report, query.Get("view"))
			}
		}
	}
	d.show(w, r, code, "url", page{Title: "URL", Nav: "/urls", Status: st, Data: data})
}

var errQuestion = errors.New("invalid query")

func (d *Dashboard) explain(ctx context.Context, url, depthText string) (*crawl.URLReport, error) {
	if len(url) > maxQuestion {
		return nil, errors.Join(errQuestion,
			errors.New("the URL is longer than "+strconv.Itoa(maxQuestion)+" bytes"))
	}
	depth := -1
	if depthText != "" {
		n, err := strconv.ParseUint(depthText, 10, 16)
		if err != nil {
			return nil, errors.Join(errQuestion, errors.New("the depth must be a number of links"))
		}
		depth = int(n)
	}
	return d.backend.ExplainURL(ctx, url, depth)
}

// Series is a span of the cluster's history, by its name; "": an hour.
func (d *Dashboard) Series(ctx context.Context, span string) Series {
	st, err := d.backend.Status(ctx, false)
	if err != nil {
		st = nil // the curves are shown without colours
	}
	return d.history.Series(spanOf(span), ranksOf(st))
}
