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
	c := f.read()
	if c.Pages != 7 || c.Errors[crawl.ErrTruncated] != 3 || c.Responses[3] != 1 || c.Skipped[crawl.SkipTrap] == 0 || c.Errors[crawl.ErrTLS] == 0 || c.Robots != 1 {
		t.Errorf("%+v", c)
	}
}
