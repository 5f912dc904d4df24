package dashboard

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"crawlnode/crawl"
)

// freshnessData is what the page of revisits shows in addition to the status.
type freshnessData struct {
	Mode    string // what --recrawl means, in a sentence
	On      bool
	Results []bar
	Charts  []curveChart
	Rows    []freshRow
	Spans   []Span
	Span    Span
}

// curveChart is one curve over time, drawn by the server.
type curveChart struct {
	axes
	Title string
}

// freshRow is one moment in the table of the curves.
type freshRow struct{ At, Revisits, Due, Expected string }

func (d *Dashboard) freshness(
	ctx context.Context,
	w http.ResponseWriter,
	r *http.Request,
	st *crawl.Status,
) {
	span := d.history.span(r.URL.Query().Get("span"))
	f := &st.Freshness
	data := freshnessData{
		On:    f.Mode == crawl.RecrawlFixed || f.Mode == crawl.RecrawlAdaptive,
		Spans: spans[:],
		Span:  spans[span],
		Results: withShares([]bar{
			{Name: "changed", Value: f.ChangedTotal},
			{Name: "unchanged, sent again", Value: f.UnchangedTotal - f.NotModifiedTotal},
			{Name: "not modified (304)", Value: f.NotModifiedTotal},
			{Name: "gone (404, 410)", Value: f.GoneTotal},
			{Name: "no verdict", Value: max(f.RevisitsTotal-f.ChangedTotal-f.UnchangedTotal-f.GoneTotal, 0)},
		}),
	}
	report, err := d.backend.CrawlConfig(ctx)
	if err != nil {
		d.fail(w, r, st, "/freshness", err)
		return
	}
	data.Mode = modeText(report.Settings)
	s := d.history.Series(span, ranks{})
	data.Charts, data.Rows = freshCharts(s), freshRows(s)
	d.show(w, r, http.StatusOK, "freshness",
		page{Title: "Freshness", Nav: "/freshness", Status: st, Refresh: refreshOwn, Data: data})
}

// modeText says what the settings of revisits mean.
func modeText(s crawl.SettingsReport) string {
	changed := "a page counts as changed when its text has, without numbers and dates"
	if s.Text("recrawl_changed") == crawl.RecrawlPayload {
		changed = "a page counts as changed when any byte has"
	}
	switch s.Text("recrawl") {
	case crawl.RecrawlFixed:
		return fmt.Sprintf("Each known page is visited again %s after its last visit; %s.",
			s.Text("recrawl_interval"), changed)
	case crawl.RecrawlAdaptive:
		return fmt.Sprintf("Known pages are visited again when a visit is worth most, "+
			"between %s and %s after the last one and at first after about %s; %s.",
			s.Text("recrawl_min"), s.Text("recrawl_max"), s.Text("recrawl_interval"), changed)
	}
	return "Known pages are not visited again: recrawl is off."
}

// freshCharts draws the curves; none while there are too few samples.
func freshCharts(s Series) []curveChart {
	if len(s.Times) < 2 {
		return nil
	}
	last := len(s.Times) - 1
	draw := func(title, label string, values Points, scale float64, text func(
		float64,
	) string) curveChart {
		c := curveChart{
			Title: title,
			axes:  axes{Label: label, From: momentOf(s, 0), To: momentOf(s, last)},
		}
		c.Lines = []line{{title, "line total", polyline(s.Times, values, scale)}}
		for i := range 3 {
			v := scale * float64(i) / 2
			c.Ticks = append(c.Ticks, tick{yOf(v, scale), text(v)})
		}
		return c
	}
	plainRate := func(v float64) string { return rate(v) }
	return []curveChart{
		draw("Expected freshness",
			"Share of the known pages that are as they were at their last visit, as the model believes",
			s.Expected, 1, share),
		draw("Revisits per second", "Revisits per second", s.Revisits, niceAbove(most(s.Revisits)),
			plainRate),
		draw("Due pages", "Pages whose visit is due", s.Due, niceAbove(most(s.Due)),
			func(v float64) string { return count(v) }),
	}
}

// most is the greatest value, at least 1.
func most(values Points) float64 {
	top := float32(1)
	for _, v := range values {
		if v > top { // false for NaN
			top = v
		}
	}
	return float64(top)
}

// share writes a share of one in percent.
func share(v float64) string { return strconv.FormatFloat(100*v, 'f', -1, 64) + " %" }

// momentOf is the time of a sample, as long as it has to be.
func momentOf(s Series, i int) string {
	if s.Times[len(s.Times)-1]-s.Times[0] > 24*3600 {
		return stamp(time.Unix(s.Times[i], 0))
	}
	return clock(time.Unix(s.Times[i], 0))
}

// freshRows are some moments of the curves, the newest first.
func freshRows(s Series) []freshRow {
	var rows []freshRow
	last := len(s.Times) - 1
	for k := range min(tableRows, len(s.Times)) {
		i := last - k*last/max(tableRows-1, 1)
		if len(s.Times) <= tableRows {
			i = last - k
		}
		expected := dash
		if v := s.Expected[i]; !isNaN(v) {
			expected = strconv.FormatFloat(100*float64(v), 'f', 1, 64) + " %"
		}
		rows = append(rows, freshRow{
			At:       momentOf(s, i),
			Revisits: rate(s.Revisits[i]),
			Due:      count(s.Due[i]),
			Expected: expected,
		})
	}
	return rows
}
