package dashboard

import (
	"math"
	"strings"
	"testing"

	"crawlnode/crawl"
)

// revisits is a report with settings of revisits.
func revisits(mode, interval, shortest, longest, changed string) crawl.SettingsReport {
	return crawl.SettingsReport{
		{Name: "recrawl", Value: mode}, {Name: "recrawl_interval", Value: interval},
		{Name: "recrawl_min", Value: shortest}, {Name: "recrawl_max", Value: longest},
		{Name: "recrawl_changed", Value: changed},
	}
}

// TestModes: what the settings of revisits mean, in words.
func TestModes(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		s    crawl.SettingsReport
		want string
	}{
		{crawl.SettingsReport{}, "recrawl is off"},
		{revisits("off", "", "", "", ""), "recrawl is off"},
		{revisits("fixed", "7d", "", "", "payload"), "visited again 7d after its last visit; a page counts as changed when any byte has"},
		{revisits("adaptive", "7d", "1h", "90d", "text"), "between 1h and 90d"},
	} {
		if got := modeText(tc.s); !strings.Contains(got, tc.want) {
			t.Errorf("%+v: %q", tc.s, got)
		}
	}
}

// TestFreshnessHistory: the curve of the model begins when there is one, and a coarser sample is
// the mean of those that are known.
func TestFreshnessHistory(t *testing.T) {
	t.Parallel()
	h := NewHistory(nil)
	for i := range 10 {
		st := &crawl.Status{}
		st.Freshness = crawl.FreshnessStatus{Due: int64(i), RevisitsTotal: int64(10 * i)}
		if i >= 8 {
			st.Freshness.Expected = ptr(float64(i) / 10)
		}
		h.add(at(i), st)
	}
	s := h.Series(0, nil)
	if !math.IsNaN(float64(s.Expected[7])) || s.Expected[8] != 0.8 || s.Revisits[5] != 10 ||
		s.Due[9] != 9 {
		t.Errorf("%v %v %v", s.Expected, s.Revisits, s.Due)
	}
	s = h.Series(1, nil) // two samples of five seconds
	if !math.IsNaN(float64(s.Expected[0])) || math.Abs(float64(s.Expected[1])-0.85) > 1e-6 ||
		s.Due[1] != 7 {
		t.Errorf("%v %v", s.Expected, s.Due)
	}
	if charts := freshCharts(s); len(charts) != 3 || charts[0].Ticks[2].Label != "100 %" ||
		!strings.Contains(charts[0].Lines[0].Points, ",") {
		t.Errorf("%+v", charts)
	}
	if rows := freshRows(s); len(rows) != 2 || rows[0].Expected != "85.0 %" ||
		rows[1].Expected != dash {
		t.Errorf("%+v", rows)
	}
	if charts := freshCharts(NewHistory(nil).Series(0, nil)); charts != nil {
		t.Errorf("no samples: %+v", charts)
	}
}

// TestVisitsView: the chart's marks, in the order and at the distances of the visits.
func TestVisitsView(t *testing.T) {
	t.Parallel()
	if visitsOf(nil) != nil || visitsOf(&crawl.URLReport{}) != nil {
		t.Error("a chart of nothing")
	}
	v := visitsOf(&crawl.URLReport{History: []crawl.VisitReport{{At: at(30), Status: ptr(410)},
		{At: at(10), Status: ptr(500)}, {At: at(0), Status: ptr(200)}}, NextVisitAt: ptr(at(40))})
	if len(v.Marks) != 3 || !strings.HasPrefix(v.Marks[0].Path, "M4.0 28") ||
		!strings.HasPrefix(v.Marks[1].Path, "M100.0 17") ||
		!strings.HasPrefix(v.Marks[2].Path, "M290.0 17") || v.Next != "390.0" {
		t.Errorf("%+v", v)
	}
	if v.Rows[0].Found != "gone" || v.Rows[1].Found != "an error" ||
		v.Rows[2].Found != "nothing to compare with" || v.Rows[0].Took != dash {
		t.Errorf("%+v", v.Rows)
	}
	if v := visitsOf(&crawl.URLReport{
		History:     []crawl.VisitReport{{At: at(1)}},
		NextVisitAt: ptr(at(0)),
	}); v.Next != "" || len(v.Marks) != 1 || strings.Contains(v.Marks[0].Path, "NaN") {
		t.Errorf("one visit, the next one due: %+v", v)
	}
}
