package dnscache

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/miekg/dns"
)

// maxChain bounds the names of one CNAME chain inside an answer. Real chains
// have up to five.
const maxChain = 16

// rcodeError is a refusal for the server's own reasons. It says nothing about the
// connection to the server.
type rcodeError int

func (e rcodeError) Error() string { return "server answered " + dns.RcodeToString[int(e)] }

// errReferral is the answer of a server that does not recurse.
var errReferral = errors.New("server answered with a referral: it does not resolve for us")

// check reports why reply cannot be used as the answer to (name, qtype); nil
// when it can, be it positive or negative. name is fully qualified. The
// library compares message ids only; a late or forged answer to another
// question would pass it.
func check(reply *dns.Msg, name string, qtype uint16) error {
	if !reply.Response {
		return errors.New("reply is not a response")
	}
	if reply.Rcode == dns.RcodeFormatError && len(reply.Question) == 0 {
		return rcodeError(reply.Rcode) // such a server has not understood the question
	}
	if len(reply.Question) != 1 {
		return fmt.Errorf("reply holds %d questions", len(reply.Question))
	}
	q := reply.Question[0]
	if q.Qtype != qtype || q.Qclass != dns.ClassINET || !strings.EqualFold(q.Name, name) {
		return fmt.Errorf("reply answers another question: %q", q.Name)
	}
	if reply.Rcode != dns.RcodeSuccess && reply.Rcode != dns.RcodeNameError {
		return rcodeError(reply.Rcode)
	}
	if reply.Rcode == dns.RcodeSuccess && len(reply.Answer) == 0 && !reply.Authoritative &&
		!reply.RecursionAvailable && isReferral(reply) {
		return errReferral
	}
	return nil
}

// isReferral reports whether the authority section names servers and no SOA.
func isReferral(reply *dns.Msg) bool {
	servers := false
	for _, rr := range reply.Ns {
		switch rr.(type) {
		case *dns.SOA:
			return false
		case *dns.NS:
			servers = true
		}
	}
	return servers
}

// reasonNXDOMAIN also says that a query for another type is of no use.
const reasonNXDOMAIN = "the name does not exist (NXDOMAIN)"

// reading is the content of one answer.
type reading struct {
	addrs []netip.Addr  // at most the given number, without repeats
	ttl   time.Duration // of the shortest link, unclamped; 0 when no record has one
	// next is the name to ask for, when the chain leads out of the answer.
	next string
	// reason is set when there is no address and nothing left to ask.
	reason string
}

// read reads an answer that passed check. name is fully qualified.
func read(reply *dns.Msg, name string, qtype uint16, maxAddrs int) reading {
	end, ttl, hops, err := followChain(reply.Answer, name)
	if err != nil {
		return reading{ttl: seconds(ttl), reason: err.Error()}
	}
	addrs, ttl := collect(reply.Answer, end, qtype, maxAddrs, ttl)
	soa, hasSOA := negativeTTL(reply.Ns)
	switch {
	case len(addrs) > 0:
		return reading{addrs: addrs, ttl: seconds(ttl)}
	case reply.Rcode == dns.RcodeNameError:
		return reading{ttl: seconds(min(ttl, soa)), reason: reasonNXDOMAIN}
	case hops > 0 && !hasSOA && end != "" && end != ".": // such names are no hosts
		return reading{ttl: seconds(ttl), next: end}
	default:
		return reading{ttl: seconds(min(ttl, soa)), reason: "the name has no address"}
	}
}

// noTTL is the value before the first record with a TTL; it is larger than any TTL.
const noTTL = ^uint32(0)

// seconds turns a TTL into a duration. A TTL with the top bit set counts as
// zero (RFC 2181 section 8).
func seconds(ttl uint32) time.Duration {
	if ttl > 1<<31-1 {
		return 0
	}
	return time.Duration(ttl) * time.Second
}

// followChain walks the CNAMEs of answer from name to the chain's end, and
// returns it, fully qualified, with the smallest TTL on the way.
func followChain(answer []dns.RR, name string) (end string, ttl uint32, hops int, err error) {
	aliases := make(map[string]*dns.CNAME)
	for _, rr := range answer {
		if c, ok := rr.(*dns.CNAME); ok && c.Hdr.Class == dns.ClassINET {
			if owner := strings.ToLower(c.Hdr.Name); aliases[owner] == nil {
				aliases[owner] = c
			}
		}
	}
	end, ttl = strings.ToLower(name), noTTL
	for {
		c := aliases[end]
		if c == nil {
			return end, ttl, hops, nil
		}
		if hops++; hops > maxChain {
			return end, ttl, hops, errors.New("its CNAME chain is a loop or too long")
		}
		end, ttl = strings.ToLower(c.Target), min(ttl, c.Hdr.Ttl)
	}
}

// collect gathers the addresses of owner, at most limit, and the smallest TTL
// of ttl and theirs.
func collect(
	answer []dns.RR,
	owner string,
	qtype uint16,
	limit int,
	ttl uint32,
) ([]netip.Addr, uint32) {
	var addrs []netip.Addr
	for _, rr := range answer {
		h := rr.Header()
		if h.Rrtype != qtype || h.Class != dns.ClassINET || !strings.EqualFold(h.Name, owner) {
			continue
		}
		if addr := addressOf(rr); addr.IsValid() && len(addrs) < limit && !slices.Contains(addrs, addr) {
			addrs = append(addrs, addr)
			ttl = min(ttl, h.Ttl)
		}
	}
	return addrs, ttl
}

// addressOf returns the address of an A or AAAA record, else the zero Addr. An IPv4-mapped
// IPv6 address becomes IPv4, so that it cannot bypass rules about addresses.
func addressOf(rr dns.RR) netip.Addr {
	var addr netip.Addr
	switch rr := rr.(type) {
	case *dns.A:
		addr, _ = netip.AddrFromSlice(rr.A)
	case *dns.AAAA:
		addr, _ = netip.AddrFromSlice(rr.AAAA)
	}
	return addr.Unmap()
}

// negativeTTL finds how long a negative answer holds: the smaller of the SOA's
// own TTL and its minimum field (RFC 2308 section 5).
func negativeTTL(authority []dns.RR) (uint32, bool) {
	for _, rr := range authority {
		if soa, ok := rr.(*dns.SOA); ok {
			return min(soa.Hdr.Ttl, soa.Minttl), true
		}
	}
	return noTTL, false
}
