//go:build !race

package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"crawlnode/integration/simnet"
	"crawlnode/membership/consensus"
)

// These tests are not built with the race detector: it counts nothing, takes ten times as
// long, and has once crashed (SIGSEGV outside of Go's code) under whole nodes in a bubble.

// More nodes than a commit's check has time for; `make scale` sets them.
var (
	trafficMembers = flag.String("traffic.members", "5",
		"numbers of members for TestMembersTraffic, with commas between")
	trafficNodes = flag.String("traffic.nodes", "3",
		"numbers of whole nodes for TestNodesTraffic, with commas between")
)

// watched is how long traffic is counted, in virtual time.
const watched = time.Minute

// near is the way between two nodes.
var near = simnet.Link{Delay: 500 * time.Microsecond}

// flow is a kind of traffic, one direction of it or both.
type flow struct{ messages, bytes int64 }

func (f flow) minus(o flow) flow { return flow{f.messages - o.messages, f.bytes - o.bytes} }

// each is what one of the nodes has of it in one second.
func (f flow) each(nodes int, over time.Duration) string {
	per := float64(nodes) * over.Seconds()
	return fmt.Sprintf("%.2f | %.0f", float64(f.messages)/per, float64(f.bytes)/per)
}

// meter counts what all nodes together send, by kind.
type meter struct {
	mu    sync.Mutex // guards flows; held for memory only
	flows map[string]flow
}

func newMeter() *meter { return &meter{flows: map[string]flow{}} }

func (m *meter) add(kind string, messages, bytes int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f := m.flows[kind]
	m.flows[kind] = flow{f.messages + int64(messages), f.bytes + int64(bytes)}
}

func (m *meter) read() map[string]flow {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.flows)
}

// since sums kinds from an earlier reading on.
func (m *meter) since(before map[string]flow, kinds ...string) (sum flow) {
	now := m.read()
	for _, kind := range kinds {
		f := now[kind].minus(before[kind])
		sum = flow{sum.messages + f.messages, sum.bytes + f.bytes}
	}
	return sum
}

// Kinds of traffic that are no message of membership's.
const (
	packets = "gossip packets"
	streams = "gossip streams" // messages: streams opened
	calls   = "calls"          // messages: writes to a connection of a caller, or of who answers
)

// gossipWire is a memberlist.Transport that counts.
type gossipWire struct {
	*simnet.Transport
	m *meter
}

func (g gossipWire) WriteTo(b []byte, addr string) (time.Time, error) {
	g.m.add(packets, 1, len(b))
	return g.Transport.WriteTo(b, addr)
}

func (g gossipWire) DialTimeout(addr string, timeout time.Duration) (net.Conn, error) {
	c, err := g.Transport.DialTimeout(addr, timeout)
	if err != nil {
		return nil, err
	}
	g.m.add(streams, 1, 0)
	return meteredConn{c, g.m, streams, 0}, nil
}

// meteredConn counts both directions at the end that dialled.
type meteredConn struct {
	net.Conn
	m     *meter
	kind  string
	write int // messages of one write
}

func (c meteredConn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	c.m.add(c.kind, c.write, n)
	return n, err
}

func (c meteredConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.m.add(c.kind, 0, n)
	return n, err
}

// payload counts the messages of membership in a payload, which is one call's
// question or answer.
func (m *meter) payload(t *testing.T, b []byte) {
	if len(b) == 0 {
		return
	}
	var said []json.RawMessage
	if err := json.Unmarshal(b, &said); err != nil {
		t.Errorf("a payload of membership's: %v", err)
	}
	for _, one := range said {
		var msg consensus.Message
		if err := json.Unmarshal(one, &msg); err != nil {
			t.Errorf("a message of membership's: %v", err)
		}
		m.add(string(msg.Kind), 1, len(one))
	}
}

func counts(t *testing.T, text string) []int {
	t.Helper()
	var out []int
	for word := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(word)
		if err != nil || n < 3 || n > 250 {
			t.Fatalf("%q is no number of nodes, 3 to 250", word)
		}
		out = append(out, n)
	}
	return out
}

// greetings are the messages of membership while nothing changes, decisions those
// that decide a view and bring it to everybody.
var (
	greetings = []string{string(consensus.KindHello), string(consensus.KindHere)}
	decisions = []string{string(consensus.KindPrepare), string(consensus.KindPromise),
		string(consensus.KindAccept), string(consensus.KindAccepted),
		string(consensus.KindNack), string(consensus.KindDecided)}
)

// TestMembersTraffic counts gossip, and the messages of the view decision: when idle, and when one
// member fails.
func TestMembersTraffic(t *testing.T) {
	t.Log("| members | gossip packets/s | bytes/s | streams/s | bytes/s | greetings/s | bytes/s | a " +
		"death: messages in all | bytes in all | decided after, ms |")
	for _, n := range counts(t, *trafficMembers) {
		synctest.Test(t, func(t *testing.T) {
			v := newVillage(t, n)
			v.start()
			before := v.m.read()
			time.Sleep(watched)
			row := fmt.Sprintf("| %d |", n)
			for _, kinds := range [][]string{{packets}, {streams}, greetings} {
				f := v.m.since(before, kinds...)
				if row += " " + f.each(n, watched) + " |"; f.messages == 0 || f.bytes == 0 {
					t.Errorf("%d members: nothing is counted of %v", n, kinds)
				}
			}
			if f := v.m.since(before, decisions...); f.messages > 0 {
				t.Errorf("%d members: %d messages of a decision while nothing happens", n, f.messages)
			}
			before = v.m.read()
			took := v.death()
			f := v.m.since(before, decisions...)
			// Each other member is asked twice at least, and answers.
			if least := int64(2 * (n - 2)); f.messages < least {
				t.Errorf("%d members decide a view with %d messages, want %d or more", n, f.messages, least)
			}
			t.Logf("%s %d | %d | %d |", row, f.messages, f.bytes, took.Milliseconds())
			for _, kind := range slices.Sorted(slices.Values(decisions)) {
				f := v.m.since(before, kind)
				t.Logf("    %s: %d messages, %d bytes", kind, f.messages, f.bytes)
			}
			v.end()
		})
	}
}

// TestNodesTraffic counts what whole nodes say to each other while there is
// nothing to crawl: renewals, and next to nothing else.
func TestNodesTraffic(t *testing.T) {
	t.Log("| nodes | writes/s | bytes/s | bytes/s for each other node | gossip packets/s | bytes/s |")
	for _, n := range counts(t, *trafficNodes) {
		dir := t.TempDir()
		synctest.Test(t, func(t *testing.T) {
			c := newTown(t, dir, n)
			c.start()
			before := c.m.read()
			time.Sleep(watched)
			f, g := c.m.since(before, calls), c.m.since(before, packets)
			each := float64(f.bytes) / float64(n) / float64(n-1) / watched.Seconds()
			t.Logf("| %d | %s | %.0f | %s |", n, f.each(n, watched), each, g.each(n, watched))
			// A renewal has some 80 bytes. A node's block, of 2.7 KB, goes to nobody who has it.
			if each < 100 || each > 1_000 {
				t.Errorf("%d nodes: %.0f bytes a second go between each two, in each direction", n, each)
			}
			c.end()
		})
	}
}
