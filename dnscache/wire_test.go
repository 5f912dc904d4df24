package dnscache

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/miekg/dns"
)

const soa = "test. 600 IN SOA ns.test. mail.test. 1 2 3 4 90"

// hostile answers each name of the zone in its own odd way.
func hostile(t testing.TB) func(w dns.ResponseWriter, q *dns.Msg) *dns.Msg {
	many := make([]dns.RR, 0, 1000)
	for i := range 1000 {
		many = append(many, rrs(t, fmt.Sprintf("many.test. 300 IN A 10.1.%d.%d", i/250, i%250+1))...)
	}
	static := map[string][]dns.RR{
		"plain.test.":  rrs(t, "plain.test. 300 IN A 192.0.2.1"),
		"six.test.":    rrs(t, "six.test. 300 IN AAAA 2001:db8::1"),
		"both.test.":   rrs(t, "both.test. 300 IN AAAA 2001:db8::1", "both.test. 300 IN A 192.0.2.1"),
		"mapped.test.": rrs(t, "mapped.test. 300 IN AAAA ::ffff:127.0.0.1"),
		"chain.test.": rrs(t, "chain.test. 300 IN CNAME Mid.test.", "mid.test. 45 IN CNAME end.test.",
			"END.test. 600 IN A 192.0.2.7"),
		"outside.test.": rrs(t, "outside.test. 300 IN CNAME plain.test.",
			"unrelated.test. 300 IN A 192.0.2.66"),
		"loop.test.":  rrs(t, "loop.test. 300 IN CNAME pool.test.", "pool.test. 300 IN CNAME loop.test."),
		"ping.test.":  rrs(t, "ping.test. 300 IN CNAME pong.test."),
		"pong.test.":  rrs(t, "pong.test. 300 IN CNAME ping.test."),
		"zero.test.":  rrs(t, "zero.test. 0 IN A 192.0.2.3"),
		"week.test.":  rrs(t, "week.test. 604800 IN A 192.0.2.4"),
		"many.test.":  many,
		"twice.test.": rrs(t, "twice.test. 60 IN A 192.0.2.5", "twice.test. 60 IN A 192.0.2.5"),
	}
	return func(w dns.ResponseWriter, q *dns.Msg) *dns.Msg {
		name := strings.ToLower(q.Question[0].Name)
		m := answer(q, static[name]...)
		switch name {
		case "gone.test.":
			m.Rcode, m.Ns = dns.RcodeNameError, rrs(t, soa)
		case "empty.test.":
			m.Ns = rrs(t, soa)
		case "broken.test.":
			m.Rcode = dns.RcodeServerFailure
		case "other.test.":
			m.Question[0].Name = "plain.test."
			m.Answer = rrs(t, "plain.test. 300 IN A 192.0.2.1")
		case "silent.test.":
			return nil
		case "oldserver.test.":
			if q.IsEdns0() != nil {
				m.Rcode, m.Question = dns.RcodeFormatError, nil
			} else {
				m.Answer = rrs(t, "oldserver.test. 300 IN A 192.0.2.9")
			}
		case "garbage.test.":
			if _, udp := w.RemoteAddr().(*net.UDPAddr); udp {
				id := q.Id
				_, _ = w.Write([]byte{byte(id >> 8), byte(id), 0x81, 0x80, 0, 1, 0, 9, 0, 0, 0, 0, 63})
				return nil
			}
			m.Answer = rrs(t, "garbage.test. 300 IN A 192.0.2.10")
		case "alwayscut.test.":
			m.Truncated = true
		}
		if _, udp := w.RemoteAddr().(*net.UDPAddr); udp && len(m.Answer) > 20 {
			m.Truncate(dns.MinMsgSize)
		}
		return m
	}
}

func TestAnswersOfARealServer(t *testing.T) {
	t.Parallel()
	z, server := serve(t, hostile(t))
	c := open(t,
		Options{Servers: []string{server}, Timeout: 2 * time.Second, LookupTimeout: 20 * time.Second})
	tests := []struct {
		host  string
		addrs string // first ones
		count int    // 0: as many as addrs
		class error
	}{
		{host: "plain.test", addrs: "192.0.2.1"},
		{host: "PLAIN.Test.", addrs: "192.0.2.1"},
		{host: "six.test", addrs: "2001:db8::1"},
		{host: "both.test", addrs: "192.0.2.1"},
		{host: "mapped.test", addrs: "127.0.0.1"},
		{host: "chain.test", addrs: "192.0.2.7"},
		{host: "outside.test", addrs: "192.0.2.1"},
		{host: "zero.test", addrs: "192.0.2.3"},
		{host: "many.test", addrs: "10.1.0.1 10.1.0.2", count: 16},
		{host: "twice.test", addrs: "192.0.2.5"},
		{host: "oldserver.test", addrs: "192.0.2.9"},
		{host: "garbage.test", addrs: "192.0.2.10"},
		{host: "loop.test", class: ErrNotFound},
		{host: "ping.test", class: ErrNotFound},
		{host: "gone.test", class: ErrNotFound},
		{host: "empty.test", class: ErrNotFound},
		{host: "broken.test", class: ErrFailed},
		{host: "other.test", class: ErrFailed},
		{host: "silent.test", class: ErrFailed},
		{host: "alwayscut.test", class: ErrFailed},
		{host: "", class: ErrNotFound},
		{host: strings.Repeat("a", 64) + ".test", class: ErrNotFound},
		{host: strings.Repeat("a.", 130) + "test", class: ErrNotFound},
		{host: "fe80::1%eth0", class: ErrNotFound},
		{host: "localhost", addrs: "127.0.0.1"},
		{host: "any.Localhost.", addrs: "127.0.0.1"},
		{host: "198.51.100.1", addrs: "198.51.100.1"},
		{host: "[2001:db8::5]", addrs: "2001:db8::5"},
	}
	for _, test := range tests {
		got, err := c.Lookup(wait(t), test.host)
		if !errors.Is(err, test.class) || (err == nil) != (test.class == nil) {
			t.Errorf("Lookup(%q) error = %v, want class %v", test.host, err, test.class)
			continue
		}
		want := addrs(test.addrs)
		if n := max(test.count, len(want)); len(got.Addrs) != n ||
			!slices.Equal(got.Addrs[:len(want)], want) {
			t.Errorf("Lookup(%q) = %v, want %d beginning with %v", test.host, got.Addrs, n, want)
		}
	}
	if n := z.asked("tcp A many.test."); n != 1 {
		t.Errorf("%d queries over TCP for the cut answer, want 1", n)
	}
	if n := z.asked("udp AAAA both.test."); n != 0 {
		t.Errorf("asked for IPv6 addresses of a host with IPv4 ones")
	}
	if n := z.asked("udp AAAA gone.test."); n != 0 {
		t.Errorf("asked twice for a name that does not exist")
	}
	if n := z.asked("udp A plain.test."); n != 2 { // once for outside.test
		t.Errorf("%d queries for plain.test, want 2", n)
	}
}

func TestBothFamilies(t *testing.T) {
	t.Parallel()
	_, server := serve(t, hostile(t))
	c := open(t, Options{Servers: []string{server}, BothFamilies: true})
	for host, want := range map[string]string{
		"both.test":  "192.0.2.1 2001:db8::1",
		"plain.test": "192.0.2.1",
		"localhost":  "127.0.0.1 ::1",
	} {
		got, err := c.Lookup(wait(t), host)
		if err != nil || !slices.Equal(got.Addrs, addrs(want)) {
			t.Errorf("Lookup(%q) = %v, %v, want %s", host, got.Addrs, err, want)
		}
	}
}

// TestTTLs checks the clamps through Expires.
func TestTTLs(t *testing.T) {
	t.Parallel()
	_, server := serve(t, hostile(t))
	c := open(t, Options{Servers: []string{server}})
	for host, want := range map[string]time.Duration{
		"plain.test": 300 * time.Second, "chain.test": 45 * time.Second,
		"outside.test": 300 * time.Second,
		"zero.test":    30 * time.Second, "week.test": time.Hour,
	} {
		before := time.Now()
		got, err := c.Lookup(wait(t), host)
		if low := time.Until(got.Expires); err != nil || low > want ||
			got.Expires.Before(before.Add(want)) {
			t.Errorf("%s: expires in about %v (%v), want %v", host, low, err, want)
		}
	}
}

// TestFailOver: a dead server and a broken one stand before a good one.
func TestFailOver(t *testing.T) {
	t.Parallel()
	closed, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	dead := closed.LocalAddr().String()
	_ = closed.Close()
	broken, brokenAddr := serve(t, func(_ dns.ResponseWriter, q *dns.Msg) *dns.Msg {
		m := answer(q)
		m.Rcode = dns.RcodeRefused
		return m
	})
	_, good := serve(t, hostile(t))
	c := open(t, Options{Servers: []string{dead, brokenAddr, good}, Timeout: 10 * time.Second})
	for _, host := range []string{"plain.test", "zero.test", "week.test"} {
		if _, err := c.Lookup(wait(t), host); err != nil {
			t.Errorf("Lookup(%s): %v", host, err)
		}
	}
	if broken.asked("udp A plain.test.") != 1 {
		t.Error("the second server was not asked")
	}
	if order, _ := c.resolver.servers.order(time.Now()); order[len(order)-1] != dead {
		t.Errorf("order = %v, want the dead server last", order)
	}
}

// TestSingleFlight: a hundred look-ups of one name are one query.
func TestSingleFlight(t *testing.T) {
	t.Parallel()
	gate := make(chan struct{})
	z, server := serve(t, func(_ dns.ResponseWriter, q *dns.Msg) *dns.Msg {
		<-gate
		return answer(q, rrs(t, "plain.test. 300 IN A 192.0.2.1")...)
	})
	c := open(t, Options{Servers: []string{server}, Timeout: 10 * time.Second})
	results := make(chan error)
	var begun atomic.Int64
	for range 100 {
		go func() {
			begun.Add(1)
			_, err := c.Lookup(wait(t), "plain.test")
			results <- err
		}()
	}
	for begun.Load() < 100 {
		time.Sleep(time.Millisecond)
	}
	close(gate)
	for range 100 {
		if err := <-results; err != nil {
			t.Error(err)
		}
	}
	if n := z.asked("udp A plain.test."); n != 1 {
		t.Errorf("%d queries, want 1", n)
	}
	s := c.Stats()
	if s.Lookups != 100 || s.Queries != 2 || // the second is the probe of a new server
		s.Entries != 1 || s.Failures != 0 {
		t.Errorf("stats = %+v", s)
	}
}

func TestBadOptions(t *testing.T) {
	t.Parallel()
	for _, o := range []Options{{Servers: []string{"ns.example"}}, {Servers: []string{"192.0.2.1"}},
		{Timeout: -1}, {MaxEntries: -1}} {
		if c, err := New(o); err == nil {
			c.Close()
			t.Errorf("New(%+v) accepts it", o)
		}
	}
}

// FuzzAnswer: whatever a server sends, the reading is bounded and sound.
func FuzzAnswer(f *testing.F) {
	q := new(dns.Msg)
	q.SetQuestion("chain.test.", dns.TypeA)
	for _, records := range [][]string{
		{"chain.test. 300 IN A 192.0.2.1"},
		{"chain.test. 300 IN CNAME end.test.", "end.test. 0 IN A 192.0.2.1"},
		{"chain.test. 300 IN CNAME chain.test."},
		{"chain.test. 4294967295 IN AAAA ::ffff:1.2.3.4"},
		{soa},
	} {
		m := answer(q)
		m.Answer = rrs(f, records...)
		m.Ns = rrs(f, soa)
		wire, err := m.Pack()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(wire, false)
		f.Add(wire, true)
	}
	f.Fuzz(func(t *testing.T, wire []byte, six bool) {
		m := new(dns.Msg)
		if m.Unpack(wire) != nil {
			return
		}
		qtype := dns.TypeA
		if six {
			qtype = dns.TypeAAAA
		}
		if check(m, "chain.test.", qtype) != nil {
			return
		}
		got := read(m, "chain.test.", qtype, 16)
		if len(got.addrs) > 16 || got.ttl < 0 || got.ttl > 1<<31*time.Second {
			t.Fatalf("out of bounds: %+v", got)
		}
		outcomes := 0
		for _, is := range []bool{len(got.addrs) > 0, got.next != "", got.reason != ""} {
			if is {
				outcomes++
			}
		}
		if outcomes != 1 {
			t.Fatalf("not one outcome: %+v", got)
		}
		for _, a := range got.addrs {
			if !a.IsValid() || a.Is4In6() {
				t.Fatalf("address %v", a)
			}
		}
	})
}
