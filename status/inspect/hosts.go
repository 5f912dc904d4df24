package inspect

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"crawlnode/crawl"
	"crawlnode/scheduler/core"
)

// This file lists hosts. Each member ranks the hosts that it has in memory, at most
// core.Config.MaxActive, and reports the first hundred. No frontier is scanned for it
// (invariant I10).

const (
	// hostsPatience is how long to wait for members: a person waits for the page.
	hostsPatience = time.Second
	// topFor is how long a member's own answer is reused.
	topFor = time.Second
)

// topHosts is the answer of one member, sent as JSON.
type topHosts struct {
	Hosts    []crawl.HostLine `json:"hosts"` // without Holder
	InMemory int64            `json:"in_memory"`
}

// topCache keeps the last answer in each order, so that many viewers cost as much as one.
type topCache struct {
	mu   sync.Mutex // guards last
	last map[string]keptTop
}

type keptTop struct {
	at  time.Time
	top *topHosts // never changed
}

// get returns an answer that is still valid, or nil.
func (c *topCache) get(sort string) *topHosts {
	c.mu.Lock()
	defer c.mu.Unlock()
	if k := c.last[sort]; time.Since(k.at) < topFor {
		return k.top
	}
	return nil
}

func (c *topCache) put(sort string, top *topHosts) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.last == nil {
		c.last = map[string]keptTop{}
	}
	c.last[sort] = keptTop{time.Now(), top}
}

// Hosts lists the first limit hosts among those that the members have in memory, in an order
// (crawl.SortQueued...).
func (i *Inspector) Hosts(ctx context.Context, sort string, limit int) (*crawl.HostsReport, error) {
	ctx, cancel := context.WithTimeout(ctx, hostsPatience)
	defer cancel()
	own, err := i.ownTop(ctx, sort)
	if err != nil {
		return nil, err
	}
	totals := i.o.Store.Totals()
	r := &crawl.HostsReport{Sort: sort, Unanswered: []string{}, Total: totals.Hosts + i.o.Cluster.HostsElsewhere()}
	take := func(ref crawl.NodeRef, top *topHosts) {
		if top == nil { // it did not answer, or has not joined
			r.Unanswered = append(r.Unanswered, ref.Name)
			return
		}
		r.InMemory += top.InMemory
		for _, l := range top.Hosts[:min(len(top.Hosts), crawl.MaxHostLines)] {
			l.Holder = ref
			r.Hosts = append(r.Hosts, l)
		}
	}
	take(i.o.Cluster.Ref(i.o.Self), own)
	for _, a := range i.askOthers(ctx, question{Top: sort}) {
		take(a.Node, a.Value.Top)
	}
	slices.Sort(r.Unanswered)
	r.Hosts = crawl.SortHosts(r.Hosts, sort, min(limit, crawl.MaxHostLines))
	return r, nil
}

// ownTop ranks the hosts that this node has in memory.
func (i *Inspector) ownTop(ctx context.Context, sort string) (*topHosts, error) {
	if !slices.Contains(crawl.HostSorts[:], sort) {
		return nil, fmt.Errorf("%w: unknown order %.40q", ErrBadQuestion, sort)
	}
	if top := i.tops.get(sort); top != nil {
		return top, nil
	}
	hosts, inMemory, err := i.o.Dispatcher.Top(ctx, sort, 2*crawl.MaxHostLines)
	if err != nil {
		return nil, fmt.Errorf("looking at the hosts in memory: %w", err)
	}
	top := &topHosts{Hosts: []crawl.HostLine{}, InMemory: int64(inMemory)}
	now := time.Now()
	for k := range hosts {
		top.Hosts = append(top.Hosts, i.hostLine(&hosts[k], now))
	}
	// The exact queue lengths may differ slightly from those used for the ranking.
	top.Hosts = crawl.SortHosts(top.Hosts, sort, crawl.MaxHostLines)
	i.tops.put(sort, top)
	return top, nil
}

// hostLine describes a host in memory. Its queue length is one read of the store. A partition that
// has just left has taken its hosts along.
func (i *Inspector) hostLine(g *core.TopHost, now time.Time) crawl.HostLine {
	_, bands, _, err := i.o.Store.Host(g.Partition, g.Host)
	r := crawl.HostReport{}
	if err == nil {
		for _, q := range bands {
			r.Queued += q
		}
	}
	next := crawl.Latest(crawl.Latest(g.Start, g.State.BlockedUntil), crawl.Latest(g.State.HoldUntil, g.State.FrozenUntil))
	if next.After(now) {
		r.NextAllowedAt = timeOrNil(next)
	}
	if why := backoffReason(&g.State, now); why != "" {
		r.Politeness.BackoffReason = &why
	}
	return crawl.HostLine{
		Host: g.Host, Partition: g.Partition, State: hostState(&r, &g.State, &g.HostSnapshot, now), Queued: r.Queued, Pages: g.State.Pages,
		Requests: g.State.Requests, Errors: g.Errors, Failures: g.State.Failures, NextAllowedAt: r.NextAllowedAt,
		BackoffSeconds: g.Backoff.Seconds(), LatencySeconds: g.State.Latency.Seconds(),
	}
}
