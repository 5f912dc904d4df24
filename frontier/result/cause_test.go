package result

import (
	"testing"

	"crawlnode/crawl"
	"crawlnode/web/wall"
)

// TestCauseOf: the cause of a failed URL is the class that its sentence begins with, behind words
// about the host or robots.txt.
func TestCauseOf(t *testing.T) {
	t.Parallel()
	for reason, want := range map[string]string{
		"": "",
		"blocked_address: 127.0.0.2 is an address of this node " +
			"or of a peer": "blocked_address",
		"robots.txt: blocked_address: 127.0.0.2 is an address of this node " +
			"or of a peer": "blocked_address",
		"host_dead: robots.txt: timeout: no answer in time":                "timeout",
		"host_dead: the host has no address that may be asked: no contact": "blocked_address",
		"the host has no address: NXDOMAIN":                                "dns",
		"robots.txt of http://a.test could not be read":                    "other",
		"blocked: a bot wall (cloudflare)":                                 "blocked",
		"host_dead: blocked: a bot wall (other)":                           "blocked", "blocked: a bot " +
			"wall (nobody)": "other",
		"robots.txt of http://a.test: blocked: " +
			"a bot wall (anubis)": "blocked",
		"robots.txt: something: else": "other",
		"robots.txt of http://a.test: http://b.test/x, where it redirects to: " +
			"connect: refused": "connect",
		"robots.txt of http://a.test: http://b.test/x, where it redirects to: the host has no address: " +
			"NXDOMAIN": "dns",
	} {
		if got := CauseOf(&crawl.Record{State: crawl.Failed, Reason: reason}); got != want {
			t.Errorf("%q: %q, want %q", reason, got, want)
		}
	}
}

// TestReasonOf: behind a wall the reason is one word, and the product stands apart; else it is as
// stored.
func TestReasonOf(t *testing.T) {
	t.Parallel()
	const walled = "host_dead: it asks to be left alone until 2030-01-01T00:00:00Z, " +
		"and nothing else is left to fetch (blocked: a bot wall (aws-waf))"
	for _, tc := range []struct {
		rec             crawl.Record
		reason, product string
	}{
		{crawl.Record{State: crawl.Queued, Reason: crawl.WallReason(wall.Cloudflare)}, "blocked", "cloudflare"},
		{crawl.Record{State: crawl.Failed, Reason: crawl.WallReason(wall.Other), Status: 503}, "blocked", "other"},
		{crawl.Record{State: crawl.Failed, Reason: walled}, "blocked", "aws-waf"},
		{crawl.Record{State: crawl.Failed, Reason: "timeout: x"}, "timeout: x", ""},
		{crawl.Record{State: crawl.Done, Reason: crawl.WallReason(wall.Cloudflare)}, crawl.WallReason(wall.Cloudflare), ""},
		{crawl.Record{State: crawl.Done}, "", ""},
	} {
		if reason, product := ReasonOf(&tc.rec); reason != tc.reason || product != tc.product {
			t.Errorf("%+v: %q, %q", tc.rec, reason, product)
		}
	}
	if why, ok := GiveUp(&crawl.Record{State: crawl.Failed, Reason: walled}); !ok ||
		why != crawl.GaveUpBlocked || why.String() != "blocked" {
		t.Errorf("given up for %v, %v", why, ok)
	}
}
