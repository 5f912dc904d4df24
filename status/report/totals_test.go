package report

import (
	"testing"

	"crawlnode/crawl"
)

func TestFetchCounters(t *testing.T) {
	t.Parallel()
	var f fetchCounters
	for kind := crawl.Fetched; kind <= crawl.Aborted; kind++ { // every kind is known
		f.observe(&crawl.Outcome{Kind: kind, Status: 200, Bytes: 10, LinksFound: 2, Skip: crawl.SkipTrap, Category: crawl.ErrTLS})
	}
	f.observe(&crawl.Outcome{Kind: crawl.Fetched, Status: 599, IsSitemap: true})
	f.observe(&crawl.Outcome{Kind: crawl.Fetched, Status: 600})
	f.observe(&crawl.Outcome{Kind: crawl.Fetched, Status: 101})
	for _, cut := range []string{"length", "time", "disconnect", ""} {
		f.observe(&crawl.Outcome{Kind: crawl.Fetched, Status: 101, Truncated: cut})
	}
	f.observe(&crawl.Outcome{Kind: crawl.Aborted, Category: crawl.ErrProxy})
	c := f.read()
	if c.Errors[crawl.ErrProxy] != 1 {
		t.Errorf("%d failures of proxies, want 1", c.Errors[crawl.ErrProxy])
	}
	if c.Pages != 7 || c.Errors[crawl.ErrTruncated] != 3 || c.Responses[3] != 1 || c.Skipped[crawl.SkipTrap] == 0 || c.Errors[crawl.ErrTLS] == 0 || c.Robots != 1 {
		t.Errorf("%+v", c)
	}
}
