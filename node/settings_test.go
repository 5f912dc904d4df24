package node

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"reflect"
	"sync"
	"testing"

	"crawlnode/crawl"
)

// setting is a change of one setting, for a version or "".
func setting(name, value, version string) crawl.CrawlChange {
	return crawl.CrawlChange{Version: version, Settings: map[string]json.RawMessage{name: json.RawMessage(value)}}
}

// atOnce lets each node make its change at the same time, and waits until all nodes
// have the same settings.
func atOnce(t *testing.T, nodes []*running, changes ...crawl.CrawlChange) (errs []error, now crawl.CrawlReport) {
	t.Helper()
	errs = make([]error, len(changes))
	start := make(chan struct{})
	var wg sync.WaitGroup
	for i, c := range changes {
		wg.Go(func() {
			<-start
			_, errs[i] = nodes[i].ChangeCrawl(t.Context(), c)
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
	return errs, now
}

// Two nodes are told to change the settings at the same time. All nodes end with the
// same settings; both changes hold, or one where they name the same setting; and of two
// that were made for the same version exactly one is made, the other refused.
func TestTwoChangesAtOnce(t *testing.T) {
	t.Parallel()
	nodes := []*running{startNode(t, testConfig(t, "a"))}
	for _, name := range []string{"b", "c"} {
		c := testConfig(t, name)
		c.Join = []string{nodes[0].Info().Gossip}
		nodes = append(nodes, startNode(t, c))
	}
	converged(t, 3, nodes...)
	for i := range 8 {
		depth, pages := 3+i, int64(1000+i)
		errs, now := atOnce(t, nodes, setting("max_depth", fmt.Sprint(depth), ""), setting("max_pages", fmt.Sprint(pages), ""))
		if err := errors.Join(errs...); err != nil || now.Settings.MaxDepth != depth || now.Settings.MaxPages != pages {
			t.Fatalf("two settings: %v, %+v", err, now)
		}
		errs, now = atOnce(t, nodes, setting("max_depth", "1", ""), setting("max_depth", "2", ""))
		if err := errors.Join(errs...); err != nil || now.Settings.MaxDepth != 1 && now.Settings.MaxDepth != 2 {
			t.Fatalf("one setting: %v, %+v", err, now)
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

// oneOfTwo lets two nodes be told different things for the same version.
func oneOfTwo(t *testing.T, nodes []*running, version string, depth int, pages int64) {
	t.Helper()
	errs, now := atOnce(t, nodes, setting("max_depth", fmt.Sprint(depth), version), setting("max_pages", fmt.Sprint(pages), version))
	first, second := now.Settings.MaxDepth == depth, now.Settings.MaxPages == pages
	if first == second || (errs[0] == nil) != first || (errs[1] == nil) != second {
		t.Fatalf("two for version %s: %v, %+v", version, errs, now)
	}
	for _, err := range errs {
		if err != nil && !errors.Is(err, crawl.ErrChanged) {
			t.Errorf("the refused one: %v", err)
		}
	}
}
