package node

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"reflect"
	"slices"
	"sync"
	"testing"

	"crawlnode/crawl"
)

// setting is a change of one setting, for a version or "".
func setting(name, value, version string) crawl.CrawlChange {
	return crawl.CrawlChange{
		Version:  version,
		Settings: map[string]json.RawMessage{name: json.RawMessage(value)},
	}
}

// made is what a node says of its change.
type made struct {
	err error
	// untold: it has not reached the other nodes that make a change, in time.
	// Theirs may win yet.
	untold bool
}

// atOnce lets each node make its change at the same time, and waits until all nodes
// have the same settings.
func atOnce(
	t *testing.T,
	nodes []*running,
	changes ...crawl.CrawlChange,
) (all []made, now crawl.CrawlReport) {
	t.Helper()
	all = make([]made, len(changes))
	start := make(chan struct{})
	var wg sync.WaitGroup
	for i, c := range changes {
		wg.Go(func() {
			<-start
			report, err := nodes[i].ChangeCrawl(t.Context(), c)
			all[i].err = err
			for j := range changes {
				all[i].untold = all[i].untold || j != i && slices.Contains(report.Untold, nodes[j].name)
			}
		})
	}
	close(start)
	wg.Wait()
	until(t, patience, func() string {
		var err error
		if now, err = nodes[0].CrawlConfig(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, n := range nodes[1:] {
			if other, err := n.CrawlConfig(t.Context()); err != nil || !reflect.DeepEqual(other, now) {
				return fmt.Sprintf("%+v\n%+v, %v", now, other, err)
			}
		}
		return ""
	})
	return all, now
}

// Two nodes are told to change the settings at the same time. All nodes end with the
// same settings; both changes hold, or one where they name the same setting; and of two
// that were made for the same version exactly one is made, the other refused. A node that
// could not tell the other one in time, on a busy machine, says so: then the other one's
// change may be the only one that holds.
func TestTwoChangesAtOnce(t *testing.T) {
	t.Parallel()
	nodes := []*running{startNode(t, testConfig(t, "a"))}
	for _, name := range []string{"b", "c"} {
		c := testConfig(t, name)
		c.Join = []string{nodes[0].Info().Gossip}
		c.RPC = "127.97.0.1:0" // where nobody else takes the port of a node that has ended
		nodes = append(nodes, startNode(t, c))
	}
	converged(t, 3, nodes...)
	rounds := 8
	if testing.Short() {
		rounds = 2
	}
	for i := range rounds {
		depth, pages := 3+i, int64(1000+i)
		all, now := atOnce(t, nodes, setting("max_depth", fmt.Sprint(depth), ""),
			setting("max_pages", fmt.Sprint(pages), ""))
		first, second := now.Settings.Text("max_depth") == fmt.Sprint(depth),
			now.Settings.Text("max_pages") == fmt.Sprint(pages)
		if !holds(all[0], first) || !holds(all[1], second) || !first && !second {
			t.Fatalf("two settings: %+v, %+v", all, now)
		}
		all, now = atOnce(t, nodes, setting("max_depth", "1", ""), setting("max_depth", "2", ""))
		if all[0].err != nil || all[1].err != nil ||
			!slices.Contains([]string{"1", "2"}, now.Settings.Text("max_depth")) {
			t.Fatalf("one setting: %+v, %+v", all, now)
		}
		oneOfTwo(t, nodes, now.Version, depth, pages+100)
	}
	// Nor does it matter that a third member is silent, for whom both wait in vain.
	rpc := nodes[2].Info().RPC
	nodes[2].Stop()
	nodes[2].ended(t, patience)
	silent, err := net.Listen("tcp", rpc) // which nobody accepts from
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	for i := range 2 { // not each time one of the two is told while it waits
		now, err := nodes[0].CrawlConfig(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		oneOfTwo(t, nodes[:2], now.Version, 50+i, 5000+int64(i))
	}
}

// holds reports whether what a node said of its change is true: that it was made. Only
// one that the other node was not told of may be gone.
func holds(m made, inForce bool) bool { return m.err == nil && (inForce || m.untold) }

// oneOfTwo lets two nodes be told different things for the same version.
func oneOfTwo(t *testing.T, nodes []*running, version string, depth int, pages int64) {
	t.Helper()
	all, now := atOnce(t, nodes, setting("max_depth", fmt.Sprint(depth), version),
		setting("max_pages", fmt.Sprint(pages), version))
	first, second := now.Settings.Text("max_depth") == fmt.Sprint(depth),
		now.Settings.Text("max_pages") == fmt.Sprint(pages)
	if first == second {
		t.Fatalf("two for version %s: %+v, %+v", version, all, now)
	}
	for i, inForce := range []bool{first, second} {
		refused := !inForce && errors.Is(all[i].err, crawl.ErrChanged)
		if !refused && !holds(all[i], inForce) {
			t.Errorf("two for version %s, change %d: %+v, %+v", version, i, all[i], now)
		}
	}
}
