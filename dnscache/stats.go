package dnscache

import (
	"errors"
	"sync/atomic"
)

// Stats counts look-ups since New. Lookups = Hits + NegativeHits +
// StaleServed + Failures + those that asked the servers and got an answer,
// positive or negative, + those that the caller cancelled.
type Stats struct {
	Lookups      int64
	Hits         int64
	NegativeHits int64
	StaleServed  int64
	Failures     int64
	Queries      int64 // messages sent to servers
	Entries      int64 // names in memory now
}

type counters struct {
	lookups, hits, negativeHits, staleServed, failures, queries atomic.Int64
}

// Stats returns the counters.
func (c *Cache) Stats() Stats {
	c.mu.Lock()
	entries := len(c.entries.byName)
	c.mu.Unlock()
	return Stats{
		Lookups:      c.count.lookups.Load(),
		Hits:         c.count.hits.Load(),
		NegativeHits: c.count.negativeHits.Load(),
		StaleServed:  c.count.staleServed.Load(),
		Failures:     c.count.failures.Load(),
		Queries:      c.count.queries.Load(),
		Entries:      int64(entries),
	}
}

func (c *Cache) countLookup(name string) {
	c.count.lookups.Add(1)
	if f := c.opts.Events.Lookup; f != nil {
		f(name)
	}
}

func (c *Cache) countHit(name string) {
	c.count.hits.Add(1)
	if f := c.opts.Events.Hit; f != nil {
		f(name)
	}
}

// countKnown counts a look-up that was answered from memory.
func (c *Cache) countKnown(name string, answer Answer, err error) {
	switch {
	case errors.Is(err, ErrNotFound):
		c.count.negativeHits.Add(1)
		if f := c.opts.Events.NegativeHit; f != nil {
			f(name)
		}
	case err == nil && !answer.Stale:
		c.countHit(name)
	default:
		c.countFlight(name, answer, err)
	}
}

// countFlight counts a look-up that waited for a flight. A plain answer, and
// one that the name does not exist, are the normal case and have no counter.
func (c *Cache) countFlight(name string, answer Answer, err error) {
	switch {
	case errors.Is(err, ErrFailed):
		c.count.failures.Add(1)
		if f := c.opts.Events.Failure; f != nil {
			f(name, err)
		}
	case answer.Stale:
		c.count.staleServed.Add(1)
		if f := c.opts.Events.StaleServed; f != nil {
			f(name)
		}
	}
}
