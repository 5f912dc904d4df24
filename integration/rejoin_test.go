package integration

import (
	"fmt"
	"testing"
	"time"

	"crawlnode/crawl"
)

// TestServedWhenItSaysSo: a node comes back after the others have removed it, when all have been
// stopped. It has its partitions on its disk, and may not serve them before the fence after its
// former process is over. From the moment on at which a node says that the change is over, every
// partition is served.
func TestServedWhenItSaysSo(t *testing.T) {
	t.Parallel()
	needsProcesses(t)
	c := newCluster(t)
	c.addReady(3)
	c.converged(time.Minute)
	c.stop()
	last := c.nodes[2]
	for _, n := range c.nodes[:2] {
		n.start()
	}
	var before int // the view without the node
	until(t, time.Minute, func() string {
		var s crawl.Status
		if err := c.nodes[0].decode("/status", &s); err != nil {
			return err.Error()
		}
		before = int(s.Ring.View)
		for _, n := range s.Nodes {
			if n.Name == last.name && n.State == crawl.NodeAlive || s.Ring.Served == 0 {
				return fmt.Sprintf("view %d, %d served, %+v", before, s.Ring.Served, n)
			}
		}
		return ""
	})
	last.start()
	watched := 0
	until(t, time.Minute, func() string {
		var s crawl.Status
		if err := c.nodes[0].decode("/status", &s); err != nil {
			return err.Error()
		}
		r := &s.Ring
		if int(r.View) <= before || r.LastChange.TakeoverSeconds == nil {
			return fmt.Sprintf("view %d, last change %+v", r.View, r.LastChange)
		}
		if watched++; r.Served != r.Partitions {
			t.Fatalf("%d of %d partitions are served, and the change is said to be over after %.3f s: %+v",
				r.Served, r.Partitions, *r.LastChange.TakeoverSeconds, s.Cluster.Health.Reasons)
		}
		if watched < 50 {
			return "not watched for long"
		}
		return ""
	})
	c.stop()
}
