package cli

import (
	"slices"
	"testing"

	"crawlnode/crawl"
)

// TestLostEntries: what a list has lost by a change is said, but not when it was emptied.
func TestLostEntries(t *testing.T) {
	t.Parallel()
	with := func(exclude ...string) crawl.SettingsReport {
		return crawl.SettingsReport{{Name: "exclude", Value: exclude}}
	}
	for _, c := range []struct {
		before, after []string
		want          []string
	}{
		{nil, []string{"a"}, nil},
		{[]string{"a"}, []string{"a", "b"}, nil},
		{[]string{"a", "b"}, nil, nil},
		{[]string{"b", "a"}, []string{"c", "b"},
			[]string{"exclude has no longer: a; what is given replaces " +
				"the whole list: to keep an entry give it too, as in 'exclude=a'"}},
	} {
		if got := lostEntries(with(c.before...), with(c.after...)); !slices.Equal(got, c.want) {
			t.Errorf("%q to %q: %q", c.before, c.after, got)
		}
	}
}
