package cli

import (
	"context"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"crawlnode/api"
	"crawlnode/cli/command"
	"crawlnode/crawl"
)

// recrawled is a node with a few URLs, which remembers what it was asked to fetch again.
type recrawled struct {
	fakeNode
	mu    sync.Mutex
	asked []crawl.Seed
	busy  int // so many requests are answered 503
}

func (n *recrawled) AddSeeds(_ context.Context, seeds []crawl.Seed) (r crawl.SeedReport, _ error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.busy--; n.busy >= 0 {
		return r, context.DeadlineExceeded
	}
	n.asked = append(n.asked, seeds...)
	for _, s := range seeds {
		switch {
		case strings.Contains(s.URL, "unknown"), strings.Contains(s.URL, "excluded"):
			r.OutOfScope++
		case strings.Contains(s.URL, "queued"):
			r.Duplicates++
		default:
			r.Accepted++
		}
	}
	return r, nil
}

func (n *recrawled) ExplainURL(_ context.Context, u string, _ int) (*crawl.URLReport, error) {
	r := &crawl.URLReport{Input: u, URL: &u}
	if !strings.Contains(u, "unknown") {
		r.Record = &crawl.RecordReport{State: "done"}
	}
	r.Scope.Admit, r.Scope.Rule = !strings.Contains(u, "excluded"), "--exclude *excluded*"
	return r, nil
}

func (n *recrawled) ListURLs(_ context.Context, q crawl.URLQuery) (*crawl.URLPage, error) {
	lines := map[string][]crawl.URLLine{
		"a.test": {{URL: "http://a.test/1", State: crawl.ListDone},
			{URL: "http://a.test/2", State: crawl.ListFailed},
			{URL: "http://a.test/3", State: crawl.ListSkipped},
			{URL: "http://a.test/4", State: crawl.ListQueued}},
		"out.test": {{URL: "http://out.test/excluded", State: crawl.ListDone}},
	}[q.Host]
	next := "second"
	if q.Host != "a.test" {
		return &crawl.URLPage{URLs: lines}, nil
	}
	if q.After == next {
		return &crawl.URLPage{URLs: lines[2:]}, nil
	}
	return &crawl.URLPage{URLs: lines[:2], Next: &next}, nil
}

// TestURLsRecrawl: what is asked for again, and what people are told.
func TestURLsRecrawl(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		args, stdin string
		code        int
		out, errout string
		asked       string // paths
	}{
		{"--host a.test", "", command.ExitOK, "urls: 2 queued again, 1 waiting already\n", "", "/1 /2"},
		{"--host a.test --match *", "", command.ExitOK, "urls: 2 queued again", "", "/1 /2"},
		{"http://a.test/1 http://a.test/queued", "", command.ExitOK, "urls: 1 queued again, 1 waiting already\n", "", "/1 /queued"},
		{"-", "http://a.test/1\n# no\nhttp://a.test/5\n", command.ExitOK, "urls: 2 queued again", "", "/1 /5"},
		{"http://a.test/1 http://a.test/unknown http://a.test/excluded", "", command.ExitOK,
			"urls: 1 queued again", "http://a.test/unknown: is not known", "/1 /unknown /excluded"},
		{"http://a.test/excluded", "", command.ExitUsage, "", "is out of scope: --exclude *excluded*", "/excluded"},
		{"http://a.test/unknown", "", command.ExitUsage, "", "none of the URLs is known", "/unknown"},
		{"--host out.test", "", command.ExitUsage, "", "the 1 URL that matches is out of scope by now", "/excluded"},
		{"--host none.test", "", command.ExitUsage, "", "nothing matched: no URL of host none.test was fetched yet", ""},
		{"--match regex:x", "", command.ExitUsage, "", "nothing matched: no URL that matches regex:x", ""},
		{"--match x --host none.test", "", command.ExitUsage, "", "nothing matched: no URL of host none.test that matches x", ""},
		{"", "", command.ExitUsage, "", "no URL was given", ""},
		{"http://a.test/1 --host a.test", "", command.ExitUsage, "", "not both", ""},
		{"a.test/1", "", command.ExitUsage, "", "has no scheme", ""},
	} {
		n := &recrawled{}
		s := httptest.NewServer(api.New(n, api.Options{}))
		r := run(t, tc.stdin, append(append([]string{"urls", "recrawl"}, strings.Fields(tc.args)...),
			"--addr", s.Listener.Addr().String())...)
		s.Close()
		r.want(t, tc.code, tc.out, tc.errout)
		var paths []string
		for _, seed := range n.asked {
			if !seed.Again || !seed.Known {
				t.Errorf("%s: %+v", tc.args, seed)
			}
			paths = append(paths, seed.URL[strings.LastIndex(seed.URL, "/"):])
		}
		if got := strings.Join(paths, " "); got != tc.asked {
			t.Errorf("%s: asked for %q, want %q", tc.args, got, tc.asked)
		}
	}
}

// TestURLsRecrawlWaits: a batch that cannot be stored yet is sent again.
func TestURLsRecrawlWaits(t *testing.T) {
	t.Parallel()
	n := &recrawled{busy: 1}
	s := httptest.NewServer(api.New(n, api.Options{}))
	defer s.Close()
	run(t, "", "urls", "recrawl", "--host", "a.test", "--addr", s.Listener.Addr().String()).want(t,
		command.ExitOK, "urls: 2 queued again, 1 waiting already\n", "")
	if len(n.asked) != 2 {
		t.Errorf("asked for %+v", n.asked)
	}
}
