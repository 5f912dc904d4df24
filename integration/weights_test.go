package integration

import (
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"
)

// placedNode is what /status says of a node's place.
type placedNode struct {
	ID, Name string
	Weight   int
	Zone     *string
}

func (n *node) places() (map[string]placedNode, error) {
	var doc struct{ Nodes []placedNode }
	if err := n.decode("/status", &doc); err != nil {
		return nil, err
	}
	all := map[string]placedNode{}
	for _, p := range doc.Nodes {
		all[p.Name] = p
	}
	return all, nil
}

// say runs a verb against the node.
func (n *node) say(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), binary(t),
		append(args, "--addr", n.http)...).CombinedOutput()
	if err != nil {
		t.Fatalf("crawlnode %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// placed waits until all nodes say so of one of them: "4 b", or "1 -" for no zone.
func (c *cluster) placed(name, want string) {
	c.t.Helper()
	until(c.t, time.Minute, func() string {
		for _, n := range c.living() {
			all, err := n.places()
			if err != nil {
				return fmt.Sprintf("%s: %v", n.name, err)
			}
			zone := "-"
			if z := all[name].Zone; z != nil {
				zone = *z
			}
			if got := fmt.Sprint(all[name].Weight, " ", zone); got != want {
				return fmt.Sprintf("%s says that %s is at %s, not %s", n.name, name, got, want)
			}
		}
		return ""
	})
}

// shares waits until every partition has its copies where they should be: in another zone than its
// holder. It returns how many partitions each node holds, by name.
func (c *cluster) shares() map[string]int {
	c.t.Helper()
	c.whole(3 * time.Minute)
	held := map[string]int{}
	until(c.t, time.Minute, func() string {
		clear(held)
		n := c.living()[0]
		all, err := n.places()
		if err != nil {
			return err.Error()
		}
		names, zones := map[string]string{}, map[string]string{}
		for _, p := range all {
			names[p.ID], zones[p.ID] = p.Name, "alone: "+p.ID
			if p.Zone != nil {
				zones[p.ID] = *p.Zone
			}
		}
		var r ring
		if err := n.decode("/api/v1/ring", &r); err != nil {
			return err.Error()
		}
		for _, p := range r.Partitions {
			if p.Holder != p.Owner {
				return fmt.Sprintf("partition %d has not arrived at its owner", p.Partition)
			}
			if !slices.ContainsFunc(p.InSync, func(id string) bool { return zones[id] != zones[p.Holder] }) {
				return fmt.Sprintf("partition %d of %s (zone %s) is in sync on %v only", p.Partition,
					names[p.Holder], zones[p.Holder], p.InSync)
			}
			held[names[p.Holder]]++
		}
		return ""
	})
	return held
}

// bound fails if a node holds more than its weight allows: package ring has the bound.
func bound(t *testing.T, held, weights map[string]int) {
	t.Helper()
	total := 0
	for _, w := range weights {
		total += w
	}
	unit := (5*(512/total) + 3) / 4 // ceil(1.25 * floor(512/total))
	for name, w := range weights {
		if held[name] > w*unit || held[name] == 0 {
			t.Errorf("%s of weight %d in %d holds %d of 512 partitions, at most %d are its share", name, w,
				total, held[name], w*unit)
		}
	}
	t.Logf("weights %v: partitions %v", weights, held)
}

// TestWeightsAndZones: three nodes of weights 1, 1 and 4 in two zones share the partitions out by
// their weights, with each copy in the other zone. While they crawl, weight and zone change by
// verbs; then a node is lost whose heir may be in its own zone. The web server sees every page
// once, and every gap.
func TestWeightsAndZones(t *testing.T) {
	needsProcesses(t)
	t.Parallel()
	f := newTrial(t, &scenario{name: "weights-and-zones", duplicates: 0.01, shape: long}, testSeed(t))
	defer func() { // before the processes end
		if t.Failed() {
			f.dump()
		}
	}()
	n1 := f.add("--zone", "a")
	n1.ready()
	n2, n3 := f.add("--zone", "a"), f.add("--weight", "4", "--zone", "b")
	n2.ready()
	n3.ready()
	f.c.placed("n1", "1 a")
	f.c.placed("n2", "1 a")
	f.c.placed("n3", "4 b")
	bound(t, f.c.shares(), map[string]int{"n1": 1, "n2": 1, "n3": 4})

	f.seedAll(n2)
	f.crawlTo(0.05, 0.1)
	if out := n2.say(t, "nodes", "weight", "n1", "3"); !strings.Contains(out, "has weight 3") {
		t.Errorf("nodes weight: %q", out)
	}
	f.c.placed("n1", "3 a")
	n1.say(t, "nodes", "weight", "n3", "2")
	n1.say(t, "nodes", "zone", "n2", "c d") // a third zone, for a while
	f.c.placed("n3", "2 b")
	f.c.placed("n2", "1 c d")
	bound(t, f.c.shares(), map[string]int{"n1": 3, "n2": 1, "n3": 2})
	f.Logf("the places have changed at %d pages", f.web.Progress())
	n3.say(t, "nodes", "zone", "n2", "a")
	f.c.placed("n2", "1 a")
	f.c.shares()

	// What was changed outlives a restart with the same flags; n1's heirs are n2, in its own zone,
	// and n3, which has the copies.
	f.kill(n3)
	f.restart(n3)
	f.c.placed("n3", "2 b")
	f.c.shares()
	f.destroy(n1)
	f.c.finished(5 * time.Minute)
	f.ended = time.Now()
	f.judge()
	f.c.kill()
}
