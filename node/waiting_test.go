package node

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"crawlnode/config"
	"crawlnode/crawl"
)

// TestOneOfTwoRestartedAlone: it says that it waits for the other, since when and what to
// do, and that is all; forgetting the other one ends it.
func TestOneOfTwoRestartedAlone(t *testing.T) {
	t.Parallel()
	var cfgs []config.Config
	var nodes []*running
	for i, name := range []string{"first", "second"} {
		c := testConfig(t, name)
		if i > 0 {
			c.Join = []string{nodes[0].Info().Gossip}
		}
		cfgs = append(cfgs, c)
		nodes = append(nodes, startNode(t, c))
	}
	converged(t, 2, nodes...)
	for _, n := range nodes {
		n.Stop()
	}
	for _, n := range nodes {
		n.ended(t, patience)
	}
	began := time.Now()
	alone := startNode(t, cfgs[0])
	until(t, patience, func() string {
		s := statusOf(t, alone.Node)
		r, ok := reasonOf(s, crawl.ReasonWaitsForMembers)
		if !ok || !strings.Contains(r.Message, "forget second") {
			return "it does not say that it waits for the second node"
		}
		if r.Since.Before(began.Add(-time.Second)) || s.Cluster.Health.Level != crawl.HealthCritical {
			t.Errorf("%+v, want it critical, since %v", s.Cluster.Health, began)
		}
		if len(s.Cluster.Health.Reasons) != 1 { // a busy machine may be a reason for a moment
			return fmt.Sprintf("%+v, want the one reason", s.Cluster.Health)
		}
		return ""
	})
	if err := alone.ForgetMember(t.Context(), nodes[1].id); err != nil {
		t.Fatal(err)
	}
	until(t, patience, func() string {
		if _, waits := reasonOf(statusOf(t, alone.Node), crawl.ReasonWaitsForMembers); waits {
			return "it still waits"
		}
		_, why := alone.Ready()
		return why
	})
}
