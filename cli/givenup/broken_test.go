package givenup

import (
	"fmt"
	"strings"
	"testing"

	"crawlnode/crawl"
)

// TestBroken names ten links, counts the others, and leaves out what no page links to.
func TestBroken(t *testing.T) {
	t.Parallel()
	status, odd, reason, from := 404, 599, "dns: no such host", "http://a.test/"
	for _, c := range []struct {
		lines []crawl.URLLine
		total string
		want  []string
	}{
		{nil, "0 broken links", nil},
		{[]crawl.URLLine{{URL: "http://a.test/seed", Status: &status}}, "0 broken links", nil},
		{[]crawl.URLLine{
			{URL: "http://a.test/1", Status: &status, Referrer: &from},
		}, "1 broken link", []string{"http://a.test/1 (404 Not Found) linked from http://a.test/"}},
		{[]crawl.URLLine{
			{URL: "http://a.test/1", Status: &odd, Reason: &reason, Referrer: &from},
			{URL: "http://b.test/", Reason: &reason, Referrer: &from}, {URL: "http://c.test/", Referrer: &from},
		}, "3 broken links", []string{
			"http://a.test/1 (599) linked from http://a.test/", "http://b.test/ (dns: no such host) linked from http://a.test/",
			"http://c.test/ (given up) linked from http://a.test/",
		}},
	} {
		b, err := readBroken(t.Context(), lists{"failed": c.lines})
		if err != nil || b.Total() != c.total || strings.Join(b.Lines(), "\n") != strings.Join(c.want, "\n") {
			t.Errorf("%s: %q, %v", b.Total(), b.Lines(), err)
		}
	}
	many := lists{}
	for n := range 25 {
		many["failed"] = append(many["failed"], crawl.URLLine{URL: fmt.Sprintf("http://a.test/%d", n), Status: &status, Referrer: &from})
	}
	b, err := readBroken(t.Context(), many)
	if lines := b.Lines(); err != nil || b.Links != 25 || len(lines) != MaxLinks+1 || lines[MaxLinks] != "and 15 more" {
		t.Errorf("%d links: %q, %v", b.Links, lines, err)
	}
}
