package dashboard

import (
	"cmp"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"crawlnode/api/codes"
	"crawlnode/crawl"
)

// bar is a row of a small table with a bar.
type bar struct {
	Name  string
	Title string // what it means; "": it says it itself
	Value int64
	Share float64 // of the largest row, 0 to 100
}

// withShares fills the shares.
func withShares(bars []bar) []bar {
	var most int64 = 1
	for _, b := range bars {
		most = max(most, b.Value)
	}
	for i := range bars {
		bars[i].Share = math.Round(1000*float64(bars[i].Value)/float64(most)) / 10
	}
	return bars
}

func bandBars(bands [crawl.Bands]int64) []bar {
	bars := make([]bar, len(bands))
	for i, n := range bands {
		bars[i] = bar{Name: strconv.Itoa(i), Value: n}
	}
	return withShares(bars)
}

// countBars lists the counts of a struct by their JSON names, which are codes of a kind, in the
// order of its fields.
func countBars(counts any, kind codes.Kind) []bar {
	text, err := json.Marshal(counts)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	dec := json.NewDecoder(strings.NewReader(string(text)))
	var bars []bar
	code := ""
	for {
		token, err := dec.Token()
		if err != nil {
			return withShares(bars)
		}
		switch t := token.(type) {
		case string:
			code = t
		case float64:
			bars = append(bars, bar{Name: words(code), Title: meaning(kind, code), Value: int64(t)})
		}
	}
}

func sortPairs(list []pair) {
	slices.SortFunc(list, func(a, b pair) int { return cmp.Compare(a.Name, b.Name) })
}

// The size of a chart, in its own units. It is stretched to its place on the page, so it has no
// text.
const (
	chartWidth  = 760
	chartHeight = 150
	maxPoints   = 240 // a line has no more corners
)

// axes is a chart's picture, and the labels that stand beside it.
type axes struct {
	Label    string // what it shows
	From, To string
	Ticks    []tick // of the vertical axis, from the bottom, at equal distances
	Lines    []line
}

// chart is the pages per second by node, drawn by the server for clients without scripts, with the
// same figures as a table.
type chart struct {
	axes
	Rows   []chartRow
	Empty  bool
	Legend []Curve
}

type line struct {
	Name   string
	Class  string
	Points string // of an SVG polyline
}

type tick struct {
	Y     int
	Label string
}

// chartRow is one moment in the table.
type chartRow struct {
	At            string
	Total         string
	Nodes         []string
	Queued, Wrong string
}

// tableRows is how many moments the table has.
const tableRows = 12

func newChart(s Series) chart {
	c := chart{Empty: len(s.Times) < 2, Legend: s.Nodes}
	c.Label = "Pages per second of each node"
	if c.Empty {
		return c
	}
	top := float32(1)
	for _, v := range s.Pages {
		top = max(top, v)
	}
	scale := niceAbove(float64(top))
	for i := range 3 {
		v := scale * float64(i) / 2
		c.Ticks = append(c.Ticks, tick{Y: yOf(v, scale), Label: rate(v)})
	}
	for _, n := range s.Nodes {
		c.Lines = append(c.Lines,
			line{n.Name, "line h" + strconv.Itoa(n.Hue), polyline(s.Times, n.Pages, scale)})
	}
	c.Lines = append(c.Lines, line{"all nodes", "line total", polyline(s.Times, s.Pages, scale)})
	last := len(s.Times) - 1
	when := clock
	if s.Times[last]-s.Times[0] > 24*3600 {
		when = stamp
	}
	c.From, c.To = when(time.Unix(s.Times[0], 0)), when(time.Unix(s.Times[last], 0))
	for k := range min(tableRows, len(s.Times)) {
		i := last - k*last/max(tableRows-1, 1)
		if len(s.Times) <= tableRows {
			i = last - k
		}
		row := chartRow{
			At:     when(time.Unix(s.Times[i], 0)),
			Total:  rate(s.Pages[i]),
			Queued: count(s.Queued[i]),
			Wrong:  rate(s.Errors[i]),
		}
		for _, n := range s.Nodes {
			row.Nodes = append(row.Nodes, rate(n.Pages[i]))
		}
		c.Rows = append(c.Rows, row)
	}
	return c
}

// niceAbove is the next of 1, 2, 5, 10, 20... that is not below v.
func niceAbove(v float64) float64 {
	unit := math.Pow(10, math.Floor(math.Log10(v)))
	for _, step := range []float64{1, 2, 5, 10} {
		if v <= step*unit {
			return step * unit
		}
	}
	return 10 * unit
}

func yOf(v, scale float64) int {
	return int(math.Round(chartHeight * (1 - v/scale)))
}

// polyline draws one line; unknown points are left out.
func polyline(times []int64, values Points, scale float64) string {
	first, span := times[0], max(times[len(times)-1]-times[0], 1)
	step := max((len(times)+maxPoints-1)/maxPoints, 1)
	var b strings.Builder
	for i := 0; i < len(times); i += step {
		if isNaN(values[i]) {
			continue
		}
		x := chartWidth * (times[i] - first) / span
		b.WriteString(strconv.FormatInt(x, 10) + "," + strconv.Itoa(yOf(float64(values[i]), scale)) + " ")
	}
	return strings.TrimSpace(b.String())
}
