package analysis

import "crawlnode/crawl"

// URL is the analysis that a report makes.
func URL(r *crawl.URLReport) *crawl.URLAnalysis {
	a := &crawl.URLAnalysis{
		URL:           r.Input,
		NormalizedURL: r.URL,
		Status:        statusOf(r),
		FetchHistory:  []crawl.FetchAnalysis{},
		RobotsStatus:  crawl.RobotsAnalysis{Rule: r.Robots.Rule, CrawlDelay: r.Robots.CrawlDelaySeconds},
		LinkAnalysis: crawl.LinkAnalysis{
			InboundLinks:  r.Links.In,
			OutboundLinks: r.Links.Out,
			PageRank:      r.Links.Importance,
		},
	}
	switch r.Robots.Verdict {
	case crawl.RobotsSaysAllowed:
		a.RobotsStatus.Allowed = new(bool)
		*a.RobotsStatus.Allowed = true
	case crawl.RobotsSaysForbidden, crawl.RobotsSaysUnreachable:
		a.RobotsStatus.Allowed = new(bool)
	}
	for i := range r.History {
		v := &r.History[i]
		f := crawl.FetchAnalysis{Timestamp: v.At, StatusCode: v.Status, ResponseTime: v.Milliseconds}
		if i == 0 && r.Record != nil {
			f.ContentHash = r.Record.Digest
		}
		a.FetchHistory = append(a.FetchHistory, f)
	}
	return a
}

// statusOf is a URL's state in one of four words; nil: it was not found, or is not known.
func statusOf(r *crawl.URLReport) *string {
	word := ""
	switch {
	case r.Record != nil:
		word = map[string]string{
			crawl.Queued.String(): crawl.AnalysisPending, crawl.Done.String(): crawl.AnalysisFetched,
			crawl.Failed.String(): crawl.AnalysisError, crawl.RefusedForever.String(): crawl.AnalysisBlocked,
		}[r.Record.State]
		if r.Record.Wall != nil && word == crawl.AnalysisPending {
			word = crawl.AnalysisError // what waits is one more try
		}
		if word == crawl.AnalysisPending && r.Record.FetchedAt != nil {
			word = crawl.AnalysisFetched // it is queued for a further visit
		}
	case r.Unanswered != nil:
	case r.URL != nil && (!r.Scope.Admit || r.Robots.Verdict == crawl.RobotsSaysForbidden):
		word = crawl.AnalysisBlocked
	}
	if word == "" {
		return nil
	}
	return &word
}
