package join

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"crawlnode/crawl"
	"crawlnode/membership/consensus"
	"crawlnode/membership/gossip"
)

func TestWhyRefused(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"1 error occurred: * Failed to join 192.0.2.1:1: EOF":                                                  "it closed the connection unread: another --cluster, another cluster key, or no crawlnode",
		"read tcp 127.0.0.1:1->127.0.0.1:2: read: connection reset by peer":                                    "it closed the connection unread: another --cluster, another cluster key, or no crawlnode",
		"Failed to join 192.0.2.1:1: remote state is encrypted and encryption is not configured":               "it has a cluster key and this node has none: give this node the same --cluster-key-file",
		"Failed to join 192.0.2.1:1: encryption is configured but remote state is not encrypted":               "it has no cluster key and this node has one: give all nodes the same --cluster-key-file",
		"Failed to join 192.0.2.1:1: remote error: remote state is encrypted and encryption is not configured": "it has no cluster key and this node has one: give all nodes the same --cluster-key-file",
		"Failed to join 192.0.2.1:1: no installed keys could decrypt the message":                              "it has another cluster key: give all nodes the same --cluster-key-file",
		"dial tcp 192.0.2.1:1: connect: connection refused":                                                    "",
		"Failed to join 192.0.2.1:1: read tcp 127.0.0.1:1->127.0.0.1:2: i/o timeout":                           "",
	} {
		if got := WhyRefused(errors.New(text)); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// TestTroubles has each kind of what is found at an address of Join.
func TestTroubles(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		p            Place
		code, reason string
	}{
		{Place{}, "", ""},
		{Place{Self: true, Err: errors.New("i/o timeout")}, "", ""},
		{Place{Self: true, Others: true}, crawl.ReasonJoinWrong, "several nodes"},
		{Place{Err: fmt.Errorf("%w: %w", errNoAddress, &net.DNSError{Err: "no such host", IsNotFound: true})}, crawl.ReasonJoinSilent, "no address now (no such host)"},
		{Place{Err: fmt.Errorf("%w: %w", errNoAddress, &net.DNSError{Err: "read udp 127.0.0.1:5: i/o timeout", IsTimeout: true})}, crawl.ReasonJoinSilent, "(the name servers do not answer)"},
		{Place{Err: errors.New("failed to join 192.0.2.1:1: dial tcp 192.0.2.1:1: connect: connection refused")}, crawl.ReasonJoinSilent, "nothing listens there"},
		{Place{Err: errors.New("dial tcp 192.0.2.1:1: i/o timeout")}, crawl.ReasonJoinSilent, "nobody answers there"},
		{Place{Err: errors.New("dial tcp 192.0.2.1:1: connect: network is unreachable")}, crawl.ReasonJoinSilent, "no way there"},
		{Place{Err: errors.New("read tcp 192.0.2.2:4->192.0.2.1:1: i/o timeout")}, crawl.ReasonJoinSilent, "not that of --http or --rpc"},
		{Place{Err: errors.New("received invalid msgType (72), expected pushPullMsg (6) from=192.0.2.1:1")}, crawl.ReasonJoinWrong, "not that of --http or --rpc"},
		{Place{Err: errors.New("Failed to join 192.0.2.1:1: EOF")}, crawl.ReasonJoinWrong, "closed the connection unread"},
		{Place{Err: differing(consensus.Cluster{ID: "b"})}, crawl.ReasonJoinWrong, "give an empty --data-dir"},
		{Place{Err: differing(consensus.Cluster{ID: "a", Name: "x"})}, crawl.ReasonJoinWrong, "or --cluster"},
		{Place{Err: differing(consensus.Cluster{ID: "a", Protocol: 9})}, crawl.ReasonJoinWrong, "the same release"},
		{Place{Err: differing(consensus.Cluster{ID: "a", Partitions: 7})}, crawl.ReasonJoinWrong, "or --partitions"},
		{Place{Err: fmt.Errorf("%w: node %q at 192.0.2.1:1: cluster %q, here %q", gossip.ErrMismatch, "x", "a", "b")}, crawl.ReasonJoinWrong, "another cluster answers there: node"},
	} {
		if code, reason := troubleOf(&tt.p); code != tt.code || !strings.Contains(reason, tt.reason) {
			t.Errorf("%v: %s %q, want %s %q", tt.p.Err, code, reason, tt.code, tt.reason)
		}
	}
}

// TestListing steps through what is found at one address.
func TestListing(t *testing.T) {
	t.Parallel()
	refused, wrong := errors.New("connection refused"), errors.New("EOF")
	at := func(s int) time.Time { return time.Unix(int64(s), 0) }
	type step struct {
		second int
		err    error
		known  bool
		shown  string
	}
	for name, steps := range map[string][]step{
		"silent for long":          {{0, refused, false, ""}, {9, refused, false, ""}, {10, refused, false, crawl.ReasonJoinSilent}, {11, nil, false, ""}, {40, refused, false, ""}, {80, refused, false, ""}},
		"of a known node":          {{0, refused, true, ""}, {60, refused, true, ""}},
		"known only for a while":   {{0, refused, true, ""}, {60, refused, false, ""}, {70, refused, false, crawl.ReasonJoinSilent}},
		"wrong":                    {{0, wrong, true, ""}, {2, wrong, true, ""}, {3, wrong, true, crawl.ReasonJoinWrong}, {4, nil, true, ""}},
		"another after it was one": {{0, nil, false, ""}, {1, wrong, false, ""}, {4, wrong, false, crawl.ReasonJoinWrong}, {5, refused, false, ""}},
		"silent, then wrong":       {{0, refused, false, ""}, {20, refused, false, crawl.ReasonJoinSilent}, {21, wrong, false, ""}, {24, wrong, false, crawl.ReasonJoinWrong}},
	} {
		var l Listing
		for _, s := range steps {
			l.Look(&Place{Addr: "a:1", Err: s.err}, s.known, at(s.second))
			shown := ""
			if trouble, due := l.Due(at(s.second)); due {
				shown = trouble.Code
			}
			if shown != s.shown {
				t.Errorf("%s, %d s: shown %q, want %q", name, s.second, shown, s.shown)
			}
		}
	}
}

// differing is the error of a node whose cluster is another one than a.
func differing(other consensus.Cluster) error {
	own := consensus.Cluster{ID: "a", Partitions: 64}
	return fmt.Errorf("%w: node %q at 192.0.2.1:1: %s", gossip.ErrMismatch, "x", own.Difference(other))
}
