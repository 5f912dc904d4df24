package integration

import (
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// ringCell is a partition in /api/v1/ring.
type ringCell struct {
	Partition int
	Owner     string
	Holder    *string
	State     string
	Epoch     int
	URLs      *int
	InSync    []string `json:"in_sync"`
	Reason    *string
}

// cells asks a node for the ring and checks that each partition is consistent.
func (n *node) cells() ([]ringCell, error) {
	var doc struct{ Partitions []ringCell }
	if err := n.decode("/api/v1/ring", &doc); err != nil {
		return nil, err
	}
	for _, p := range doc.Partitions {
		byOwner := p.Holder != nil && *p.Holder == p.Owner
		ok := false
		switch p.State {
		case "held":
			ok = byOwner
		case "moving":
			ok = p.Holder != nil && !byOwner
		case "frozen":
			ok = p.Epoch > 0
		case "promoting", "unknown":
			ok = p.Holder == nil
		case "offline":
			ok = p.Holder == nil && p.Reason != nil && len(p.InSync) > 0
		}
		if !ok || p.Holder != nil && (p.Epoch == 0 || p.URLs == nil || p.Reason != nil) {
			n.c.t.Fatalf("%s says what cannot be: %+v", n.name, p)
		}
	}
	return doc.Partitions, nil
}

// ringIs waits until every running node reports each partition as want.
func (c *cluster) ringIs(want func(ringCell) string) {
	c.t.Helper()
	until(c.t, time.Minute, func() string {
		for _, n := range c.living() {
			cells, err := n.cells()
			if err != nil {
				return fmt.Sprintf("%s: %v", n.name, err)
			}
			for _, p := range cells {
				if wrong := want(p); wrong != "" {
					return fmt.Sprintf("%s says: %+v; %s", n.name, p, wrong)
				}
			}
		}
		return ""
	})
}

func allHeld(p ringCell) string {
	if p.State != "held" || len(p.InSync) != 1 || p.InSync[0] != p.Owner {
		return "it should be held, with its holder alone in the set"
	}
	return ""
}

// The ring names the nodes of each partition at each step: while nodes join, when the only copy of
// some is gone with its node, and when that node is back.
func TestRingSaysWhoIsNeeded(t *testing.T) {
	needsProcesses(t)
	t.Parallel()
	c := newCluster(t, "--allow-net", "127.0.0.0/8", "--replication", "1", "--partitions", "512")
	c.addReady(3)
	c.ringIs(allHeld)
	lost := c.nodes[2]
	before, err := lost.cells()
	if err != nil {
		t.Fatal(err)
	}
	s, err := lost.status()
	if err != nil {
		t.Fatal(err)
	}
	var id string
	for _, n := range s.Nodes {
		if n.Name == lost.name {
			id = n.ID
		}
	}
	lost.signal(syscall.SIGKILL)
	lost.exit(t, 10*time.Second)
	gone := 0
	for _, p := range before {
		if *p.Holder == id {
			gone++
		}
	}
	if gone == 0 {
		t.Fatal("the third node held nothing")
	}
	c.ringIs(func(p ringCell) string {
		switch {
		case *before[p.Partition].Holder != id:
			return allHeld(p)
		case p.State != "offline" || !slices.Equal(p.InSync, []string{id}) ||
			!strings.Contains(*p.Reason, id):
			return "it should be offline until " + id + " is back"
		}
		return ""
	})
	lost.start()
	c.ringIs(allHeld)
	c.stop()
}
