package dnscache

import (
	"context"
	"sync"
	"time"

	"github.com/miekg/dns"
)

// The pause between two look-ups that test whether the servers are back: the first value,
// doubled after each that got no reply, up to the last.
const (
	firstTry = time.Second
	maxTry   = 15 * time.Second
)

// outage knows whether the servers answer at all. Any reply is an answer, even a refusal
// or an unreadable one. It is pure: time is an argument.
type outage struct {
	mu    sync.Mutex // guards the rest; held for moments
	heard time.Time  // the last reply of any server
	since time.Time  // when the look-up began that found the outage; zero: there is none
	next  time.Time  // when one look-up may try again
	tries int        // without a reply, in a row
}

// answered notes a reply, and reports whether it ended an outage.
func (o *outage) answered(now time.Time) (over bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	over = !o.since.IsZero()
	o.heard, o.since, o.next, o.tries = now, time.Time{}, time.Time{}, 0
	return over
}

// heardSince reports whether a reply came at or after t.
func (o *outage) heardSince(t time.Time) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return !o.heard.Before(t)
}

// silent notes a look-up, begun at that time, that no server answered, not even with the
// root servers, which each of them knows. It returns since when there is an outage, and
// whether this look-up began it; the zero time if another look-up got a reply meanwhile.
func (o *outage) silent(now, begun time.Time) (since time.Time, began bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.heard.Before(begun) {
		return time.Time{}, false
	}
	if began = o.since.IsZero(); began {
		o.since = begun
	}
	o.next = now.Add(min(firstTry<<min(o.tries, 10), maxTry))
	o.tries++
	return o.since, began
}

// admit reports whether a look-up may ask the servers: always, but in an outage
// only one when the time has come. since is that of the outage.
func (o *outage) admit(now time.Time) (since time.Time, ok bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.since.IsZero() {
		return time.Time{}, true
	}
	if now.Before(o.next) {
		return o.since, false
	}
	o.next = now.Add(maxTry) // until that look-up has ended, or is lost
	return o.since, true
}

// Outage reports since when no server has answered any query. False: they answer, as far
// as is known.
func (c *Cache) Outage() (since time.Time, down bool) {
	c.outage.mu.Lock()
	defer c.outage.mu.Unlock()
	return c.outage.since, !c.outage.since.IsZero()
}

// heard is called once per reply.
func (c *Cache) heard() {
	if c.outage.answered(time.Now()) && c.opts.Events.Outage != nil {
		c.opts.Events.Outage(time.Time{}, nil)
	}
}

// blame turns the failure of a flight that was begun at that time into an outage, if the
// servers do not answer a probe either. Silence about one name is no outage.
func (c *Cache) blame(begun time.Time, failure *Error) *Error {
	if c.outage.heardSince(begun) {
		return failure
	}
	if _, down := c.Outage(); !down {
		c.probe()
	}
	if c.ctx.Err() != nil {
		return failure // the servers are not to blame
	}
	since, began := c.outage.silent(time.Now(), begun)
	if since.IsZero() {
		return failure
	}
	if began && c.opts.Events.Outage != nil {
		c.opts.Events.Outage(since, failure.Err)
	}
	return &Error{
		Host:   failure.Host,
		Class:  ErrOutage,
		Reason: failure.Reason,
		Since:  since,
		Err:    failure.Err,
	}
}

// probe asks all servers at once for the root servers, and returns with the first reply,
// which heard notes, or after the time-out. Flights that fail together share one probe.
func (c *Cache) probe() {
	c.mu.Lock()
	done := c.probing
	if done != nil {
		c.mu.Unlock()
		<-done
		return
	}
	done = make(chan struct{})
	c.probing = done
	c.mu.Unlock()

	ctx, cancel := context.WithTimeout(c.ctx, c.opts.Timeout)
	var asking sync.WaitGroup
	servers, _ := c.resolver.servers.order(time.Now())
	for _, server := range servers {
		asking.Go(func() {
			if _, err := c.resolver.send(ctx, server, newQuery(".", dns.TypeNS, true), "udp",
				c.opts.Timeout); err == nil {
				cancel()
			}
		})
	}
	asking.Wait()
	cancel()

	c.mu.Lock()
	c.probing = nil
	c.mu.Unlock()
	close(done)
}

// unasked is the answer of a look-up that may not ask during an outage: an expired
// address, or ErrOutage.
func (c *Cache) unasked(name string, since time.Time) (Answer, error) {
	now := time.Now()
	c.mu.Lock()
	answer, ok := c.entries.standIn(name, now)
	c.mu.Unlock()
	if ok {
		answer.Expires = now.Add(c.opts.FailureTTL)
		return answer, nil
	}
	return Answer{}, &Error{
		Host:   name,
		Class:  ErrOutage,
		Reason: "no name server answers since " + since.UTC().Format(time.RFC3339),
		Since:  since,
	}
}
