package status

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"crawlnode/crawl"
)

// told lists events by their codes, and their nodes if they have one.
func told(events []crawl.Event) string {
	var b strings.Builder
	for _, e := range events {
		fmt.Fprint(&b, " ", e.Code)
		if e.Node != "" {
			fmt.Fprint(&b, "=", e.Node)
		}
	}
	return strings.TrimPrefix(b.String(), " ")
}

func TestLookout(t *testing.T) {
	t.Parallel()
	full := crawl.HealthReason{Code: crawl.ReasonLowDisk, Message: "n2 is full", Since: noon}
	lost := crawl.HealthReason{Code: crawl.ReasonPartitionsLost, Message: "lost", Since: noon}
	failed := crawl.HealthReason{Code: crawl.ReasonNodeFailed, Message: "has an event of its own", Since: noon}
	var o Lookout
	for i, s := range []struct {
		ofNode, ofCluster []crawl.HealthReason
		moving            bool
		want              string
	}{
		{nil, nil, false, ""},
		{nil, nil, true, "handoff_began"},
		{[]crawl.HealthReason{full}, []crawl.HealthReason{full, failed}, true, "trouble=n2"},
		{[]crawl.HealthReason{full}, []crawl.HealthReason{full, lost}, false, "handoff_ended trouble"},
		{nil, []crawl.HealthReason{lost}, false, "trouble_over=n2"},
		{nil, nil, false, "trouble_over"},
	} {
		p := Picture{Now: noon.Add(time.Duration(i) * time.Second), Nodes: []Node{{Counts: true, Heard: true, State: crawl.NodeAlive}}}
		p.Nodes[0].Block.Node.Name, p.Nodes[0].Block.Reasons = "n2", s.ofNode
		st := &crawl.Status{}
		st.Ring.Handoff = crawl.HandoffStatus{Active: s.moving, PartitionsTotal: 5, PartitionsDone: 2}
		st.Cluster.Health.Reasons = s.ofCluster
		events := o.Look(&p, st)
		if got := told(events); got != s.want {
			t.Errorf("%d: %q, want %q", i, got, s.want)
		}
		for _, e := range events {
			if e.Code == crawl.EventHandoffEnded && e.Fields["seconds"] != 2.0 || e.Code == crawl.EventTrouble && e.Node == "n2" && e.Level != crawl.EventError {
				t.Errorf("%d: %+v", i, e)
			}
		}
	}
}
