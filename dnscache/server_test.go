package dnscache

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/miekg/dns"
)

// zone is what a test server answers.
type zone struct {
	mu      sync.Mutex
	handle  func(w dns.ResponseWriter, q *dns.Msg) *dns.Msg // nil answer: silence
	queries map[string]int                                  // by "network type name"
}

func (z *zone) ServeDNS(w dns.ResponseWriter, q *dns.Msg) {
	network := "udp"
	if _, ok := w.RemoteAddr().(*net.TCPAddr); ok {
		network = "tcp"
	}
	z.mu.Lock()
	z.queries[fmt.Sprintf("%s %s %s", network, dns.TypeToString[q.Question[0].Qtype],
		q.Question[0].Name)]++
	handle := z.handle
	z.mu.Unlock()
	if reply := handle(w, q); reply != nil {
		_ = w.WriteMsg(reply)
	}
}

// asked returns how many queries of that key came.
func (z *zone) asked(key string) int {
	z.mu.Lock()
	defer z.mu.Unlock()
	return z.queries[key]
}

// serve starts a name server on loopback, UDP and TCP on one port, and returns
// its address.
func serve(t *testing.T, handle func(w dns.ResponseWriter, q *dns.Msg) *dns.Msg) (*zone, string) {
	t.Helper()
	z := &zone{handle: handle, queries: make(map[string]int)}
	for range 20 {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		packets, err := net.ListenPacket("udp", listener.Addr().String())
		if err != nil {
			_ = listener.Close()
			continue // the port is taken for UDP
		}
		var wg sync.WaitGroup
		for _, s := range []*dns.Server{{Listener: listener, Handler: z},
			{PacketConn: packets, Handler: z}} {
			started := make(chan struct{})
			s.NotifyStartedFunc = func() { close(started) }
			wg.Go(func() { _ = s.ActivateAndServe() })
			<-started
			t.Cleanup(func() { _ = s.Shutdown() })
		}
		t.Cleanup(wg.Wait)
		// Cleanups run backwards: the servers must be told before the wait.
		t.Cleanup(func() { _ = listener.Close(); _ = packets.Close() })
		return z, listener.Addr().String()
	}
	t.Fatal("no port is free for both UDP and TCP")
	return nil, ""
}

// rrs reads records in zone file form.
func rrs(t testing.TB, lines ...string) []dns.RR {
	t.Helper()
	var out []dns.RR
	for _, line := range lines {
		rr, err := dns.NewRR(line)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, rr)
	}
	return out
}

// answer makes a reply with the records, filtered by type and CNAME.
func answer(q *dns.Msg, records ...dns.RR) *dns.Msg {
	m := new(dns.Msg)
	m.SetReply(q)
	m.RecursionAvailable = true
	for _, rr := range records {
		if rr.Header().Rrtype == q.Question[0].Qtype || rr.Header().Rrtype == dns.TypeCNAME {
			m.Answer = append(m.Answer, rr)
		}
	}
	return m
}

// open makes a cache and closes it with the test.
func open(t *testing.T, o Options) *Cache {
	t.Helper()
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func addrs(s string) []netip.Addr {
	var out []netip.Addr
	for _, f := range strings.Fields(s) {
		out = append(out, netip.MustParseAddr(f))
	}
	return out
}

// wait bounds a look-up against a real server.
func wait(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	t.Cleanup(cancel)
	return ctx
}
