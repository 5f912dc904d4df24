package pipeline

import (
	"errors"
	"testing"
	"time"

	"crawlnode/crawl"
	"crawlnode/web/fetcher"
	"crawlnode/web/scope"
)

// TestRetryStatuses: an answer that may change soon is no result while the URL has tries left: it
// is neither archived nor followed. The last one is a result, as any other status is at once.
func TestRetryStatuses(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		status   int
		statuses string // "": the default
		attempts int
		retries  int
		kind     crawl.Kind
	}{
		{408, "", 0, 3, crawl.URLFailed}, {425, "", 0, 3, crawl.URLFailed}, {500, "", 0, 3, crawl.URLFailed}, {502, "", 0, 3, crawl.URLFailed},
		{504, "", 2, 3, crawl.URLFailed}, {520, "", 0, 3, crawl.URLFailed}, {526, "", 0, 3, crawl.URLFailed},
		{502, "", 3, 3, crawl.Fetched}, {502, "", 0, 0, crawl.Fetched}, {502, "", 4, 5, crawl.URLFailed}, {502, "none", 0, 3, crawl.Fetched},
		{501, "", 0, 3, crawl.Fetched}, {505, "", 0, 3, crawl.Fetched}, {527, "", 0, 3, crawl.Fetched},
		{404, "", 0, 3, crawl.Fetched}, {410, "", 0, 3, crawl.Fetched},
		{404, "404-410", 0, 3, crawl.URLFailed}, {502, "404-410", 0, 3, crawl.Fetched},
		{200, "", 0, 3, crawl.Fetched}, {302, "", 0, 3, crawl.Fetched},
		{429, "429,503", 0, 3, crawl.RateLimited}, {503, "500-599", 3, 3, crawl.RateLimited}, {503, "none", 0, 0, crawl.RateLimited},
	} {
		b := newBench(t, scope.Options{})
		b.rules.Settings.Archive, b.rules.Settings.RetryStatuses = true, tc.statuses
		b.serve("http://a.test/", tc.status, "Content-Type: text/html\nLocation: /there",
			`<a href="/next">x</a>`)
		b.visit("http://a.test/",
			func(v *crawl.Visit) { v.Item.Attempts, v.Retries = tc.attempts, tc.retries })
		r, o := b.one()
		if r.Kind != tc.kind || o.Kind != tc.kind || o.Status != tc.status {
			t.Errorf("%+v: response %v, outcome %v, %d", tc, r.Kind, o.Kind, o.Status)
		}
		if final := tc.kind == crawl.Fetched; (len(b.captures) == 1) != final ||
			!final && (len(o.Targets) > 0 || o.Reason == "") {
			t.Errorf("%+v: %d captures, targets %v, reason %q", tc, len(b.captures), targets(o.Targets),
				o.Reason)
		}
	}
}

// TestLostConnection: a kept connection that ended without a byte of an answer says nothing about
// the URL or its host, whether a page or robots.txt was wanted.
func TestLostConnection(t *testing.T) {
	t.Parallel()
	for _, robots := range []bool{false, true} {
		for reused, kind := range map[bool]crawl.Kind{true: crawl.Lost, false: crawl.URLFailed} {
			if robots && !reused {
				kind = crawl.HostFailed
			}
			b := newBench(t, scope.Options{})
			at := "http://a.test/"
			if robots {
				at += "robots.txt"
			}
			b.fail(at, &fetcher.Error{
				Category:  fetcher.Protocol,
				Contacted: true,
				Reused:    reused,
				Err:       errors.New("no answer"),
			})
			b.visit("http://a.test/", func(v *crawl.Visit) {
				if robots {
					v.Robots = nil
				}
			})
			if r, o := b.one(); r.Kind != kind || o.Kind != kind || !r.Requested {
				t.Errorf("robots %v, reused %v: %+v, %v", robots, reused, r, o.Kind)
			}
		}
	}
}

// TestTimeLimits: the settings' limits go with each request, that for robots.txt too.
func TestTimeLimits(t *testing.T) {
	t.Parallel()
	for _, robots := range []bool{false, true} {
		b := newBench(t, scope.Options{})
		b.rules.Settings.Timeout, b.rules.Settings.HeaderTimeout = 3*time.Minute, 7*time.Second
		b.serve("http://a.test/", 200, "", "text")
		b.serve("http://a.test/robots.txt", 404, "", "")
		b.visit("http://a.test/", func(v *crawl.Visit) {
			if robots {
				v.Robots = nil
			}
		})
		b.one()
		if r := b.asked[0]; r.Timeout != 3*time.Minute || r.HeadTimeout != 7*time.Second {
			t.Errorf("%s: %v, %v", r.URL, r.Timeout, r.HeadTimeout)
		}
	}
}
