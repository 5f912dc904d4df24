package simweb

import (
	"net/netip"
	"strings"

	"github.com/miekg/dns"
)

// answerTTL is the time to live of every DNS answer, in seconds.
const answerTTL = 300

// Resolve returns the addresses of a host name of this web: one, from 127.0.0.1
// on, by Config.Addrs. ok is false for names that do not exist, dead hosts
// among them.
func (w *Web) Resolve(name string) (addrs []netip.Addr, ok bool) {
	i, ok := w.aliases[strings.ToLower(strings.TrimSuffix(name, "."))]
	if !ok || w.hosts[i].dead {
		return nil, false
	}
	return []netip.Addr{w.addr(i % w.cfg.Addrs)}, true
}

// addr returns the n-th address of the web.
func (w *Web) addr(n int) netip.Addr { return netip.AddrFrom4([4]byte{127, 0, 0, byte(n + 1)}) }

// ServeDNS answers A and AAAA questions: an address, no data, or no such name,
// the last two with an SOA record so that they can be cached (RFC 2308).
func (w *Web) ServeDNS(rw dns.ResponseWriter, question *dns.Msg) {
	m := new(dns.Msg)
	m.SetReply(question)
	m.Authoritative = true
	if len(question.Question) != 1 {
		m.Rcode = dns.RcodeFormatError
		// The client is gone when this fails; it will ask again.
		_ = rw.WriteMsg(m)
		return
	}
	q := question.Question[0]
	addrs, ok := w.Resolve(q.Name)
	if !ok {
		m.Rcode = dns.RcodeNameError
	}
	if ok && q.Qtype == dns.TypeA {
		for _, addr := range addrs {
			m.Answer = append(m.Answer, &dns.A{
				Hdr: dns.RR_Header{Name: q.Name, Rrtype: dns.TypeA, Class: dns.ClassINET, Ttl: answerTTL},
				A:   addr.AsSlice(),
			})
		}
	} else {
		zone := dns.Fqdn(w.cfg.Domain)
		m.Ns = append(m.Ns, &dns.SOA{
			Hdr: dns.RR_Header{Name: zone, Rrtype: dns.TypeSOA, Class: dns.ClassINET, Ttl: answerTTL},
			Ns:  "ns." + zone, Mbox: "hostmaster." + zone, Serial: 1, Refresh: 3600, Retry: 600, Expire: 86400, Minttl: answerTTL,
		})
	}
	_ = rw.WriteMsg(m) // as above
}
