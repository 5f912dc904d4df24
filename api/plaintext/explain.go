package plaintext

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"time"

	"crawlnode/api/analysis"
	"crawlnode/crawl"
	"crawlnode/web/metadata"
)

// WriteScope renders the scope's verdict on a URL for people.
func WriteScope(w io.Writer, r *crawl.URLReport) error {
	var b bytes.Buffer
	row(&b, "url", "%s", canonicalText(r))
	row(&b, "scope", "%s", scopeText(r))
	_, err := w.Write(b.Bytes())
	return err
}

// WriteURL renders a report about a URL for people.
func WriteURL(w io.Writer, r *crawl.URLReport) error {
	var b bytes.Buffer
	row(&b, "url", "%s", canonicalText(r))
	row(&b, "summary", "%s", r.Summary)
	row(&b, "scope", "%s", scopeText(r))
	if r.URL == nil {
		_, err := w.Write(b.Bytes())
		return err
	}
	if r.Partition != nil && r.Owner != nil {
		row(&b, "partition", "%d, owned by %s, held by %s", *r.Partition, r.Owner.Name,
			holderText(r.Holder))
	}
	writeRobotsVerdict(&b, &r.Robots)
	switch {
	case r.Record != nil:
		writeRecord(&b, r.Record)
	case r.Unanswered != nil:
		row(&b, "record", "not known: %s", *r.Unanswered)
	default:
		row(&b, "record", "none")
	}
	if r.Metadata != nil {
		writeMetadata(&b, r.Metadata)
	}
	for _, l := range analysis.Lines(r) {
		row(&b, l.Label, "%s", l.Text)
	}
	_, err := w.Write(b.Bytes())
	return err
}

// writeMetadata writes what a page says of itself.
func writeMetadata(b *bytes.Buffer, m *metadata.Record) {
	for _, f := range []struct{ label, text string }{
		{"title", m.Title}, {"author", strings.Join(m.Author, "; ")},
		{"published", m.PublishedAt}, {"modified", m.ModifiedAt}, {"type", m.Type},
		{"site", m.Site}, {"licence", m.Licence}, {"language", m.Language},
	} {
		if f.text != "" {
			row(b, f.label, "%s", Escape(Cut(f.text)))
		}
	}
}

func canonicalText(r *crawl.URLReport) string {
	if r.URL == nil {
		return Cut(r.Input) + " (no URL to crawl)"
	}
	return *r.URL
}

func scopeText(r *crawl.URLReport) string {
	s := &r.Scope
	verdict := "admitted"
	switch {
	case !s.Admit:
		verdict = "refused, " + s.Reason
	case s.Suspicious:
		verdict = "admitted to the lowest band"
	}
	if r.URL == nil {
		return verdict + ": " + s.Rule
	}
	return fmt.Sprintf("%s: %s (at depth %d)", verdict, s.Rule, s.Depth)
}

func holderText(n *crawl.NodeRef) string {
	if n == nil {
		return "nobody who is known"
	}
	return n.Name
}

func writeRobotsVerdict(b *bytes.Buffer, r *crawl.RobotsReport) {
	row(b, "robots", "%s: %s", r.Verdict, r.Rule)
	if r.FetchedAt != nil && r.Status != nil {
		row(b, "", "%s/robots.txt answered %d at %s", r.Origin, *r.Status,
			r.FetchedAt.Format(time.RFC3339))
	}
}

func writeRecord(b *bytes.Buffer, r *crawl.RecordReport) {
	row(b, "record", "%s; found as %s at depth %d, band %d, %d failed attempts", r.State, r.Via,
		r.Depth, r.Band, r.Attempts)
	if r.NotBefore != nil {
		row(b, "", "next attempt at %s at the earliest", r.NotBefore.Format(time.RFC3339))
	}
	if r.FetchedAt != nil && r.Status != nil {
		row(b, "", "answered %d at %s", *r.Status, r.FetchedAt.Format(time.RFC3339))
	}
	if r.Reason != nil {
		row(b, "reason", "%s", *r.Reason)
	}
	if r.DuplicateOf != nil {
		row(b, "same as", "%s", *r.DuplicateOf)
	}
	if r.NearDuplicateOf != nil {
		row(b, "nearly", "%s", *r.NearDuplicateOf)
	}
	if a := r.Archive; a != nil {
		row(b, "archive", "%s on %s, offset %d, %d bytes", a.File, a.Node.Name, a.Offset, a.Length)
	}
}

// WriteHost renders a report about a host for people.
func WriteHost(w io.Writer, r *crawl.HostReport) error {
	var b bytes.Buffer
	row(&b, "host", "%s", r.Host)
	row(&b, "state", "%s: %s", r.State, r.Summary)
	row(&b, "partition", "%d, owned by %s, held by %s", r.Partition, r.Owner.Name, r.Holder.Name)
	next := "at once"
	if r.NextAllowedAt != nil {
		next = r.NextAllowedAt.Format(time.RFC3339Nano)
	}
	row(&b, "next", "%s", next)
	row(&b, "queue", "%s queued %v", Count(r.Queued), r.ByBand)
	row(&b, "pages", "%s; %s requests in all", Count(r.Pages), Count(r.Requests))
	row(&b, "suspicious", "%s of %s URLs that look like a trap", Count(r.Suspicious),
		Count(r.SuspiciousBudget))
	p := &r.Politeness
	row(&b, "gap", "%s; crawl-delay %s, last answer took %s, back-off %s", seconds(p.GapSeconds),
		seconds(&p.CrawlDelaySeconds),
		seconds(&p.LatencySeconds), seconds(&p.BackoffSeconds))
	if p.BackoffReason != nil {
		row(&b, "held back", "%s", *p.BackoffReason)
	}
	if f := p.LastFailure; f != nil {
		row(&b, "failure", "%s: %s", f.Category, f.Reason)
	}
	if p.Address != nil {
		row(&b, "address", "%s", *p.Address)
	}
	for _, o := range r.Robots {
		row(&b, "robots", "%s: %s, answered %d at %s, good until %s", o.Origin, o.Verdict, o.Status,
			o.FetchedAt.Format(time.RFC3339), o.ExpiresAt.Format(time.RFC3339))
	}
	_, err := w.Write(b.Bytes())
	return err
}
