package inspect

import (
	"testing"
	"time"

	"crawlnode/crawl"
)

func TestSummaries(t *testing.T) {
	t.Parallel()
	reason, status, now := "robots.txt says Disallow: /", 200, time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for want, r := range map[string]*crawl.URLReport{
		"it is refused (trap): again and again":                                                  {Scope: crawl.ScopeReport{Reason: "trap", Rule: "again and again"}},
		"its record is not known: n2 is away":                                                    {Unanswered: &[]string{"n2 is away"}[0], Scope: crawl.ScopeReport{Admit: true}},
		"it was not found yet; it would be admitted":                                             {Scope: crawl.ScopeReport{Admit: true}},
		"it was not found yet; the scope would admit it, and robots.txt forbids it":              {Scope: crawl.ScopeReport{Admit: true}, Robots: crawl.RobotsReport{Verdict: crawl.RobotsSaysForbidden}},
		"it was not found yet; it would be admitted to the lowest band, under its host's budget": {Scope: crawl.ScopeReport{Admit: true, Suspicious: true}},
		"it was fetched at 2026-03-01T12:00:00Z and answered 200":                                {Record: &crawl.RecordReport{State: "done", Status: &status, FetchedAt: &now}},
		"it was given up: " + reason:                                                             {Record: &crawl.RecordReport{State: "failed", Reason: &reason}},
		"it was refused: " + reason:                                                              {Record: &crawl.RecordReport{State: "refused", Reason: &reason}},
		"it is queued in band 3, after 2 failed attempts, the last: too slow; crawlnode hosts show tells why its host waits": {Record: &crawl.RecordReport{State: "queued", Band: 3, Attempts: 2, Reason: &[]string{"too slow"}[0]}},
		"it is queued in band 3, after 2 failed attempts; crawlnode hosts show tells why its host waits":                     {Record: &crawl.RecordReport{State: "queued", Band: 3, Attempts: 2}},
	} {
		if got := summaryOf(r); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
