package membership

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	"crawlnode/crawl"
	"crawlnode/membership/consensus"
)

// Gossip alone never heals: after a cut of some seconds both sides forget each
// other for good. So every known address that is not in sight is joined again
// and again for ever, with these waits between the rounds.
const (
	rejoinFirst   = time.Second
	rejoinMost    = 5 * time.Second
	rejoinAtOnce  = 16 // addresses tried at the same time
	resolveWithin = 2 * time.Second
)

// joinPlan is what the loop gives the rejoiner to do. It is immutable.
type joinPlan struct {
	targets []string // sorted
	joined  bool     // the node belongs to a cluster
}

// joinRound is what the rejoiner gives back.
type joinRound struct {
	listed []place // the addresses of Join that were tried, in its order
	others []place // all other addresses that were tried
	fatal  error
}

// remember keeps the known addresses on the disk and renews the plan.
func (l *loop) remember(s *Snapshot) error {
	known, inSight := l.addresses(s)
	if !slices.Equal(known, l.m.doc.Peers) && len(known) > 0 {
		l.m.doc.Peers = known
		if err := l.save(); err != nil {
			return err
		}
	}
	plan := &joinPlan{joined: s.View != nil}
	var formerly []string
	for _, f := range l.m.doc.Former {
		if f.Gossip != "" {
			formerly = append(formerly, f.Gossip)
		}
	}
	for i, addr := range slices.Concat(l.m.o.Join, l.m.doc.Peers, formerly) {
		// Who might found has to find itself in the list.
		self := addr == l.m.self.Gossip && (plan.joined || i >= len(l.m.o.Join))
		// A node that waits for admission greets even those in sight: they may
		// not see it.
		if !self && (s.Status == consensus.Joining || !slices.Contains(inSight, addr)) {
			plan.targets = append(plan.targets, addr)
		}
	}
	slices.Sort(plan.targets)
	plan.targets = slices.Compact(plan.targets)
	if old := l.m.plan.Load(); old == nil || old.joined != plan.joined || !slices.Equal(old.targets, plan.targets) {
		l.m.plan.Store(plan)
		signal(l.m.replan)
	}
	return nil
}

// addresses lists the gossip addresses of the members and of nodes in sight,
// and separately those in sight. Both are sorted.
func (l *loop) addresses(s *Snapshot) (known, inSight []string) {
	for _, p := range s.Peers {
		n := l.nodes[p.ID]
		alive := n != nil && n.alive
		if p.ID == l.m.self.ID || p.Gossip == "" {
			continue
		}
		if alive {
			inSight = append(inSight, p.Gossip)
		}
		if alive || p.Listed || p.State != crawl.NodeLeft {
			known = append(known, p.Gossip)
		}
	}
	slices.Sort(known)
	slices.Sort(inSight)
	known = slices.Compact(known)
	return known[:min(len(known), maxPeers)], inSight
}

// rejoin runs rounds until ctx ends. The waits start anew when the plan
// changes, and do not grow before there is a cluster: whoever found itself by a name
// that resolves late would be seconds later still.
func (m *Membership) rejoin(ctx context.Context, rounds chan<- joinRound) {
	wait := rejoinFirst
	for {
		plan := m.plan.Load()
		select {
		case rounds <- m.round(ctx, plan):
		case <-ctx.Done():
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-m.replan:
			wait = rejoinFirst
		case <-time.After(wait):
			if plan.joined {
				wait = min(2*wait, rejoinMost)
			}
			continue
		}
		// A plan that changes without pause must not make a busy loop.
		select {
		case <-ctx.Done():
			return
		case <-time.After(rejoinFirst / 4):
		}
	}
}

// round tries each address of the plan once.
func (m *Membership) round(ctx context.Context, plan *joinPlan) joinRound {
	attempt := m.gossip.attempt.Add(1)
	tried := m.greetAll(ctx, plan.targets)
	var r joinRound
	for _, addr := range m.o.Join {
		if p, ok := tried[addr]; ok {
			r.listed = append(r.listed, p)
		}
	}
	for _, p := range tried {
		if !slices.Contains(m.o.Join, p.addr) {
			r.others = append(r.others, p)
		}
		// memberlist drops the chain of errors, so its text has to do.
		if detail, ok := mismatch(p.err); ok && !plan.joined {
			r.fatal = fmt.Errorf("%w%s", ErrMismatch, detail)
		}
	}
	if !plan.joined {
		m.recognise(r.listed, m.gossip.met.Load() >= attempt)
	}
	return r
}

// greetAll joins all addresses at the same time, more or less.
func (m *Membership) greetAll(ctx context.Context, targets []string) map[string]place {
	var mu sync.Mutex // guards tried
	tried := make(map[string]place, len(targets))
	var group sync.WaitGroup
	slots := make(chan struct{}, rejoinAtOnce)
	for _, addr := range targets {
		slots <- struct{}{}
		if ctx.Err() != nil {
			break
		}
		group.Go(func() {
			defer func() { <-slots }()
			p := m.greet(ctx, addr)
			mu.Lock()
			defer mu.Unlock()
			tried[addr] = p
		})
	}
	group.Wait()
	return tried
}

// greet joins whoever is at addr now: a name is looked up at each attempt anew.
func (m *Membership) greet(ctx context.Context, addr string) place {
	p := place{addr: addr}
	if p.at, p.err = m.resolve(ctx, addr); p.err == nil {
		_, p.err = m.gossip.list.Join(p.at)
	}
	return p
}

// resolve returns the addresses to which addr leads now, at least one.
func (m *Membership) resolve(ctx context.Context, addr string) ([]string, error) {
	at, err := splitPort(addr)
	if err != nil || net.ParseIP(at.host) != nil {
		return []string{addr}, err
	}
	limited, cancel := context.WithTimeout(ctx, resolveWithin)
	defer cancel()
	ips, err := m.o.Lookup(limited, at.host)
	if err == nil && len(ips) == 0 {
		err = errors.New("none was found")
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNoAddress, err)
	}
	var out []string
	for _, ip := range ips {
		out = append(out, hostPort{ip, at.port}.String())
	}
	return out, nil
}

// consider takes in what a round of joining brought.
func (l *loop) consider(r joinRound) error {
	for _, p := range r.others {
		if why := whyNoAnswer(p.err); why != "" {
			l.tell(refusal{name: p.addr, reason: why})
		}
		if p.err != nil {
			l.m.o.Logger.Debug("join failed", "addr", p.addr, "err", p.err)
		}
	}
	l.lookAtListed(r.listed)
	if r.fatal != nil {
		return r.fatal
	}
	l.findOneself(r.listed)
	return l.foundIfSure(r.listed)
}
