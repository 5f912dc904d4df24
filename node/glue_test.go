package node

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"crawlnode/crawl"
	"crawlnode/frontier"
	"crawlnode/membership"
)

// A host may have addresses that must not be connected to beside others.
func TestUsableAddresses(t *testing.T) {
	t.Parallel()
	lab := []netip.Prefix{netip.MustParsePrefix("127.8.0.0/16")}
	for _, c := range []struct {
		addrs, want string
		contact     string
		err         error
	}{
		{"[8.8.8.8]", "[8.8.8.8]", "me", nil},
		{"[10.0.0.1 8.8.8.8 169.254.169.254 ::1]", "[8.8.8.8]", "me", nil},
		{"[127.0.0.1 127.8.0.1]", "[127.8.0.1]", "me", nil},
		{"[8.8.8.8 127.8.0.1]", "[127.8.0.1]", "", nil},
		{"[8.8.8.8 10.0.0.1]", "[]", "", errNoContact},
		{"[10.0.0.1 fe80::1]", "[10.0.0.1 fe80::1]", "me", nil}, // the fetcher says why
		{"[10.0.0.1]", "[10.0.0.1]", "", nil},
		{"[]", "[]", "me", nil},
	} {
		got, err := usable(parseAddrs(c.addrs), &crawl.Settings{Contact: c.contact, AllowNet: lab})
		if fmt.Sprint(got) != c.want || !errors.Is(err, c.err) {
			t.Errorf("%s with contact %q: %v, %v; want %s, %v", c.addrs, c.contact, got, err, c.want, c.err)
		}
	}
}

func parseAddrs(list string) (out []netip.Addr) {
	for field := range strings.FieldsSeq(strings.Trim(list, "[]")) {
		out = append(out, netip.MustParseAddr(field))
	}
	return out
}

// TestEntitled checks that nothing is fetched without a lease, and that what was held before an
// exclusion is not fetched after it, even while it is still in the store.
func TestEntitled(t *testing.T) {
	v := viewOf(3) // c joined with view 3
	held := frontier.Meta{State: frontier.Holder, Epoch: 3}
	for name, tc := range map[string]struct {
		view   *membership.View
		boot   crawl.Boot
		change func(*frontier.Meta)
		want   bool

		unleased bool
	}{
		"held since it joined":        {v, 1, func(*frontier.Meta) {}, true, false},
		"without a lease":             {v, 1, func(*frontier.Meta) {}, false, true},
		"held from before":            {v, 1, func(m *frontier.Meta) { m.Epoch = 2 }, false, false},
		"a copy":                      {v, 1, func(m *frontier.Meta) { m.State = frontier.Copy }, false, false},
		"another boot is the member":  {v, 2, func(*frontier.Meta) {}, false, false},
		"no member":                   {viewOf(2), 1, func(*frontier.Meta) {}, false, false},
		"no view was ever installed":  {nil, 1, func(*frontier.Meta) {}, false, false},
		"a copy that is nobody's yet": {v, 1, func(m *frontier.Meta) { *m = frontier.Meta{} }, false, false},
	} {
		m := held
		tc.change(&m)
		if got := entitled(!tc.unleased, tc.view, "c", tc.boot, &m); got != tc.want {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
}
