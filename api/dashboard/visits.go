package dashboard

import (
	"strconv"
	"time"

	"crawlnode/crawl"
)

// The size of the chart of visits, in its own units.
const (
	visitsWidth  = 400
	visitsHeight = 40
	visitsEdge   = 10
)

// visitsView is the history of a URL as a chart and a table.
type visitsView struct {
	Marks    []visitMark // oldest first
	Next     string      // place of the next visit; "": none is planned
	From, To string
	Rows     []visitRow // newest first
}

// visitMark is a visit in the chart. Its shape says what it found, not its colour alone.
type visitMark struct{ Class, Path, Title string }

// visitRow is a visit in the table.
type visitRow struct {
	At                  time.Time
	Status, Took, Found string
}

// visitsOf draws the visits of a report; nil without any.
func visitsOf(r *crawl.URLReport) *visitsView {
	if r == nil || len(r.History) == 0 {
		return nil
	}
	newest, oldest := r.History[0].At, r.History[len(r.History)-1].At
	end := newest
	if r.NextVisitAt != nil && r.NextVisitAt.After(end) {
		end = *r.NextVisitAt
	}
	span := max(end.Sub(oldest).Seconds(), 1e-9)
	place := func(t time.Time) float64 {
		return visitsEdge + (visitsWidth-2*visitsEdge)*t.Sub(oldest).Seconds()/span
	}
	v := &visitsView{From: stamp(oldest), To: stamp(end)}
	if r.NextVisitAt != nil && r.NextVisitAt.After(newest) {
		v.Next = strconv.FormatFloat(place(*r.NextVisitAt), 'f', 1, 64)
	}
	for i := len(r.History) - 1; i >= 0; i-- {
		visit := &r.History[i]
		found := foundBy(visit)
		v.Marks = append(v.Marks, visitMark{
			Class: "mark m-" + found.class,
			Path:  markPath(found.class, place(visit.At)),
			Title: stamp(visit.At) + ": " + found.words,
		})
	}
	for i := range r.History {
		visit := &r.History[i]
		row := visitRow{At: visit.At, Status: dash, Took: dash, Found: foundBy(visit).words}
		if visit.Status != nil {
			row.Status = strconv.Itoa(*visit.Status)
		}
		if visit.Milliseconds != nil {
			if row.Took = "under 1 ms"; *visit.Milliseconds > 0 {
				row.Took = seconds(float64(*visit.Milliseconds) / 1000)
			}
		}
		v.Rows = append(v.Rows, row)
	}
	return v
}

// finding is what a visit found.
type finding struct{ class, words string }

func foundBy(v *crawl.VisitReport) finding {
	switch {
	case v.Status == nil:
		return finding{"failed", "no answer"}
	case *v.Status == 404 || *v.Status == 410:
		return finding{"failed", "gone"}
	case *v.Status >= 400:
		return finding{"failed", "an error"}
	case v.Changed == nil:
		return finding{"first", "nothing to compare with"}
	case *v.Changed:
		return finding{"changed", "changed"}
	}
	return finding{"same", "unchanged"}
}

// markPath is the shape of a mark: a full square is a change, an empty one none, a cross a failure,
// a triangle the first visit.
func markPath(class string, x float64) string {
	at := func(dx float64) string { return strconv.FormatFloat(x+dx, 'f', 1, 64) }
	switch class {
	case "failed":
		return "M" + at(-5) + " 17L" + at(5) + " 27M" + at(5) + " 17L" + at(-5) + " 27"
	case "first":
		return "M" + at(-6) + " 28L" + at(0) + " 16L" + at(6) + " 28Z"
	}
	return "M" + at(-5) + " 17H" + at(5) + "V27H" + at(-5) + "Z"
}
