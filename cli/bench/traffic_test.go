package bench

import "testing"

func TestTraffic(t *testing.T) {
	t.Parallel()
	before := []byte("crawlnode_peer_calls_total{method=\"Links\"} 10\n" +
		"crawlnode_peer_bytes_total{method=\"Links\"} 1000\n")
	after := []byte("# HELP crawlnode_peer_calls_total x\n" +
		"crawlnode_peer_calls_total{method=\"Links\"} 30\n" +
		"crawlnode_peer_calls_total{method=\"Contents\"} 60\n" +
		"crawlnode_peer_calls_total{method=\"Idle\"} 0\n" +
		"crawlnode_peer_bytes_total{method=\"Links\"} 1.1e+04\n" +
		"crawlnode_peer_bytes_total{method=\"Contents\"} 40\nother{method=\"Links\"} 7\n")
	var sum traffic
	sum.add(after, 0.1)
	sum.add(before, -0.1)
	if got, want := sum.text(), "between nodes 8.00 calls and 1004 bytes a page (Contents 6.00 "+
		"and 4, Links 2.00 and 1000)"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	var none traffic
	none.add([]byte("go_info 1\n"), 1)
	if got, want := none.text(), "between nodes 0.00 calls and 0 bytes a page ()"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
