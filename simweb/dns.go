package simweb

import (
	"net/netip"
	"strings"

	"github.com/miekg/dns"
)

// answerTTL is the time to live of every DNS answer, in seconds.
const answerTTL = 300

// Resolve returns the addresses of a host name of this web: one, from the
// listener's on, by Config.Addrs. ok is false for names that do not exist, dead
// hosts among them. It knows the first door; each Server.Doors names its own.
func (w *Web) Resolve(name string) (addrs []netip.Addr, ok bool) { return w.resolve(0, name) }

func (w *Web) resolve(door int, name string) (addrs []netip.Addr, ok bool) {
	i, ok := w.aliases[strings.ToLower(strings.TrimSuffix(name, "."))]
	if !ok || w.hosts[i].dead {
		return nil, false
	}
	return []netip.Addr{w.addr(door, i%w.cfg.Addrs)}, true
}

// addr returns the n-th address of a door. Doors differ in the third number.
func (w *Web) addr(door, n int) netip.Addr {
	a := w.base.As4()
	a[2] += byte(door)
	a[3] += byte(n)
	return netip.AddrFrom4(a)
}

// doorOf is the inverse of addr; an address of no door, such as that of a
// request without sockets, counts as the first.
func (w *Web) doorOf(addr netip.Addr) int {
	if !addr.Is4() {
		return 0
	}
	door := int(addr.As4()[2]) - int(w.base.As4()[2])
	if door < 0 || door >= w.cfg.Doors {
		return 0
	}
	return door
}

// doorNames is the name server of one door.
type doorNames struct {
	web  *Web
	door int
}

// ServeDNS answers with the door's addresses.
func (d doorNames) ServeDNS(rw dns.ResponseWriter, question *dns.Msg) {
	d.web.serveDNS(d.door, rw, question)
}

// ServeDNS answers A and AAAA questions: an address of the first door, no data,
// or no such name, the last two with an SOA record so that they can be cached
// (RFC 2308).
func (w *Web) ServeDNS(rw dns.ResponseWriter, question *dns.Msg) { w.serveDNS(0, rw, question) }

func (w *Web) serveDNS(door int, rw dns.ResponseWriter, question *dns.Msg) {
	m := new(dns.Msg)
	m.SetReply(question)
	m.Authoritative = true
	if len(question.Question) != 1 {
		m.Rcode = dns.RcodeFormatError
		// If this fails the client is gone; it will retry.
		_ = rw.WriteMsg(m)
		return
	}
	q := question.Question[0]
	addrs, ok := w.resolve(door, q.Name)
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
			Ns:  "ns." + zone, Mbox: "hostmaster." + zone, Serial: 1, Refresh: 3600, Retry: 600,
			Expire: 86400, Minttl: answerTTL,
		})
	}
	_ = rw.WriteMsg(m) // as above
}
