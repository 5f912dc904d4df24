package seedwatch

import (
	"strings"
	"testing"
	"time"

	"crawlnode/crawl"
)

// TestStateOfSeed reads what became of a seed out of the node's reports.
func TestStateOfSeed(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.Local)
	at := func(d time.Duration) *time.Time { x := now.Add(d); return &x }
	text := func(s string) *string { return &s }
	host := func(state string, p crawl.PolitenessReport, next *time.Time) *crawl.HostReport {
		return &crawl.HostReport{Host: "a.test", State: state, Politeness: p, NextAllowedAt: next}
	}
	refused := &crawl.HostFailure{Category: "connect", Reason: "connect: connection refused"}
	answered := host(crawl.HostInFlight, crawl.PolitenessReport{}, nil)
	answered.Robots = []crawl.RobotsSummary{{Origin: "http://a.test"}}
	inBrowser, before := host(crawl.HostLoading, crawl.PolitenessReport{}, nil),
		host(crawl.HostLoading, crawl.PolitenessReport{}, nil)
	inBrowser.Robots = []crawl.RobotsSummary{{Origin: "http://a.test", FetchedAt: *at(-time.Second)}}
	before.Robots = []crawl.RobotsSummary{{Origin: "http://a.test", FetchedAt: *at(-time.Hour)}}
	polite := host(crawl.HostWaiting,
		crawl.PolitenessReport{Address: text("192.0.2.1")}, at(30*time.Second))
	unnamed := host(crawl.HostWaiting, crawl.PolitenessReport{}, at(4*time.Second))
	took := 0.1
	again, slow := host(crawl.HostLoading, crawl.PolitenessReport{AverageLatencySeconds: &took}, nil),
		host(crawl.HostInFlight, crawl.PolitenessReport{AverageLatencySeconds: &took}, nil)
	again.Robots = before.Robots // it is known from an earlier run
	for name, tc := range map[string]struct {
		record      *crawl.RecordReport
		rule        string // of robots.txt
		host        *crawl.HostReport
		fetched     bool
		failed      bool
		cause, does string
	}{
		"fetched": {record: &crawl.RecordReport{State: "done"}, fetched: true},
		"forbidden": {
			record: &crawl.RecordReport{State: "refused", Reason: text("robots.txt says Disallow: /")},
			failed: true,
			cause:  "robots.txt says Disallow: /",
		},
		"blocked": {record: &crawl.RecordReport{
			State:  "failed",
			Reason: text("blocked_address: 10.0.0.1 is in --deny-net"),
		}, failed: true, cause: "10.0.0.1 is in --deny-net"},
		"given up": {
			record: &crawl.RecordReport{State: "failed", Reason: text("host_dead: timeout: no answer")},
			failed: true,
			cause:  "no answer" + advice["timeout"],
		},
		"refused once": {record: &crawl.RecordReport{}, host: host(crawl.HostBackoff,
			crawl.PolitenessReport{
				LastFailure: refused,
				Failures:    1,
			}, at(time.Second)), cause: "connection refused" + advice["connect"], does: "next try in 1s"},
		"refused often": {record: &crawl.RecordReport{}, host: host(crawl.HostBackoff,
			crawl.PolitenessReport{LastFailure: refused, Failures: maxFailures}, nil), failed: true,
			cause: "connection refused" + advice["connect"], does: "connection refused"},
		"failed of its own": {
			record: &crawl.RecordReport{
				Attempts: maxFailures,
				Reason:   text("truncated: the answer broke off"),
			},
			host:   host(crawl.HostWaiting, crawl.PolitenessReport{}, nil),
			failed: true,
			cause:  "the answer broke off",
			does:   "the answer broke off",
		},
		"failed in an earlier run": {record: &crawl.RecordReport{}, host: host(crawl.HostBackoff,
			crawl.PolitenessReport{
				Failures:      4,
				BackoffReason: text("it failed 4 times"),
			}, at(time.Minute)),
			cause: "it was not asked again after an earlier run, in which it failed 4 times",
			does:  "asking a.test again, which failed in an earlier run"},
		"soon again": {record: &crawl.RecordReport{}, host: host(crawl.HostBackoff,
			crawl.PolitenessReport{
				BackoffSeconds: 5,
				BackoffReason:  text("it answered 429"),
			}, at(5*time.Second)), does: "a.test is held back: it answered 429; next try in 5s"},
		"late again": {record: &crawl.RecordReport{}, host: host(crawl.HostBackoff,
			crawl.PolitenessReport{
				Failures:      4,
				HoldUntil:     at(time.Minute),
				BackoffReason: text("it asked for a pause"),
			}, at(time.Minute)), failed: true,
			cause: "its host is held back until 12:01:00: it asked for a pause", does: "held back"},
		"silent": {
			record: &crawl.RecordReport{},
			host:   host(crawl.HostInFlight, crawl.PolitenessReport{}, nil),
			cause:  "the server has not answered yet",
			does:   "asking a.test for robots.txt",
		},
		"a large page": {
			record: &crawl.RecordReport{},
			host:   answered,
			does:   "asking a.test for the first page",
		},
		"no name server": {
			record: &crawl.RecordReport{},
			host:   host(crawl.HostLoading, crawl.PolitenessReport{}, nil),
			cause:  "no name server has answered yet",
			does:   "looking up a.test",
		},
		"names unanswered": {record: &crawl.RecordReport{}, host: unnamed,
			cause: "no name server answers: look at --dns", does: "looking up a.test again; next try in 4s"},
		"in the browser": {
			record: &crawl.RecordReport{},
			host:   inBrowser,
			does:   "shown to the browser",
		},
		"of an earlier run": {
			record: &crawl.RecordReport{},
			host:   before,
			cause:  "no name server has answered yet",
			does:   "looking up a.test",
		},
		"in it again": {record: &crawl.RecordReport{}, host: again, does: "shown to the browser"},
		"a slow page": {
			record: &crawl.RecordReport{},
			host:   slow,
			does:   "asking a.test for the first page",
		},
		"without robots": {
			record: &crawl.RecordReport{},
			rule:   crawl.RobotsIgnored,
			host:   host(crawl.HostInFlight, crawl.PolitenessReport{}, nil),
			does:   "asking a.test for the first page",
		},
		"polite": {record: &crawl.RecordReport{}, host: polite,
			does: "a.test waits for its delay; next request in 30s"},
		"of another node": {record: &crawl.RecordReport{}},
	} {
		if tc.record.State == "" {
			tc.record.State = "queued"
		}
		got := stateOf("http://a.test/",
			&crawl.URLReport{Record: tc.record, Robots: crawl.RobotsReport{Rule: tc.rule}}, tc.host,
			now.Add(-time.Minute), now)
		if got.fetched != tc.fetched || got.failed != tc.failed ||
			!strings.HasPrefix(got.cause, tc.cause) || (got.cause == "") != (tc.cause == "") ||
			!strings.Contains(got.doing, tc.does) || (got.doing == "") != (tc.does == "") {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// A seed that is asked for at another host, because of --normalize www, fails with that rule's
// name.
func TestSeedWithoutWWW(t *testing.T) {
	t.Parallel()
	text := func(s string) *string { return &s }
	for _, tc := range []struct {
		seed, asked string
		says        bool
	}{{"https://www.a.test/", "https://a.test/", true}, {"https://a.test/", "https://a.test/", false},
		{"https://www.a.test/", "https://www.a.test/", false}} {
		r := &crawl.URLReport{
			URL:    &tc.asked,
			Record: &crawl.RecordReport{State: "failed", Reason: text("host_dead: dns: no such host")},
		}
		if got := stateOf(tc.seed, r, nil, time.Time{}, time.Time{}); strings.Contains(got.cause,
			"--normalize www has a.test asked") != tc.says {
			t.Errorf("%s, asked at %s: %s", tc.seed, tc.asked, got.cause)
		}
	}
}

// TestHopeless gives a crawl up only when every seed fails.
func TestHopeless(t *testing.T) {
	t.Parallel()
	failed, failing, fine, fetched := state{failed: true, cause: "x"}, state{
		cause: "x",
	}, state{doing: "x"}, state{fetched: true}
	for name, tc := range map[string]struct {
		states []state
		since  time.Duration
		want   bool
	}{
		"nothing is known":        {nil, time.Hour, false},
		"all have failed":         {[]state{failed, failed}, grace, true},
		"of an earlier run":       {[]state{failed, failed}, grace - 1, false},
		"one may yet come":        {[]state{failed, failing}, patience - 1, false},
		"one has not come":        {[]state{failed, failing}, patience, true},
		"one waits for its delay": {[]state{failed, fine}, time.Hour, false},
		"one was fetched":         {[]state{failed, fetched}, time.Hour, false},
	} {
		if got := hopeless(tc.states, tc.since); got != tc.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
