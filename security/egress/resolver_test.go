package egress

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"crawlnode/crawl"
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
