package inspect

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"crawlnode/crawl"
	"crawlnode/frontier"
	"crawlnode/frontier/listing"
	"crawlnode/ring"
)

// listed are the URLs of the partitions that a fakeNode holds, in order.
type listed map[crawl.Partition][]crawl.URLLine

// List is a store's page: without filters, as large as the budget allows.
func (n *fakeNode) List(_ context.Context, p crawl.Partition, _ *listing.Filter, after listing.Position, b listing.Budget) (listing.Page, error) {
	lines, ok := n.urls[p]
	if !ok {
		return listing.Page{}, fmt.Errorf("%w: partition %d", frontier.ErrNotHolder, p)
	}
	from := 0
	for from < len(lines) && placeOf(&lines[from]) <= after {
		from++
	}
	to := min(from+b.Lines, len(lines))
	page := listing.Page{Lines: lines[from:to], Done: to == len(lines), Read: to - from}
	if to > from {
		page.Next = placeOf(&lines[to-1])
	}
	return page, nil
}

func placeOf(l *crawl.URLLine) listing.Position {
	_, at, err := listing.ParseCursor(listing.CursorOf(l))
	if err != nil {
		panic(err)
	}
	return at
}

// fillPartitions gives each partition some URLs: none, a few, or more than a page. Holders take turns.
func fillPartitions(holders []*fakeNode, rng *rand.Rand) (all []string) {
	hosts := map[crawl.Partition]crawl.Host{}
	for n := 0; len(hosts) < partitions; n++ {
		h := crawl.Host(fmt.Sprintf("h%d.test", n))
		hosts[ring.PartitionOf(h, partitions)] = h
	}
	for p := range crawl.Partition(partitions) {
		lines := []crawl.URLLine{}
		for n := range []int{0, 3, 40}[rng.IntN(3)] {
			l := crawl.URLLine{URL: fmt.Sprintf("http://%s/%d", hosts[p], n), Host: hosts[p], Partition: p}
			lines = append(lines, l)
			all = append(all, l.URL)
		}
		slices.SortFunc(lines, func(a, b crawl.URLLine) int { return strings.Compare(string(placeOf(&a)), string(placeOf(&b))) })
		holders[int(p)%len(holders)].hold(p, lines)
	}
	return all
}

func (n *fakeNode) hold(p crawl.Partition, lines []crawl.URLLine) {
	if n.urls == nil {
		n.urls = listed{}
	}
	n.urls[p] = lines
}

// listPages walks all pages at a node, and calls between after each.
func listPages(t *testing.T, n *fakeNode, q crawl.URLQuery, between func()) (urls []string, unread []crawl.UnreadPartition) {
	t.Helper()
	for range 1000 {
		page, err := n.Inspector.List(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		if len(page.URLs) > q.Limit {
			t.Fatalf("%d lines, wanted %d", len(page.URLs), q.Limit)
		}
		for _, l := range page.URLs {
			urls = append(urls, l.URL)
		}
		unread = append(unread, page.Unread...)
		if page.Next == nil {
			return urls, unread
		}
		q.After = *page.Next
		between()
	}
	t.Fatal("the list has no end")
	return nil, nil
}

// TestListOfAll: the pages of any node have each URL of the cluster once, in one order, also when
// partitions move between two pages.
func TestListOfAll(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	for range 20 {
		nodes := newCluster(t, "a", "b", "c")
		holders := []*fakeNode{nodes["a"], nodes["b"], nodes["c"]}
		want := fillPartitions(holders, rng)
		move := func() {
			from, to := holders[rng.IntN(3)], holders[rng.IntN(3)]
			for p, lines := range from.urls {
				delete(from.urls, p)
				to.hold(p, lines)
				return
			}
		}
		got, unread := listPages(t, nodes["b"], crawl.URLQuery{Limit: 1 + rng.IntN(50)}, move)
		if len(unread) > 0 {
			t.Fatalf("not read: %+v", unread)
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Fatalf("%d URLs, want %d", len(got), len(want))
		}
	}
}

// TestListNamesWhatItLacks: a partition that nobody holds, or whose holder is silent, is named with
// the place from which it is missing, and the list goes on behind it.
func TestListNamesWhatItLacks(t *testing.T) {
	t.Parallel()
	nodes := newCluster(t, "a", "b")
	all := fillPartitions([]*fakeNode{nodes["a"], nodes["b"]}, rand.New(rand.NewPCG(1, 1)))
	lost := nodes["b"].urls[3]
	delete(nodes["b"].urls, 3)
	urls, unread := listPages(t, nodes["a"], crawl.URLQuery{Limit: 7}, func() {})
	if len(urls) != len(all)-len(lost) || len(unread) != 1 || unread[0].Partition != 3 || unread[0].After != listing.Cursor(3, "") {
		t.Fatalf("%d URLs of %d, not read: %+v", len(urls), len(all), unread)
	}
	nodes["b"].hold(3, lost)
	p := crawl.Partition(3)
	if urls, unread = listPages(t, nodes["a"], crawl.URLQuery{Limit: 7, Partition: &p, After: unread[0].After}, func() {}); len(urls) != len(lost) || len(unread) > 0 {
		t.Fatalf("%d URLs of partition 3, want %d", len(urls), len(lost))
	}
	for _, q := range []crawl.URLQuery{{After: "x"}, {State: "x"}, {Partition: ptr(crawl.Partition(partitions))}} {
		if _, err := nodes["a"].Inspector.List(t.Context(), q); !errors.Is(err, crawl.ErrBadQuery) {
			t.Errorf("%+v: %v", q, err)
		}
	}
}

func ptr[T any](v T) *T { return &v }
