package due

import (
	"math"
	"net/http"
	"time"

	"crawlnode/crawl"
	"crawlnode/recrawl"
)

// CountRevisit counts an answered visit of a page that was due.
func CountRevisit(c *crawl.Counters, status int, v recrawl.Verdict) {
	c.Revisits++
	if status == http.StatusNotModified {
		c.NotModified++
	}
	switch v {
	case recrawl.Unchanged:
		c.Unchanged++
	case recrawl.Changed:
		c.Changed++
	case recrawl.Gone:
		c.Gone++
	case recrawl.Unknown:
	}
}

// CountOverdue counts how late a page is queued; one that is queued before its time counts as not late.
func CountOverdue(c *crawl.Counters, late time.Duration) {
	seconds := int64(math.Ceil(max(late, 0).Seconds()))
	i := 0
	for i < len(crawl.OverdueBuckets) && seconds > crawl.OverdueBuckets[i] {
		i++
	}
	c.Overdue[i]++
}
