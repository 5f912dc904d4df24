package sites_test

import (
	"testing"
	"time"

	"crawlnode/crawl"
	"crawlnode/settings/sites"
	"crawlnode/settings/sites/sitestest"
)

// TestLongestDelay checks for which hosts a pattern may give a URL a delay, and which is the
// longest.
func TestLongestDelay(t *testing.T) {
	t.Parallel()
	table := sitestest.Table(t, &crawl.Settings{Delay: time.Second}, `
- match: domain:a.test
  delay: 9s
- match: [prefix:http://a.test/x, prefix:http://b.test/x]
  delay: 4s
- match: prefix:http://b.test/y
  delay: 6s
- match: prefix:http://c.test/
  retries: 1
`)
	for host, want := range map[string]time.Duration{
		"a.test":     4 * time.Second,
		"www.a.test": 0,
		"b.test":     6 * time.Second,
		"c.test":     0,
	} {
		if got := table.LongestDelay(host); got != want {
			t.Errorf("%s: %v, want %v", host, got, want)
		}
	}
	free := sitestest.Table(t, &crawl.Settings{}, "- match: glob:*.pdf\n  delay: 3s\n")
	if got := free.LongestDelay("any.test"); got != 3*time.Second {
		t.Errorf("a pattern for all hosts: %v", got)
	}
	if (*sites.Table)(nil).LongestDelay("a.test") != 0 {
		t.Error("no rules")
	}
}

// TestTableSays checks what a table says of all its rules: whether one shows or indexes pages,
// and the texts by which two files are compared.
func TestTableSays(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text                        string
		renders, indexes, leavesOut bool
		texts                       string
	}{
		{text: "- match: host:a.test\n  delay: 3s\n"},
		{text: "- match: host:a.test\n  render: \"off\"\n"},
		{text: "- match: host:a.test\n  render: auto\n", renders: true},
		{text: "- match: host:a.test\n  index: false\n", leavesOut: true, texts: ` index=["false"] "host:a.test"`},
		{
			text: "- match: host:b.test\n  delay: 1s\n- match: [host:a.test, domain:c.test]\n" +
				"  index: true\n",
			indexes: true,
			texts:   ` index=["true"] "host:a.test" "domain:c.test"`,
		},
	} {
		table := sitestest.Table(t, &crawl.Settings{}, c.text)
		if table.Renders() != c.renders || table.Indexes() != c.indexes ||
			table.LeavesOut() != c.leavesOut {
			t.Errorf("%q: renders %v, indexes %v, leaves out %v", c.text, table.Renders(), table.Indexes(),
				table.LeavesOut())
		}
		if got := table.File().Texts("index"); got != c.texts {
			t.Errorf("%q: %q", c.text, got)
		}
	}
	var none *sites.Table
	if none.Renders() || none.Indexes() || none.LeavesOut() {
		t.Error("no rules")
	}
}
