package node

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"crawlnode/config"
	"crawlnode/crawl"
	"crawlnode/simweb"
)

// TestSitesLive gives the hosts of a crawl that waits for an hour each a shorter delay, by a rule
// for their domain, while it runs. It goes on at once, and keeps the delay of the rule.
func TestSitesLive(t *testing.T) {
	t.Parallel()
	const delay = 200 * time.Millisecond
	web, srv := newWeb(t,
		simweb.Config{Seed: 11, Hosts: 4, PagesPerHost: 4, PageBytes: 1000, Delay: delay})
	c := testConfig(t, "alone")
	c.DNS, c.Delay = []string{srv.DNS.String()}, time.Hour
	n := startNode(t, c)
	converged(t, 1, n)
	seed(t, n, web)
	until(t, patience, func() string {
		if s := statusOf(t, n.Node); s.Frontier.Hosts.Waiting == 0 {
			return fmt.Sprintf("no host waits: %+v", s.Frontier)
		}
		return ""
	})
	if n.sites() != nil || n.indexRules().On {
		t.Errorf("before: %v, the index is on: %v", n.sites(), n.indexRules().On)
	}
	rule := fmt.Sprintf("- match: domain:%s\n  delay: %v\n  index: true\n  priority: 0.9\n",
		web.Domain(), delay)
	if _, err := n.ChangeCrawl(t.Context(), setting("sites", fmt.Sprintf("%q", rule), "")); err !=
		nil {
		t.Fatal(err)
	}
	finished(t, crawl.FinishExhausted, n)
	if r := web.Report(); r.ErrButDuplicates() != nil {
		t.Error(r.ErrButDuplicates())
	}
	if !n.indexRules().On {
		t.Error("a rule has pages indexed, and the index is off")
	}
}

// TestSitesNeedABrowser checks that a node whose rules have pages shown does not start without a
// browser, and that one whose rules do not, does.
func TestSitesNeedABrowser(t *testing.T) {
	t.Parallel()
	for mode, want := range map[string]error{"all": ErrUsage, "auto": ErrUsage, `"off"`: nil} {
		c := testConfig(t, "one")
		c.Browser = t.TempDir() + "/no-browser"
		c.Sites = config.Sites{Text: "- match: host:a.test\n  render: " + mode + "\n"}
		n, err := Open(Options{Config: c, Version: "test"})
		if !errors.Is(err, want) || want == nil && err != nil {
			t.Errorf("render: %s: %v", mode, err)
		}
		if err == nil {
			n.close()
			n.http.Close()
		}
	}
}
