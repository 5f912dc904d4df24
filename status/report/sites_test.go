package report

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"crawlnode/crawl"
)

// TestSiteReasons: each trouble with the rules for sites is news with its object, its beginning and
// the remedy, and many of a kind are counted.
func TestSiteReasons(t *testing.T) {
	t.Parallel()
	var onsets siteOnsets
	if rs := siteReasons("n1", crawl.SiteTrouble{}, &onsets, noon); rs != nil {
		t.Errorf("no trouble is news: %+v", rs)
	}
	trouble := crawl.SiteTrouble{
		Secrets: []crawl.MissingSecret{{Secret: "example", Hosts: 1}, {Secret: "other", Hosts: 12, Since: noon.Add(-time.Hour)}},
		Proxies: []crawl.FailingProxy{{Proxy: "socks5://secret:p@127.0.0.1:1080", Error: "connection refused", Since: noon.Add(-time.Minute)}},
		Sources: []crawl.MissingSource{{Address: netip.MustParseAddr("2001:db8::7"), Hosts: 3}},
	}
	for _, later := range []time.Duration{0, time.Hour} { // what has no beginning began when it was seen first
		rs := siteReasons("n1", trouble, &onsets, noon.Add(later))
		want := []struct {
			code  string
			since time.Time
			says  []string
		}{
			{crawl.ReasonSecretMissing, noon, []string{"n1 lacks the secret example, which a rule for sites names; 1 host waits: ", "add a line example=VALUE to the file of --secrets on this node and send it SIGHUP"}},
			{crawl.ReasonSecretMissing, noon.Add(-time.Hour), []string{"the secret other,", "12 hosts wait"}},
			{crawl.ReasonProxyFailing, noon.Add(-time.Minute), []string{"n1 cannot use the proxy socks5://secret:p@127.0.0.1:1080 ", ": connection refused; "}},
			{crawl.ReasonSourceMissing, noon, []string{"n1 does not have the source address 2001:db8::7, which a rule for sites names; 3 hosts wait: "}},
		}
		if len(rs) != len(want) {
			t.Fatalf("%d reasons: %+v", len(rs), rs)
		}
		for i, w := range want {
			if rs[i].Code != w.code || !rs[i].Since.Equal(w.since) {
				t.Errorf("%+v, want %s since %v", rs[i], w.code, w.since)
			}
			for _, says := range w.says {
				if !strings.Contains(rs[i].Message, says) {
					t.Errorf("%q lacks %q", rs[i].Message, says)
				}
			}
		}
	}
	siteReasons("n1", crawl.SiteTrouble{}, &onsets, noon.Add(2*time.Hour)) // it is over
	trouble = crawl.SiteTrouble{Sources: trouble.Sources}
	for i := range 8 {
		trouble.Secrets = append(trouble.Secrets, crawl.MissingSecret{Secret: fmt.Sprint("s", i)})
	}
	rs := siteReasons("n1", trouble, &onsets, noon.Add(3*time.Hour))
	if len(rs) != sitesTold+1 || !strings.HasSuffix(rs[sitesTold-1].Message, " (and 3 more)") ||
		strings.Contains(rs[0].Message, "more)") || !rs[sitesTold].Since.Equal(noon.Add(3*time.Hour)) {
		t.Errorf("of 8 secrets and an address: %+v", rs)
	}
	for _, r := range rs {
		if !slices.Contains(crawl.HealthReasons[:], r.Code) {
			t.Errorf("%s is not among the reasons", r.Code)
		}
	}
}
