package judge

import (
	"net/http"
	"strings"
	"time"

	"github.com/zeebo/xxh3"

	"crawlnode/crawl"
	"crawlnode/recrawl/visits"
)

// dated reads the answer's date of its last change, when it has moved and the site's dates are
// trusted.
func (m *matter) dated(o *crawl.Outcome) (bool, time.Duration) {
	if o.LastMod == "" || o.LastMod == m.Record.LastModified || !m.site.Dates.TrustsDates() {
		return false, 0
	}
	at, err := http.ParseTime(o.LastMod)
	if err != nil {
		return false, 0
	}
	return true, max(o.FetchedAt.Sub(at), 0)
}

// check compares what the site has said of the page with what the visit has found.
func (m *matter) check(o *crawl.Outcome, verdict visits.Verdict) {
	if verdict != visits.Changed && verdict != visits.Unchanged {
		return
	}
	changed := verdict == visits.Changed
	// The site's silence is checked when it covers most of the time before the visit: of what was
	// changed later its sitemap could not tell.
	const most = 0.75
	if m.old.Moved ||
		m.old.Listed && float64(m.old.Silent) >= most*float64(m.Elapsed) && m.old.Silent > 0 {
		m.site.Sitemap = m.site.Sitemap.Check(m.old.Moved, changed)
	}
	old := m.Record
	if !hasContent(o.Status) || visits.AnswerOf(old.Status) == visits.Missing ||
		visits.AnswerOf(old.Status) == visits.Removed {
		return
	}
	if o.LastMod != "" && old.LastModified != "" {
		m.site.Dates = m.site.Dates.Check(o.LastMod != old.LastModified, changed)
	}
	// A visit without validators is an audit of them. One that hides what counts as no change is no
	// lie.
	if had, has := old.ETag+old.LastModified != "", o.ETag+o.LastMod != ""; had && has &&
		!o.Conditional {
		other := o.ETag != old.ETag || o.ETag == "" && o.LastMod != old.LastModified
		m.site.Validators = m.site.Validators.Check(other, changed)
	}
}

// redirect compares the target of a redirect, which is not in its payload, with that of the visit
// before. Its hash takes the place of the text's fingerprint.
func (m *matter) redirect(v *visits.Visit, o *crawl.Outcome) {
	if o.Kind != crawl.Fetched || o.Status < 300 || o.Status >= 400 ||
		o.Status == http.StatusNotModified {
		return
	}
	for i := range o.Targets {
		if t := &o.Targets[i]; t.Via == crawl.ViaRedirect {
			v.Text = max(xxh3.HashString(t.URL.String()), 1)
			v.Digest = m.Record.Digest
			if m.had && m.old.Text != v.Text {
				v.Digest[0] ^= 1
			}
			return
		}
	}
}

// kindOf is the kind of page that was answered. An answer that does not say is a page.
func kindOf(o *crawl.Outcome, rec *crawl.Record) visits.Kind {
	if o.IsSitemap || rec.Via == crawl.ViaSitemapFile {
		return visits.KindFeed
	}
	mime, _, _ := strings.Cut(o.ContentType, ";")
	switch mime = strings.ToLower(strings.TrimSpace(mime)); {
	case mime == "" || mime == "text/html" || mime == "application/xhtml+xml":
		return visits.KindPage
	case strings.HasSuffix(mime, "rss+xml") || strings.HasSuffix(mime, "atom+xml"):
		return visits.KindFeed
	}
	return visits.KindFile
}
