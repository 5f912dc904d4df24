package scheduler

import (
	"testing"

	"crawlnode/crawl"
)

// TestCauseOfTheLastRequest: of the visits of a host the one counts whose request ended last, in
// whatever order their records are written. A page whose record takes long does not hide why the
// host was given up, and what was reached since is not unreachable.
func TestCauseOfTheLastRequest(t *testing.T) {
	t.Parallel()
	limited := crawl.HostFailure{Category: crawl.FailureRateLimited, Reason: "the host answered 429"}
	const host = "a.test"
	for _, c := range []struct {
		name      string
		why       []crawl.HostFailure // of the visits, in the order in which their requests ended
		completed []int
		want      crawl.HostFailure
	}{
		{"a page, then a limit", []crawl.HostFailure{{}, limited}, []int{0, 1}, limited},
		{"the page is written last", []crawl.HostFailure{{}, limited}, []int{1, 0}, limited},
		{"a limit, then a page", []crawl.HostFailure{limited, {}}, []int{0, 1}, crawl.HostFailure{}},
		{"the limit is written last", []crawl.HostFailure{limited, {}}, []int{1, 0}, crawl.HostFailure{}},
		{"three", []crawl.HostFailure{limited, {}, limited}, []int{2, 0, 1}, limited},
	} {
		l := &loop{causes: map[crawl.Host]cause{}, flying: map[crawl.Host][]*flight{}}
		for i := range c.why {
			l.flying[host] = append(l.flying[host], &flight{host: host, released: uint64(i) + 1})
		}
		aborted := &flight{host: host}
		l.flying[host] = append(l.flying[host], aborted)
		all := append([]*flight(nil), l.flying[host]...)
		for _, i := range c.completed {
			l.caused(all[i], c.why[i])
			l.landed(all[i])
		}
		l.caused(aborted, crawl.HostFailure{}) // without a request
		l.landed(aborted)
		if got := l.causes[host].HostFailure; got != c.want {
			t.Errorf("%s: %+v", c.name, got)
		}
		if _, kept := l.causes[host]; kept != (c.want != crawl.HostFailure{}) || len(l.flying) > 0 {
			t.Errorf("%s: it stays in memory: %+v", c.name, l.causes)
		}
	}
}
