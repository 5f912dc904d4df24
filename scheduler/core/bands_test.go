//race:none

package core

import (
	"testing"

	"crawlnode/crawl"
)

// TestShares serves eight bands that always have somebody ready and counts.
func TestShares(t *testing.T) {
	t.Parallel()
	q := newBandQueue(Config{}.withDefaults().Shares)
	for b := range crawl.Band(crawl.Bands) {
		for range 3 {
			q.push(&host{domain: &domain{}, state: crawl.HostState{Requests: int64(b)}}, b)
		}
	}
	const rounds = 100
	var served [crawl.Bands]int
	for range 36 * rounds {
		h := q.pop()
		b := crawl.Band(h.state.Requests)
		served[b]++
		q.push(h, b)
	}
	for b, n := range served {
		if want := (crawl.Bands - b) * rounds; n < want-2 || n > want+2 {
			t.Errorf("band %d had %d visits of %d, want about %d", b, n, 36*rounds, want)
		}
	}
}

// TestShareOfLateBand checks that a band that was empty for long gets its share
// and no more: it saved nothing up.
func TestShareOfLateBand(t *testing.T) {
	t.Parallel()
	q := newBandQueue(Config{}.withDefaults().Shares)
	busy, late := &host{name: "busy", domain: &domain{}}, &host{name: "late", domain: &domain{}}
	for range 1000 {
		q.push(busy, 0)
		q.pop()
	}
	q.push(busy, 0)
	q.push(late, 7)
	n := map[*host]int{}
	for range 90 {
		h := q.pop()
		n[h]++
		if h == late {
			q.push(h, 7)
		} else {
			q.push(h, 0)
		}
	}
	if n[late] < 9 || n[late] > 11 {
		t.Errorf("the late band had %d of 90 visits, want about 10", n[late])
	}
}

// TestDomainsInTurn: however many hosts a domain has ready, another domain's only one
// is next but one.
func TestDomainsInTurn(t *testing.T) {
	t.Parallel()
	q := newBandQueue(Config{}.withDefaults().Shares)
	many, one := &domain{}, &domain{}
	for range 1000 {
		q.push(&host{domain: many}, 0)
	}
	q.push(&host{name: "one", domain: one}, 0)
	gone := &host{domain: one}
	q.push(gone, 0)
	gone.line.remove(gone)
	var at []int
	for i := range 1001 {
		if q.pop().name == "one" {
			at = append(at, i)
		}
	}
	if len(at) != 1 || at[0] != 1 || q.pop() != nil {
		t.Errorf("the only host of its domain was taken out at %v of 1001, want at 1", at)
	}
}

func TestLineKeepsOrder(t *testing.T) {
	t.Parallel()
	var l line
	hosts := make([]*host, 5)
	for i := range hosts {
		hosts[i] = &host{}
		l.push(hosts[i])
	}
	l.remove(hosts[2])
	l.remove(hosts[0])
	l.remove(hosts[4])
	if l.n != 2 || l.first != hosts[1] || l.last != hosts[3] || hosts[1].behind != hosts[3] ||
		hosts[3].before != hosts[1] {
		t.Error("the line is broken after removals")
	}
	l.push(hosts[0])
	if l.last != hosts[0] || hosts[3].behind != hosts[0] {
		t.Error("a host that came back does not stand last")
	}
}
