package result

import (
	"testing"

	"crawlnode/crawl"
)

// TestCauseOf: the cause of a failed URL is the class that its sentence begins with, behind words about the host or robots.txt.
func TestCauseOf(t *testing.T) {
	t.Parallel()
	for reason, want := range map[string]string{
		"": "",
		"blocked_address: 127.0.0.2 is an address of this node or of a peer":                                     "blocked_address",
		"robots.txt: blocked_address: 127.0.0.2 is an address of this node or of a peer":                         "blocked_address",
		"host_dead: robots.txt: timeout: no answer in time":                                                      "timeout",
		"host_dead: the host has no address that may be asked: no contact":                                       "blocked_address",
		"the host has no address: NXDOMAIN":                                                                      "dns",
		"robots.txt of http://a.test could not be read":                                                          "other",
		"robots.txt: something: else":                                                                            "other",
		"robots.txt of http://a.test: http://b.test/x, where it redirects to: connect: refused":                  "connect",
		"robots.txt of http://a.test: http://b.test/x, where it redirects to: the host has no address: NXDOMAIN": "dns",
	} {
		if got := CauseOf(&crawl.Record{State: crawl.Failed, Reason: reason}); got != want {
			t.Errorf("%q: %q, want %q", reason, got, want)
		}
	}
}
