package node

import (
	"testing"

	"crawlnode/crawl"
)

// A node that was taken back judges nothing before it has heard again what the
// others decided meanwhile.
func TestExcludedNodeHearsAgain(t *testing.T) {
	t.Parallel()
	c := testConfig(t, "back")
	n := startNode(t, c)
	converged(t, 1, n)
	n.synced.Store(false)
	if ok, _ := n.Ready(); ok || n.mayCrawl() {
		t.Fatal("a node that knows nothing is ready")
	}
	crawl.Signal(n.excluded)
	until(t, patience, func() string {
		if ok, why := n.Ready(); !ok {
			return why
		}
		return ""
	})
}
