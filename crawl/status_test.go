package crawl

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestStatusNamesEveryField checks that no field of the document is left out when it is unknown:
// unknown is null.
func TestStatusNamesEveryField(t *testing.T) {
	t.Parallel()
	out, err := json.Marshal(Status{Nodes: []NodeStatus{{}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{
		"api_version", "served_by", "finish_reason", "takeover_seconds", "eta_seconds", "by_band",
		"avg_1m",
		"blocked_address", "host_budget", "p99", "suppressed_by_sent_cache", "lease_remaining_seconds",
		"paused_reason",
	} {
		if !strings.Contains(string(out), `"`+name+`":`) {
			t.Errorf("field %q is missing in %s", name, out)
		}
	}
	var back Status
	if err := json.Unmarshal(out, &back); err != nil {
		t.Fatal(err)
	}
}

func TestLatencyQuantiles(t *testing.T) {
	t.Parallel()
	var c Counters
	if q := c.LatencyQuantiles(); q.P50 != nil || q.P99 != nil {
		t.Fatalf("quantiles of nothing = %v, want null", q)
	}
	for range 98 {
		c.Observe(4)
	}
	c.Observe(400)
	c.Observe(1 << 40)
	q := c.LatencyQuantiles()
	if *q.P50 != 0.004 || *q.P90 != 0.004 || *q.P99 != 0.5 {
		t.Errorf("quantiles = %v %v %v, want 0.004 0.004 0.5", *q.P50, *q.P90, *q.P99)
	}
	c.Observe(1 << 40)
	c.Observe(1 << 40)
	if q = c.LatencyQuantiles(); *q.P99 != 60 {
		t.Errorf("p99 = %v, want the last bound", *q.P99)
	}
}
