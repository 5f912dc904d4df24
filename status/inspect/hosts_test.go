package inspect

import (
	"testing"
	"time"

	"crawlnode/crawl"
)

// An answer is valid for a second, for its own order.
func TestTopCache(t *testing.T) {
	t.Parallel()
	var c topCache
	if c.get(crawl.SortQueued) != nil {
		t.Error("an answer that nobody gave")
	}
	top := &topHosts{InMemory: 1}
	c.put(crawl.SortQueued, top)
	if c.get(crawl.SortQueued) != top || c.get(crawl.SortErrors) != nil {
		t.Error("not what was put")
	}
	c.last[crawl.SortQueued] = keptTop{time.Now().Add(-topFor), top}
	if c.get(crawl.SortQueued) != nil {
		t.Error("an old answer")
	}
}
