package node

import (
	"testing"

	"crawlnode/crawl"
	"crawlnode/frontier"
	"crawlnode/membership"
)

// TestEntitled checks that nothing is fetched without a lease, and that what was held before an
// exclusion is not fetched after it, even while it is still in the store.
func TestEntitled(t *testing.T) {
	v := &membership.View{Number: 3, Members: []membership.Member{{ID: "c", Boot: 1, Since: 3}}}
	held := frontier.Meta{State: frontier.Holder, Epoch: 3}
	for name, tc := range map[string]struct {
		view   *membership.View
		boot   crawl.Boot
		change func(*frontier.Meta)
		want   bool

		unleased bool
	}{
		"held since it joined": {v, 1, func(*frontier.Meta) {}, true, false},
		"without a lease":      {v, 1, func(*frontier.Meta) {}, false, true},
		"held from before":     {v, 1, func(m *frontier.Meta) { m.Epoch = 2 }, false, false},
		"a copy": {v, 1, func(m *frontier.Meta) { m.State = frontier.Copy }, false,
			false},
		"another boot is the member": {v, 2, func(*frontier.Meta) {}, false, false},
		"no member": {&membership.View{Number: 2}, 1, func(*frontier.Meta) {}, false,
			false},
		"no view was ever installed": {nil, 1, func(*frontier.Meta) {}, false, false},
		"a copy that is nobody's yet": {v, 1, func(m *frontier.Meta) { *m = frontier.Meta{} }, false,
			false},
	} {
		m := held
		tc.change(&m)
		if got := entitled(!tc.unleased, tc.view, "c", tc.boot, &m); got != tc.want {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
}
