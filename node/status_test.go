package node

import (
	"encoding/json"
	"testing"

	"crawlnode/crawl"
)

// A running node knows everything of itself.
func TestBlockIsWhole(t *testing.T) {
	t.Parallel()
	n := startNode(t, testConfig(t, "whole"))
	converged(t, 1, n)
	until(t, patience, func() string {
		st := statusOf(t, n.Node).Nodes[0]
		raw, err := json.Marshal(st)
		if err != nil {
			t.Fatal(err)
		}
		var fields map[string]any
		if err := json.Unmarshal(raw, &fields); err != nil {
			t.Fatal(err)
		}
		for k, v := range fields {
			if v == nil && k != "paused_reason" && k != "zone" { // this node has neither
				return k + " is null"
			}
		}
		return ""
	})
	s, err := n.Status(t.Context(), true)
	if err != nil || len(s.Nodes) != 1 || s.ServedBy != "whole" {
		t.Errorf("the node alone: %+v, %v", s, err)
	}
	nodes, err := n.Nodes(t.Context())
	if err != nil || len(nodes) != 1 || nodes[0].ID != n.id {
		t.Errorf("nodes %+v, %v", nodes, err)
	}
}

// reasonOf finds a health reason by its code.
func reasonOf(s *crawl.Status, code string) (crawl.HealthReason, bool) {
	for _, r := range s.Cluster.Health.Reasons {
		if r.Code == code {
			return r, true
		}
	}
	return crawl.HealthReason{}, false
}
