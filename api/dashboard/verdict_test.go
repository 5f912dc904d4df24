package dashboard

import (
	"strings"
	"testing"

	"crawlnode/crawl"
)

func TestVerdict(t *testing.T) {
	t.Parallel()
	reasons := []crawl.HealthReason{
		{Code: crawl.ReasonLowDisk, Message: "the disk of n2 is nearly full"},
		{Code: crawl.ReasonNodeFailed, Message: "n3 failed"},
	}
	for _, tc := range []struct {
		name   string
		change func(*crawl.Status)
		want   verdict
	}{
		{"running", func(*crawl.Status) {}, verdict{
			Level: "ok",
			Word:  "All is well",
			Text:  "12.5 pages per second; not faster because of politeness: 20 hosts wait",
		}},
		{"nothing in the way", func(st *crawl.Status) {
			st.Bottleneck = crawl.BottleneckStatus{
				Cause:   crawl.BottleneckNone,
				Message: "the fetchers keep up",
			}
		}, verdict{
			Level: "ok",
			Word:  "All is well",
			Text:  "12.5 pages per second; the fetchers keep up",
		}},
		{"idle", func(st *crawl.Status) { st.Crawl.State = crawl.CrawlIdle },
			verdict{Level: "ok", Word: "All is well", Text: "nothing to crawl yet; give seeds to start"}},
		{"paused", func(st *crawl.Status) { st.Crawl.State = crawl.CrawlPaused }, verdict{
			Level: "ok",
			Word:  "All is well",
			Text:  "the crawl is paused with 1,234 URLs queued; Resume continues it",
		}},
		{"waiting", func(st *crawl.Status) {
			st.Crawl.State, st.Crawl.Message = crawl.CrawlWaiting, "the next page is due in 3m"
		}, verdict{Level: "ok", Word: "All is well", Text: "the next page is due in 3m"}},
		{"complete", ended(crawl.FinishExhausted), verdict{
			Level: "ok",
			Word:  "All is well",
			Text:  "the crawl is complete with 99 pages; nothing is queued",
		}},
		{"limit of pages", ended(crawl.FinishMaxPages), verdict{
			Level: "ok",
			Word:  "All is well",
			Text: "the crawl has reached its limit of pages with 1,234 URLs queued; " +
				"a higher max-pages continues it",
		}},
		{"limit of time", ended(crawl.FinishMaxDuration), verdict{
			Level: "ok",
			Word:  "All is well",
			Text: "the crawl has reached its limit of time with 1,234 URLs queued; " +
				"a longer max-duration continues it",
		}},
		{"stopped", ended(crawl.FinishStopped), verdict{
			Level: "ok",
			Word:  "All is well",
			Text:  "the crawl was stopped after 99 pages with 1,234 URLs queued; new seeds start it again",
		}},
		{
			"critical",
			func(st *crawl.Status) { st.Cluster.Health = crawl.Health{Level: "critical", Reasons: reasons} },
			verdict{
				Level: "critical",
				Word:  "Not well",
				Text:  "the disk of n2 is nearly full (and 1 more below)",
			},
		},
		{
			"warning",
			func(st *crawl.Status) { st.Cluster.Health = crawl.Health{Level: "warn", Reasons: reasons[1:]} },
			verdict{Level: "warn", Word: "Needs attention", Text: "n3 failed"},
		},
		{"warning while paused", func(st *crawl.Status) {
			st.Cluster.Health, st.Crawl.State = crawl.Health{
				Level:   "warn",
				Reasons: reasons[1:],
			}, crawl.CrawlPaused
		}, verdict{Level: "warn", Word: "Needs attention", Text: "n3 failed; the crawl is paused"}},
	} {
		st := &crawl.Status{
			Bottleneck: crawl.BottleneckStatus{Cause: crawl.BottleneckPoliteness, Message: "20 hosts wait"},
		}
		st.Cluster.Health.Level, st.Crawl.State, st.Frontier.Queued = crawl.HealthOK, crawl.CrawlRunning,
			1234
		st.Throughput.PagesPerSecond.Now, st.Throughput.PagesTotal = 12.5, 99
		tc.change(st)
		got := verdictOf(st)
		names := tc.want.Level != crawl.HealthOK || strings.Contains(tc.want.Text, "because of")
		if names != (got.Title != "") {
			t.Errorf("%s: the title is %q", tc.name, got.Title)
		}
		if got.Title = ""; got != tc.want {
			t.Errorf("%s: %+v, want %+v", tc.name, got, tc.want)
		}
	}
}

func ended(reason string) func(*crawl.Status) {
	return func(st *crawl.Status) {
		st.Crawl.State, st.Crawl.FinishReason = crawl.CrawlFinished, &reason
	}
}
