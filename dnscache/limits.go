package dnscache

import (
	"context"
	"errors"
	"time"

	"github.com/miekg/dns"
)

// limitedError: a server limits this node, or no server has room for a query.
type limitedError struct {
	since time.Time
	err   error
}

func (e *limitedError) Error() string { return "the name servers limit us: " + e.err.Error() }
func (e *limitedError) Unwrap() error { return e.err }

// Room is how many look-ups the name servers answer at a time, as far as is known; more
// look-ups wait.
func (c *Cache) Room() int { return c.resolver.servers.room(time.Now()) }

// conclude takes in how a query to addr, begun at that time, ended, and verifies a
// suspicion with a probe. It returns err, as a limitedError if the server limits this node.
func (r *resolver) conclude(ctx context.Context, addr string, begun time.Time, err error) error {
	now := time.Now()
	rcode, said := errors.AsType[rcodeError](err)
	refused := said && int(rcode) == dns.RcodeRefused
	replied := err == nil || said
	probe, since := false, time.Time{}
	r.change(addr, func(one *server) {
		since = one.window.limitedSince(now)
		switch {
		case replied && !refused && now.Sub(begun) < lateAnswer:
			one.window.answered(now)
			probe = one.window.learn(now)
		case replied:
			one.window.heard, probe = now, true
		default:
			probe = one.window.heard.After(begun) && ctx.Err() == nil
		}
	})
	if probe {
		since = r.probe(ctx, addr, !replied, refused)
	}
	if err == nil || since.IsZero() || replied && !refused {
		return err
	}
	return &limitedError{since: since, err: err}
}

// probe asks a server for the root servers, if it is time, and returns since when such
// probes have failed. On demand it waits for a probe that is under way.
func (r *resolver) probe(ctx context.Context, addr string, silence, wait bool) (limited time.Time) {
	var pause time.Duration
	var mine, others chan struct{}
	r.change(addr, func(one *server) {
		if others = one.probing; others != nil {
			return
		}
		var ok bool
		if pause, ok = one.window.mayProbe(time.Now(), silence); ok {
			mine = make(chan struct{})
			one.probing = mine
		}
	})
	switch {
	case mine != nil:
		if pause > 0 {
			select {
			case <-time.After(pause):
			case <-ctx.Done():
			}
		}
		begun := time.Now()
		reply, err := r.send(ctx, addr, newQuery(".", dns.TypeNS, true), "udp",
			min(r.opts.Timeout, probeTimeout))
		now := time.Now()
		r.change(addr, func(one *server) {
			one.probing = nil
			if ctx.Err() == nil || err == nil { // else this node cancelled it, which says nothing
				one.window.probed(now, now.Sub(begun), err == nil && reply.Rcode != dns.RcodeRefused)
			}
		})
		close(mine)
	case others != nil && wait:
		select {
		case <-others:
		case <-ctx.Done():
		}
	}
	r.change(addr, func(one *server) { limited = one.window.limitedSince(time.Now()) })
	return limited
}

// change applies f to a server, and reports when its window has become small.
func (r *resolver) change(addr string, f func(one *server)) {
	places, small, news := r.servers.change(addr, f)
	if news && r.opts.Events.Limited != nil {
		r.opts.Events.Limited(addr, places, small)
	}
}
