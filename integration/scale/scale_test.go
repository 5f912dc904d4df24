//race:none

package main

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"crawlnode/crawl"
)

// small is what a commit's check has time for.
var small = []string{"-nodes", "3,10", "-partitions", "512,1024", "-hosts", "20000", "-urls", "1e6",
	"-most", "5000"}

func output(t *testing.T, args ...string) string {
	t.Helper()
	s, err := parse(args, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := s.print(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// TestSameSeedSameTables: what is not measured is a pure function of the flags.
func TestSameSeedSameTables(t *testing.T) {
	t.Parallel()
	args := append(small[:len(small):len(small)], "-measure=false")
	first := output(t, args...)
	if second := output(t, args...); first != second {
		t.Errorf("the same seed gives two outputs:\n%s\n%s", first, second)
	}
	if other := output(t, append(args, "-seed", "2")...); first == other {
		t.Error("another seed changes nothing")
	}
	if rows := strings.Count(first, "\n| 10 | 1024 |"); rows != 4 { // two exponents, moves, heirs
		t.Errorf("10 nodes with 1024 partitions have %d rows, want 4:\n%s", rows, first)
	}
}

// TestMeasures: times and bytes are there, and a link weighs a little more than
// its URL.
func TestMeasures(t *testing.T) {
	t.Parallel()
	out := output(t, small...)
	_, row, ok := strings.Cut(out, "\n| 1000 | ")
	bytesOut, _, _ := strings.Cut(row, " ")
	if !ok || bytesOut < "85" || bytesOut > "99" {
		t.Errorf("a link of %d bytes in a batch of 1000 weighs %q", linkURLBytes, bytesOut)
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"-nodes", "2"}, {"-nodes", "1024", "-partitions", "1024"}, {"-nodes", "ten"}, {"-partitions", "0"}, {"-partitions", "70000"},
		{"-hosts", "0"}, {"-urls", "5"}, {"-most", "0"}, {"-exponents", "-1"}, {"-exponents", "one"}, {"more"}, {"-unknown"},
	} {
		if s, err := parse(args, io.Discard); err == nil {
			t.Errorf("%v is read as %+v", args, s)
		}
	}
}

// TestBurdens: nothing is lost between hosts, partitions and nodes.
func TestBurdens(t *testing.T) {
	t.Parallel()
	s := settings{
		nodes:      []int{5},
		partitions: []int{512},
		hosts:      1000,
		urls:       50_000,
		most:       100,
		seed:       3,
	}
	cases, err := s.solve(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	parts, err := s.burdens(t.Context(), 1, s.partitions)
	if err != nil {
		t.Fatal(err)
	}
	var sum burden
	for _, b := range cases[0].onNodes(parts[512]) {
		sum.add(b)
	}
	if sum.partitions != 512 || sum.hosts != 1000 || sum.urls < 49_999 || sum.urls > 50_001 ||
		sum.pages >= sum.urls || sum.pages < 1000 {
		t.Errorf("five nodes have %+v together", sum)
	}
}

// TestUneven: two of four have everything.
func TestUneven(t *testing.T) {
	t.Parallel()
	u := unevenness([]burden{{hosts: 2}, {hosts: 2}, {}, {}},
		func(b burden) float64 { return b.hosts })
	if u.most != 2 || u.deviation != 1 {
		t.Errorf("most %v and deviation %v over the mean, want 2 and 1", u.most, u.deviation)
	}
}

// TestChangesAdd: a node that leaves gives away all that it had, and nothing else if nothing moves
// sideways; its heirs are the first replicas.
func TestChangesAdd(t *testing.T) {
	t.Parallel()
	c := &oneCase{nodes: 8, partitions: 1024}
	if err := c.solve(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	if want := 2 * trials(8); len(c.changes) != want {
		t.Fatalf("%d changes, want %d", len(c.changes), want)
	}
	for _, ch := range c.changes {
		own := c.table.OwnedBy(ch.node)
		if ch.join != (len(own) == 0) {
			t.Errorf("%s: join %v, and it has %d partitions before", ch.node, ch.join, len(own))
		}
		if ch.join {
			continue
		}
		want := map[crawl.NodeID]int{}
		for _, p := range own {
			want[c.table.Replicas(p)[0]]++
		}
		for id, n := range want {
			if ch.heirs[id] != n {
				t.Errorf("%s goes: %s takes %d of its partitions, has %d replicas of them", ch.node, id,
					ch.heirs[id], n)
			}
		}
		if ch.moved != len(own)+ch.sideways {
			t.Errorf("%s goes: %d partitions move, it had %d, and %d move sideways", ch.node, ch.moved,
				len(own), ch.sideways)
		}
		// Each partition that lost a copy gets one.
		if lost := len(own); ch.copies < lost {
			t.Errorf("%s goes: %d copies are made, it held %d partitions", ch.node, ch.copies, lost)
		}
	}
}
