package frontier

import (
	"math"
	"net/http"
	"time"

	"crawlnode/crawl"
	"crawlnode/recrawl/visits"
)

// countRevisit counts an answered visit of a page that was due.
func countRevisit(c *crawl.Counters, status int, v visits.Verdict) {
	c.Revisits++
	if status == http.StatusNotModified {
		c.NotModified++
	}
	switch v {
	case visits.Unchanged:
		c.Unchanged++
	case visits.Changed:
		c.Changed++
	case visits.Gone:
		c.Gone++
	case visits.Unknown:
	}
}

// countOverdue counts how late a page is queued; one that is queued before its time counts as not
// late.
func countOverdue(c *crawl.Counters, late time.Duration) {
	seconds := int64(math.Ceil(max(late, 0).Seconds()))
	i := 0
	for i < len(crawl.OverdueBuckets) && seconds > crawl.OverdueBuckets[i] {
		i++
	}
	c.Overdue[i]++
}
