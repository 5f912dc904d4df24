package crawl

import (
	"fmt"
	"testing"
)

// A host that two members report during a move is listed once, and hosts without a value are left
// out.
func TestSortHosts(t *testing.T) {
	t.Parallel()
	lines := func() []HostLine {
		return []HostLine{
			{Host: "b", Queued: 5, Pages: 1, Requests: 1, Errors: 2},
			{Host: "a", Queued: 5, Pages: 7, LatencySeconds: 2},
			{Host: "b", Queued: 4, Pages: 3, Requests: 9},
			{Host: "c", Queued: 9, BackoffSeconds: 3, Errors: 1},
		}
	}
	for sort, want := range map[string]string{
		SortQueued: "[c a b]", SortFetched: "[a b c]", SortErrors: "[c]", SortBackoff: "[c]",
		SortLatency: "[a b c]",
	} {
		var got []Host
		for _, l := range SortHosts(lines(), sort, 10) {
			got = append(got, l.Host)
		}
		if fmt.Sprint(got) != want {
			t.Errorf("%s: %v, want %s", sort, got, want)
		}
	}
	if got := SortHosts(lines(), SortQueued, 1); len(got) != 1 || got[0].Host != "c" {
		t.Errorf("the first: %+v", got)
	}
	if got := SortHosts(lines(), SortFetched, 10); got[1].Requests != 9 {
		t.Errorf("the older word of b was taken: %+v", got[1])
	}
}

func TestSourceOfALink(t *testing.T) {
	t.Parallel()
	for from, want := range map[string]string{
		"": "", "http://a.test/": "a.test", "https://a.test:8443/x:y": "a.test",
		"http://[::1]/x": "[::1]", "http://[::1]:81/": "[::1]", "http://a.test": "a.test",
	} {
		if got := (&Target{From: from}).Source(); got != want {
			t.Errorf("the source of a link on %q is %q, want %q", from, got, want)
		}
	}
}
