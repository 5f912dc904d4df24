package analysis

import (
	"fmt"
	"strings"
	"time"

	"crawlnode/crawl"
	"crawlnode/web/preferences"
)

// Line is a line of text with its label, which is empty when it continues the line before.
type Line struct{ Label, Text string }

// Lines are the visits of a URL, the newest first, and what is expected of the next one. They are
// not escaped.
func Lines(r *crawl.URLReport) []Line {
	var lines []Line
	add := func(label, format string, args ...any) {
		lines = append(lines, Line{label, fmt.Sprintf(format, args...)})
	}
	label := "visits"
	for i := range r.History {
		add(label, "%s", visitText(&r.History[i]))
		label = ""
	}
	if r.NextVisitAt != nil {
		add("next visit", "%s, by the present plan", r.NextVisitAt.Format(time.RFC3339))
	}
	if r.ChangeIntervalSeconds != nil {
		add("changes", "about every %s, as far as its visits and its site tell",
			Span(*r.ChangeIntervalSeconds))
	}
	if r.Referrer != nil {
		add("found first", "on %s", *r.Referrer)
	}
	if r.Preferences != nil && len(r.Preferences.From) > 0 {
		add("its owner says", "%s", preferencesText(r.Preferences))
		for _, from := range r.Preferences.From {
			add("", "%s", from)
		}
	}
	if r.Render != nil {
		add("rendering", "%s", renderText(r.Render))
	}
	if text := linksText(&r.Links); text != "" {
		add("links", "%s", text)
	}
	return lines
}

// preferencesText is what an owner says of the use of a page, in one line.
func preferencesText(p *preferences.PagePreferences) string {
	var said []string
	for i, answer := range [...]*bool{p.Search, p.Archive, p.AIInput, p.AITrain} {
		switch {
		case answer == nil:
		case *answer:
			said = append(said, preferences.Names[i]+" yes")
		default:
			said = append(said, preferences.Names[i]+" no")
		}
	}
	if len(said) == 0 {
		return "neither yes nor no to a purpose that is known here"
	}
	return strings.Join(said, ", ")
}

// renderText says in one line what a browser had to do with a page.
func renderText(r *crawl.RenderReport) string {
	if r.Decided != crawl.RenderedPage {
		return r.Decided + ": " + r.Reason
	}
	return fmt.Sprintf("%s: %s; %d ms, %d requests", r.Decided, r.Reason, r.Milliseconds, r.Requests)
}

// visitText is a visit in one line.
func visitText(v *crawl.VisitReport) string {
	text := v.At.Format(time.RFC3339) + ": no answer"
	if v.Status != nil {
		text = fmt.Sprintf("%s: %d", v.At.Format(time.RFC3339), *v.Status)
	}
	if v.Milliseconds != nil {
		text += fmt.Sprintf(", %d ms", *v.Milliseconds)
	}
	switch {
	case v.Changed == nil:
	case *v.Changed:
		text += ", changed"
	default:
		text += ", unchanged"
	}
	return text
}

// linksText names what is known of links; "" when nothing is.
func linksText(l *crawl.LinksReport) string {
	var parts []string
	if l.In != nil {
		parts = append(parts, fmt.Sprint(*l.In)+" to it")
	}
	if l.Out != nil {
		parts = append(parts, fmt.Sprint(*l.Out)+" on it")
	}
	if l.Importance != nil {
		parts = append(parts, fmt.Sprintf("importance %.3g", *l.Importance))
	}
	if l.Rank != nil {
		parts = append(parts, fmt.Sprintf("rank %.3f", *l.Rank))
	}
	return strings.Join(parts, ", ")
}

// Span writes a length of time with the unit that suits it: 40s, 12m, 3h, 9d.
func Span(seconds float64) string {
	for _, u := range [...]struct {
		name string
		in   float64
	}{{"d", 86400}, {"h", 3600}, {"m", 60}} {
		if seconds >= 2*u.in {
			return fmt.Sprintf("%.3g%s", seconds/u.in, u.name)
		}
	}
	return fmt.Sprintf("%.3gs", seconds)
}
