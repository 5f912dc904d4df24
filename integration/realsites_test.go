package integration

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"
)

// Three nodes crawl the four real sites: every page of the lists is archived, each was asked for
// once, and nginx logged the promised gaps.
func TestThreeNodesCrawlRealSites(t *testing.T) {
	needsProcesses(t)
	t.Parallel()
	const delay = 20 * time.Millisecond
	s := startSites(t)
	var seeds, want []string
	for i := range s.all {
		seeds = append(seeds, s.all[i].start())
		want = append(want, s.expected(t, &s.all[i])...)
	}
	c := newCluster(t, "--dns", s.dns, "--allow-net", "127.0.0.0/8", "--delay", delay.String())
	c.addReady(3)
	c.converged(30 * time.Second)
	sameRing(t, c)

	start := time.Now()
	c.nodes[1].seed(seeds...)
	c.finished(4 * time.Minute)
	t.Logf("crawled in %v", time.Since(start).Round(time.Millisecond))
	samePagesTotal(t, c)
	c.stop()

	archived, byHost := archivedPages(t, c, func(p capture) bool {
		return p.status == 200 && strings.HasPrefix(p.contentType, "text/html")
	})
	sameSet(t, "archived", archived, want)
	if len(archived) != len(want) {
		t.Errorf("%d captures of %d pages", len(archived), len(want))
	}
	for host, nodes := range byHost {
		if len(nodes) != 1 {
			t.Errorf("%s was crawled by %v", host, nodes)
		}
	}
	arrivals := s.arrivals(t)
	smallest := judgePoliteness(t, arrivals, delay)
	judgeOnce(t, arrivals, want)
	t.Logf("%d pages of %d, %d requests, smallest gap %v", len(archived), len(want), len(arrivals),
		smallest)
}

// judgeOnce checks that nginx answered each page exactly once.
func judgeOnce(t *testing.T, all []arrival, want []string) {
	t.Helper()
	answered := map[string][]arrival{}
	for _, a := range all {
		u := "http://" + a.host + a.uri
		answered[u] = append(answered[u], a)
	}
	bad := 0
	for _, u := range want {
		if len(answered[u]) != 1 {
			if bad++; bad <= 5 {
				t.Errorf("%s was requested %d times: %+v", u, len(answered[u]), answered[u])
			}
		}
	}
	if bad > 5 {
		t.Errorf("%d pages were not requested exactly once", bad)
	}
}

// archivedPages reads the archives of all nodes and returns the URLs of the
// captures that match, and by host the names of the nodes that have any capture.
func archivedPages(
	t *testing.T,
	c *cluster,
	match func(capture) bool,
) (urls []string, byHost map[string]map[string]bool) {
	t.Helper()
	byHost = map[string]map[string]bool{}
	for _, n := range c.nodes {
		for _, p := range pages(readWARC(t, n.dir)) {
			host, _, _ := strings.Cut(strings.TrimPrefix(p.url, "http://"), "/")
			if byHost[host] == nil {
				byHost[host] = map[string]bool{}
			}
			byHost[host][n.name] = true
			if match(p) {
				urls = append(urls, p.url)
			}
		}
	}
	return urls, byHost
}

// sameRing checks that all nodes show one table, fully held, and that no node owns more than the
// bound of the ring.
func sameRing(t *testing.T, c *cluster) {
	t.Helper()
	var first ring
	until(t, time.Minute, func() string { // one may show a view that the others do not have yet
		for i, n := range c.living() {
			var r ring
			if err := n.decode("/api/v1/ring", &r); err != nil {
				return err.Error()
			}
			if i == 0 {
				first = r
			}
			if r.View != first.View || r.Digest != first.Digest ||
				len(r.Partitions) != len(first.Partitions) {
				return fmt.Sprintf("%s shows view %d, digest %s, %d partitions; %s shows %d, %s, %d",
					n.name, r.View, r.Digest, len(r.Partitions), c.nodes[0].name, first.View, first.Digest,
					len(first.Partitions))
			}
			for p := range r.Partitions {
				if got, want := r.Partitions[p].Owner, first.Partitions[p].Owner; got != want || got == "" {
					t.Fatalf("partition %d: %s says that %q owns it, %s says %q", p, n.name, got,
						c.nodes[0].name, want)
				}
			}
		}
		return ""
	})
	owned := map[string]int{}
	for _, p := range first.Partitions {
		owned[p.Owner]++
	}
	most := int(math.Ceil(1.25 * math.Floor(float64(len(first.Partitions))/float64(len(c.living())))))
	for owner, count := range owned {
		if count > most {
			t.Errorf("%s owns %d partitions, at most %d", owner, count, most)
		}
	}
	if len(owned) != len(c.living()) {
		t.Errorf("%d owners, %d nodes", len(owned), len(c.living()))
	}
}

// samePagesTotal checks that every node of a finished crawl counts the same.
func samePagesTotal(t *testing.T, c *cluster) int64 {
	t.Helper()
	total := int64(0)
	until(t, time.Minute, func() string { // figures of other nodes are as old as their last renewals
		total = -1
		for _, n := range c.living() {
			s, err := n.status()
			if err != nil {
				return err.Error()
			}
			if total >= 0 && s.Throughput.PagesTotal != total {
				return fmt.Sprintf("%s counts %d pages, another node %d", n.name, s.Throughput.PagesTotal,
					total)
			}
			if s.Crawl.FinishReason == nil || *s.Crawl.FinishReason != "frontier_exhausted" {
				t.Errorf("%s does not say that the frontier is exhausted", n.name)
			}
			total = s.Throughput.PagesTotal
		}
		return ""
	})
	return total
}
