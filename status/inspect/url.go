package inspect

import (
	"context"
	"encoding/base32"
	"fmt"
	"strings"
	"time"

	"crawlnode/crawl"
	"crawlnode/frontier"
	"crawlnode/frontier/result"
	"crawlnode/ring"
	"crawlnode/web/robots"
	"crawlnode/web/urlnorm"
)

// URL reports what the cluster knows of a URL and how the rules judge it. A depth that is not
// negative replaces the record's own (that of a link from a seed, when there is no record). A text
// that is not a URL to crawl gives a report, not an error. An unknown URL for which another one
// stands (--normalize) is reported as that one, and a fragment of which there is no record as the page without it.
func (i *Inspector) URL(ctx context.Context, raw string, depth int) (*crawl.URLReport, error) {
	r := i.reportURL(ctx, raw, depth)
	if r.URL == nil || r.Record != nil {
		return r, nil
	}
	u, err := urlnorm.ParseStored(*r.URL)
	if err != nil {
		panic("BUG: " + err.Error()) // it is canonical
	}
	same := i.o.Documents.Current().Pipeline.Normalize.Apply(u)
	if same == u && u.Route() == "" {
		return r, nil
	}
	if same != u {
		r = i.reportURL(ctx, same.String(), depth)
	}
	if r.Record == nil && u.Route() != "" {
		r = i.reportURL(ctx, same.WithoutRoute().String(), depth)
	}
	r.Input = raw
	return r, nil
}

func (i *Inspector) reportURL(ctx context.Context, raw string, depth int) *crawl.URLReport {
	r, u := startReport(raw)
	if r.URL == nil {
		return r
	}
	p := ring.PartitionOf(*r.Host, i.o.Cluster.Partitions())
	owner := i.o.Cluster.Ref(i.o.Cluster.Owner(p))
	r.Partition, r.Owner = &p, &owner
	a, holder, err := i.askHolder(ctx, p, question{URL: u.String()})
	if holder != "" {
		ref := i.o.Cluster.Ref(holder)
		r.Holder = &ref
	}
	if err != nil {
		why := err.Error()
		r.Unanswered = &why
	}
	if r.Record = a.Record; a.Robots != nil {
		r.Robots = *a.Robots
	}
	if v := a.Visits; v != nil {
		r.History, r.NextVisitAt, r.ChangeIntervalSeconds, r.Referrer = v.History, v.NextAt, v.ChangeSeconds, v.Referrer
		r.Render, r.Preferences = v.Render, v.Preferences
	}
	if a.Links != nil {
		r.Links = *a.Links
	}
	book := i.o.Documents.Current()
	if depth < 0 {
		depth = depthOf(r.Record)
	}
	v := book.Rules.Decide(u, depth, i.o.Documents.Seeds)
	if !v.Admit && r.Record != nil && r.Record.Via == crawl.ViaAsset.String() && book.Doc.Settings.Assets {
		v = book.Rules.DecideAsset(u)
	}
	r.Scope = scopeReport(v, depth)
	if r.Record == nil && r.Scope.Suspicious && a.Spent {
		r.Scope = crawl.ScopeReport{Reason: crawl.SkipHostBudget.String(), Depth: depth,
			Rule: "the host has used its budget of URLs that look like a trap (--max-suspicious-per-host); this one is " + r.Scope.Rule}
	}
	r.Summary = summaryOf(r)
	return r
}

// spent reports whether a host with so many URLs that look like a trap may have no more.
func (i *Inspector) spent(suspicious int64) bool {
	most := i.o.Store.SuspiciousPerHost()
	return most > 0 && suspicious >= most
}

// urlAnswer describes a URL of a partition held here.
func (i *Inspector) urlAnswer(p crawl.Partition, canonical string, info frontier.HostInfo) (answer, error) {
	u, err := urlnorm.ParseStored(canonical)
	if err != nil {
		panic("BUG: " + err.Error()) // the caller has parsed it
	}
	rec, ok, err := i.o.Store.Record(p, u)
	if err != nil {
		return answer{}, err
	}
	book := i.o.Documents.Current()
	settings := &book.Doc.Settings
	if site := book.Pipeline.Sites.Of(u); site != nil {
		settings = site.Settings
	}
	r := robotsReport(u, info.Robots, settings)
	a := answer{Robots: &r, Spent: i.spent(info.State.Suspicious)}
	if ok {
		if err := i.o.Store.Refer(p, &rec); err != nil {
			return answer{}, err
		}
		a.Record = i.recordReport(&rec)
		a.Visits = visitsOf(&rec, i.o.Documents.Current().Doc.Settings.Revisits(), time.Now())
		if i.o.Links != nil {
			if a.Links, err = i.o.Links(p, u); err != nil {
				return answer{}, err
			}
		}
	}
	return a, nil
}

// recordReport shows a record to people.
func (i *Inspector) recordReport(rec *crawl.Record) *crawl.RecordReport {
	r := &crawl.RecordReport{
		State: rec.State.String(), Depth: rec.Depth, Band: rec.Band, Via: rec.Via.String(), Hops: rec.Hops, Attempts: rec.Attempts,
		NotBefore: timeOrNil(rec.NotBefore), FetchedAt: timeOrNil(rec.FetchedAt),
	}
	if rec.Status != 0 {
		r.Status = &rec.Status
	}
	if reason, product := result.ReasonOf(rec); reason != "" {
		r.Reason = &reason
		if product != "" {
			r.Wall = &product
		}
	}
	if rec.Digest != ([20]byte{}) {
		text := "sha1:" + base32.StdEncoding.EncodeToString(rec.Digest[:])
		r.Digest = &text
	}
	if rec.DuplicateOf != "" {
		r.DuplicateOf = &rec.DuplicateOf
	}
	if rec.NearOf != "" {
		r.NearDuplicateOf = &rec.NearOf
	}
	if a := rec.Archive; a != (crawl.ArchiveRef{}) {
		r.Archive = &crawl.ArchiveReport{Node: i.o.Cluster.Ref(a.Node), File: a.File, Offset: a.Offset, Length: a.Length}
	}
	return r
}

// robotsReport is the verdict of the stored robots.txt of u's origin. An expired entry still
// counts: it was obeyed last.
func robotsReport(u urlnorm.URL, entries []*crawl.Robots, s *crawl.Settings) crawl.RobotsReport {
	r := crawl.RobotsReport{Verdict: crawl.RobotsSaysUnknown, Origin: u.Origin(), Rule: "robots.txt of this origin was not read yet; it is read before the first page"}
	if s.RobotsIgnore {
		r.Rule = crawl.RobotsIgnored
	}
	for _, e := range entries {
		if e.Origin != u.Origin() {
			continue
		}
		r.FetchedAt, r.ExpiresAt = timeOrNil(e.Fetched), timeOrNil(e.Expires)
		if e.Status != 0 {
			r.Status = &e.Status
		}
		if e.CrawlDelay > 0 {
			delay := e.CrawlDelay.Seconds()
			r.CrawlDelaySeconds = &delay
		}
		switch e.Verdict {
		case crawl.RobotsAllowAll:
			r.Verdict, r.Rule = crawl.RobotsSaysAllowed, "there is no robots.txt, so everything is allowed"
		case crawl.RobotsDenyAll:
			r.Verdict, r.Rule = crawl.RobotsSaysUnreachable, "robots.txt is unavailable, so nothing is fetched"
		default:
			r.Verdict, r.Rule = robotsVerdict(e.Body, u, s.Agent())
		}
	}
	return r
}

// robotsVerdict applies the rules of a robots.txt.
func robotsVerdict(body []byte, u urlnorm.URL, agent string) (verdict, rule string) {
	allowed, line := robots.Parse(body, agent).Explain(u.String())
	if line == "" {
		line = "no line matches, so it is allowed"
	}
	if !allowed {
		return crawl.RobotsSaysForbidden, line
	}
	return crawl.RobotsSaysAllowed, line
}

// nowRefused says of a page that was fetched that it would not be admitted now.
func nowRefused(r *crawl.URLReport) string {
	if r.Scope.Admit || !strings.HasPrefix(r.Scope.Rule, "exclude ") {
		return "" // what is a part of a page was fetched all the same
	}
	return "; it is not visited again while the crawl has the rule " + r.Scope.Rule
}

// summaryOf describes in one sentence the result, or the expected result, for a URL.
func summaryOf(r *crawl.URLReport) string {
	rec := r.Record
	switch {
	case rec == nil && r.Unanswered != nil:
		return "its record is not known: " + *r.Unanswered
	case rec == nil && !r.Scope.Admit:
		return "it is refused (" + r.Scope.Reason + "): " + r.Scope.Rule
	case rec == nil && r.Robots.Verdict == crawl.RobotsSaysForbidden:
		return "it was not found yet; the scope would admit it, and robots.txt forbids it"
	case rec == nil && r.Scope.Suspicious:
		return "it was not found yet; it would be admitted to the lowest band, under its host's budget"
	case rec == nil:
		return "it was not found yet; it would be admitted"
	}
	reason := ""
	if rec.Reason != nil {
		reason = ": " + *rec.Reason
	}
	switch rec.State {
	case crawl.Done.String():
		if rec.Status != nil && rec.FetchedAt != nil {
			return fmt.Sprintf("it was fetched at %s and answered %d%s%s",
				rec.FetchedAt.Format(time.RFC3339), *rec.Status, reason, nowRefused(r))
		}
		return "it was fetched" + reason + nowRefused(r)
	case crawl.Failed.String():
		return "it was given up" + reason
	case crawl.RefusedForever.String():
		return "it was refused" + reason
	}
	if rec.Attempts > 0 {
		last := ""
		if reason != "" {
			last = ", the last" + reason
		}
		return fmt.Sprintf("it is queued in band %d, after %d failed attempts%s; crawlnode hosts show tells why its host waits", rec.Band, rec.Attempts, last)
	}
	return fmt.Sprintf("it is queued in band %d; crawlnode hosts show tells why its host waits", rec.Band)
}
