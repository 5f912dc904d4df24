package integration

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/miekg/dns"
)

// labNames is the name server of a lab. Where a name leads is the test's to say, from
// one question to the next: answers live for no time at all.
type labNames struct {
	lab *lab

	mu    sync.Mutex // guards leads
	leads map[string]string
}

// labDomain is the domain of the nodes of a lab.
const labDomain = "lab.test"

// newLabNames starts a name server on the bridge of a lab. Namespaces that are made later use it,
// and no other.
func newLabNames(t *testing.T, l *lab) *labNames {
	t.Helper()
	n := &labNames{lab: l, leads: map[string]string{}}
	packets, err := net.ListenPacket("udp", l.net+"1:53")
	if err != nil {
		t.Fatal(err)
	}
	streams, err := net.Listen("tcp", l.net+"1:53")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []*dns.Server{{PacketConn: packets, Handler: n},
		{Listener: streams, Handler: n}} {
		started := make(chan struct{})
		s.NotifyStartedFunc = func() { close(started) }
		var serving sync.WaitGroup
		serving.Go(func() {
			if err := s.ActivateAndServe(); err != nil {
				t.Errorf("the lab's name server: %v", err)
			}
		})
		<-started
		t.Cleanup(func() {
			_ = s.Shutdown() // it has started, so this ends it
			serving.Wait()
		})
	}
	return n
}

// lead lets a name lead to an address from now on.
func (n *labNames) lead(name, addr string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.leads[name] = addr
}

// ServeDNS implements dns.Handler.
func (n *labNames) ServeDNS(w dns.ResponseWriter, q *dns.Msg) {
	m := new(dns.Msg).SetReply(q)
	name := q.Question[0].Name
	n.mu.Lock()
	addr, known := n.leads[strings.TrimSuffix(strings.ToLower(name), ".")]
	n.mu.Unlock()
	switch {
	case !known:
		m.Rcode = dns.RcodeNameError
	case q.Question[0].Qtype == dns.TypeA || q.Question[0].Qtype == dns.TypeANY:
		m.Answer = []dns.RR{&dns.A{
			Hdr: dns.RR_Header{Name: name, Rrtype: dns.TypeA, Class: dns.ClassINET},
			A:   net.ParseIP(addr),
		}}
	}
	_ = w.WriteMsg(m) // who asked will ask again
}

// name is what a node is called in the lab.
func (n *labNames) name(i int) string { return fmt.Sprintf("n%d.%s", i+1, labDomain) }

// serve lets the processes of a namespace use this server: `ip netns exec` mounts the content of
// /etc/netns over /etc.
func (n *labNames) serve(t *testing.T, i int) {
	t.Helper()
	dir := filepath.Join("/etc/netns", n.lab.space(i))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) }) // what is left of it harms nobody
	if err := os.WriteFile(filepath.Join(dir, "resolv.conf"), []byte("nameserver "+n.lab.net+
		"1\noptions timeout:1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	n.lead(n.name(i), n.lab.addr(i))
}
