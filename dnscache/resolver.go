package dnscache

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/miekg/dns"
)

// maxQueries bounds the questions asked for one name and type when its chain
// leads from answer to answer.
const maxQueries = 8

// resolver asks the servers. Its only state is their health and their windows.
type resolver struct {
	opts    *Options
	servers servers
	queried func() // called once per query sent
	heard   func() // called once per reply of any kind
}

// result is the outcome of a flight.
type result struct {
	addrs []netip.Addr
	ttl   time.Duration // clamped
	err   *Error        // nil, ErrNotFound (kept for ttl) or ErrFailed
}

// resolve finds the addresses of name (lower-case, no trailing dot).
func (r *resolver) resolve(ctx context.Context, name string) result {
	v4 := r.chase(ctx, name, dns.TypeA)
	if v4.err != nil && (v4.err.Class == ErrFailed || v4.err.Reason == reasonNXDOMAIN) {
		return v4
	}
	if v4.err == nil && !r.opts.BothFamilies {
		return v4
	}
	v6 := r.chase(ctx, name, dns.TypeAAAA)
	switch {
	case v4.err == nil && v6.err == nil:
		all := append(v4.addrs, v6.addrs...)
		return result{addrs: all[:min(len(all), r.opts.MaxAddrs)], ttl: min(v4.ttl, v6.ttl)}
	case v4.err == nil:
		return v4
	case v6.err == nil || v6.err.Class == ErrFailed:
		return v6
	default:
		return result{ttl: min(v4.ttl, v6.ttl), err: v6.err}
	}
}

// chase asks for one type of address and follows the chain of names.
func (r *resolver) chase(ctx context.Context, name string, qtype uint16) result {
	ttl := r.opts.MaxTTL
	target := dns.Fqdn(name)
	for range maxQueries {
		reply, err := r.ask(ctx, target, qtype)
		if err != nil {
			return result{err: failed(name, err)}
		}
		got := read(reply, target, qtype, r.opts.MaxAddrs)
		ttl = max(min(ttl, got.ttl), r.opts.MinTTL)
		switch {
		case len(got.addrs) > 0:
			return result{addrs: got.addrs, ttl: ttl}
		case got.next == "":
			return result{ttl: ttl, err: notFound(name, got.reason)}
		}
		target = got.next
	}
	return result{ttl: ttl, err: notFound(name, "its CNAME chain is a loop or too long")}
}

// ask sends one query to the servers in turn until one of them answers it. There is a
// second round with longer time-outs if a server did not reply or limits this node; not if
// all servers are known to be down, because then every name would take that long.
func (r *resolver) ask(ctx context.Context, name string, qtype uint16) (*dns.Msg, error) {
	var last error
	for round := range 2 {
		addrs, allDown := r.servers.order(time.Now())
		silent := false
		for len(addrs) > 0 {
			addr, err := r.servers.take(ctx, addrs)
			if err != nil {
				return nil, errors.Join(err, last)
			}
			addrs = slices.DeleteFunc(addrs, func(a string) bool { return a == addr })
			reply, err := r.askIn(ctx, addr, name, qtype, r.opts.Timeout<<round)
			if err == nil {
				r.servers.report(addr, true, time.Now())
				return reply, nil
			}
			if ctx.Err() != nil {
				return nil, fmt.Errorf("server %s: %w", addr, errors.Join(context.Cause(ctx), last))
			}
			last = fmt.Errorf("server %s: %w", addr, err)
			_, refused := errors.AsType[rcodeError](err)
			_, limited := errors.AsType[*limitedError](err)
			if !refused {
				r.servers.report(addr, false, time.Now())
			}
			silent = silent || !refused || limited
		}
		if !silent || allDown {
			break
		}
	}
	if last == nil {
		return nil, errors.New("no name server is configured")
	}
	return nil, last
}

// askIn is askOne with a place of the server's window, which it releases.
func (r *resolver) askIn(
	ctx context.Context,
	addr, name string,
	qtype uint16,
	timeout time.Duration,
) (*dns.Msg, error) {
	begun := time.Now()
	reply, err := r.askOne(ctx, addr, name, qtype, timeout)
	err = r.conclude(ctx, addr, begun, err)
	r.change(addr, func(one *server) { one.window.open = max(one.window.open-1, 0) })
	return reply, err
}

// askOne sends one query to one server: by UDP, without EDNS0 if the server does not
// support it, and by TCP if the answer is truncated or cannot be read.
func (r *resolver) askOne(
	ctx context.Context,
	addr, name string,
	qtype uint16,
	timeout time.Duration,
) (*dns.Msg, error) {
	reply, err := r.send(ctx, addr, newQuery(name, qtype, true), "udp", timeout)
	edns := true
	if err == nil && (reply.Rcode == dns.RcodeFormatError || reply.Rcode == dns.RcodeNotImplemented) {
		edns = false // RFC 6891 section 7
		reply, err = r.send(ctx, addr, newQuery(name, qtype, false), "udp", timeout)
	}
	_, unreadable := errors.AsType[*dns.Error](err)
	if unreadable || err == nil && reply.Truncated {
		reply, err = r.send(ctx, addr, newQuery(name, qtype, edns), "tcp", timeout)
		if err == nil && reply.Truncated {
			return nil, errors.New("the answer is cut even over TCP")
		}
	}
	if err != nil {
		return nil, err
	}
	return reply, check(reply, name, qtype)
}

// send sends one message and returns the reply.
func (r *resolver) send(
	ctx context.Context,
	addr string,
	query *dns.Msg,
	network string,
	timeout time.Duration,
) (*dns.Msg, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	r.queried()
	reply, err := r.opts.Exchange(ctx, query, addr, network)
	if _, unreadable := errors.AsType[*dns.Error](err); err == nil || unreadable {
		r.heard()
	}
	if err != nil {
		return nil, err
	}
	if reply == nil || reply.Id != query.Id {
		return nil, errors.New("reply has another id")
	}
	return reply, nil
}
