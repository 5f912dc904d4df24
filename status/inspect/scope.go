package inspect

import (
	"errors"
	"fmt"

	"crawlnode/crawl"
	"crawlnode/settings/crawldoc"
	"crawlnode/web/scope"
	"crawlnode/web/urlnorm"
)

// startReport parses the URL. If it is not a URL to crawl, the report is complete.
func startReport(raw string) (*crawl.URLReport, urlnorm.URL) {
	r := &crawl.URLReport{Input: raw, Robots: crawl.RobotsReport{Verdict: crawl.RobotsSaysUnknown}, History: []crawl.VisitReport{}}
	u, err := urlnorm.ParseRouted(raw)
	if err != nil {
		r.Scope = crawl.ScopeReport{Reason: skipReasonOf(err).String(), Rule: err.Error()}
		r.Summary = "not a URL to crawl: " + err.Error()
		return r, u
	}
	text, host := u.String(), crawl.Host(u.Host())
	r.URL, r.Host, r.Robots.Origin = &text, &host, u.Origin()
	return r, u
}

// skipReasonOf classifies a text that is not a URL to crawl, as skipped_by_reason does.
func skipReasonOf(err error) crawl.SkipReason {
	switch {
	case errors.Is(err, urlnorm.ErrScheme):
		return crawl.SkipScheme
	case errors.Is(err, urlnorm.ErrTooLong):
		return crawl.SkipTooLong
	}
	return crawl.SkipInvalid
}

// depthOf is the depth at which the rules judge a URL: sitemap files have none, and an unknown URL
// counts as a link on a seed's page.
func depthOf(rec *crawl.RecordReport) int {
	switch {
	case rec == nil:
		return 1
	case rec.Via == crawl.ViaSitemapFile.String():
		return 0
	}
	return rec.Depth
}

func scopeReport(v scope.Verdict, depth int) crawl.ScopeReport {
	return crawl.ScopeReport{Admit: v.Admit, Reason: v.Reason, Rule: v.Rule, Suspicious: v.Suspicious, Depth: depth}
}

// JudgeScope returns the scope's verdict on a URL under settings and seeds without a cluster; the
// report has no other parts. A negative depth means that of a seed if the URL is one, else that of
// a link on a seed's page.
func JudgeScope(s crawl.Settings, seeds []string, raw string, depth int) (*crawl.URLReport, error) {
	rules, err := crawldoc.CompileScope(&s)
	if err != nil {
		return nil, err
	}
	r, u := startReport(raw)
	if r.URL == nil {
		return r, nil
	}
	var opened []string
	given := depth
	if depth < 0 {
		depth = 1
	}
	for _, seed := range seeds {
		su, err := urlnorm.Parse(seed)
		if err != nil {
			return nil, fmt.Errorf("seed %q: %w", seed, err)
		}
		opened = append(opened, rules.EntryOf(su))
		if su == u && given < 0 {
			depth = 0
		}
	}
	r.Scope = scopeReport(rules.Decide(u, depth, scope.NewSeeds(opened)), depth)
	r.Summary = summaryOf(r)
	return r, nil
}
