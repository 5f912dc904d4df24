package crawldoc

import (
	"testing"

	"crawlnode/crawl"
	"crawlnode/web/scope"
)

// TestIndexedSites checks which stored pages a search must not find by the rules for sites, and
// that the version of those rules changes with what they say of the index and of the scope alone.
func TestIndexedSites(t *testing.T) {
	t.Parallel()
	const a, b = "http://a.test/x", "http://b.test/x"
	versions := map[uint64]string{}
	for _, c := range []struct {
		what, rules     string
		index, rejudge  bool
		hidesA, hidesB  bool
		none, likeFirst bool
	}{
		{what: "no rules", index: true, none: true},
		{what: "a rule of something else", rules: "- match: host:a.test\n  delay: 2s\n", index: true, none: true},
		{what: "a rule that says what holds", rules: "- match: host:a.test\n  index: true\n", index: true, none: true},
		{what: "left out", rules: "- match: host:a.test\n  index: false\n", index: true, hidesA: true},
		{
			what:      "left out, with a delay",
			rules:     "- match: host:a.test\n  index: false\n  delay: 2s\n",
			index:     true,
			hidesA:    true,
			likeFirst: true,
		},
		{what: "alone", rules: "- match: host:a.test\n  index: true\n", hidesB: true},
		{what: "out of the scope", rules: "- match: host:a.test\n  exclude: '*/x'\n", index: true, rejudge: true, hidesA: true},
		{
			what:    "both",
			rules:   "- match: host:a.test\n  exclude: '*/x'\n- match: host:b.test\n  index: false\n",
			index:   true,
			rejudge: true,
			hidesA:  true,
			hidesB:  true,
		},
	} {
		settings := crawl.Settings{Scope: scope.Any, Index: c.index, Sites: c.rules}
		book, err := (&Store{}).compile(&Document{Settings: settings, Rejudge: c.rejudge})
		if err != nil {
			t.Fatalf("%s: %v", c.what, err)
		}
		version, excludes := book.Indexed(7, scope.NewSeeds(nil))
		if c.none {
			if version != 0 || excludes != nil {
				t.Errorf("%s: version %d", c.what, version)
			}
			continue
		}
		if was, known := versions[version]; version == 0 || known != c.likeFirst {
			t.Errorf("%s: version %d, as with %q", c.what, version, was)
		}
		versions[version] = c.what
		if excludes(a) != c.hidesA || excludes(b) != c.hidesB {
			t.Errorf("%s: hides a.test %v, b.test %v", c.what, excludes(a), excludes(b))
		}
	}
}
