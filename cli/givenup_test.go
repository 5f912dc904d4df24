package cli

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"crawlnode/crawl"
)

// urlLists has the lines of two states, three a page.
type urlLists map[string][]crawl.URLLine

func (l urlLists) Page(_ context.Context, q crawl.URLQuery) (*crawl.URLPage, error) {
	at := 0
	if q.After != "" {
		if _, err := fmt.Sscan(q.After, &at); err != nil {
			return nil, err
		}
	}
	all := slices.DeleteFunc(slices.Clone(l[q.State]),
		func(u crawl.URLLine) bool { return q.Host != "" && string(u.Host) != q.Host })
	end := min(at+3, len(all))
	p := &crawl.URLPage{URLs: all[at:end]}
	if end < len(all) {
		next := fmt.Sprint(end)
		p.Next = &next
	}
	return p, nil
}

func lostLine(host, cause, reason string) crawl.URLLine {
	return crawl.URLLine{Host: crawl.Host(host), Cause: &cause, Reason: &reason}
}

// TestTally counts by reason and host, leaves out what was replaced, and finds the hosts of seeds
// that have got nothing.
func TestTally(t *testing.T) {
	t.Parallel()
	l := urlLists{"failed": {
		lostLine("a.test", "rate_limited", "host_dead: it asks"),
		lostLine("a.test", "rate_limited", "host_dead: it asks"),
		lostLine("a.test", "timeout", "timeout: x"),
		lostLine("b.test", "dns", "host_dead: dns: no such host"),
		lostLine("c.test", "tls", "tls: y; http://c.test/ is tried in its place"),
		lostLine("d.test", "odd", "z"),
	}, "done": {lostLine("a.test", "", ""), lostLine("c.test", "", "")}}
	got, err := countGivenUp(t.Context(), l,
		[]string{"a.test", "b.test", "b.test", "c.test", "e.test"})
	if err != nil {
		t.Fatal(err)
	}
	if want := (map[string]int64{
		"rate_limited": 2,
		"timeout":      1,
		"dns":          1,
		"other":        1,
	}); got.URLs != 5 || !reflect.DeepEqual(got.ByReason, want) {
		t.Errorf("%d URLs, %v", got.URLs, got.ByReason)
	}
	if s := got.Summary(); s != "5 URLs (dns 1, timeout 1, other 1, rate limited 2)" {
		t.Error(s)
	}
	if lines := strings.Join(got.HostLines(), "|"); lines !=
		"a.test: 3: host_dead: it asks|b.test: 1: host_dead: dns: no such host|d.test: 1: z" {
		t.Error(lines)
	}
	if len(got.Barren) != 1 || got.Barren[0].Host != "b.test" {
		t.Errorf("barren: %v", got.Barren)
	}
}

// TestTallyOfManyHosts names ten hosts and counts the others.
func TestTallyOfManyHosts(t *testing.T) {
	t.Parallel()
	l := urlLists{}
	for i := range 25 {
		l["failed"] = append(l["failed"],
			lostLine(fmt.Sprintf("h%02d.test", i), "connect", "connect: refused"))
	}
	got, err := countGivenUp(t.Context(), l, nil)
	if err != nil {
		t.Fatal(err)
	}
	if lines := got.HostLines(); len(lines) != maxLostHosts+1 ||
		lines[maxLostHosts] != "and 15 more hosts" ||
		got.URLs != 25 {
		t.Errorf("%d URLs, %q", got.URLs, lines)
	}
}
