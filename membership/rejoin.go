package membership

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"crawlnode/crawl"
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
	first  bool  // the node's own address stands first in Join
	others []int // indices in Join of addresses that are not its own
	failed map[string]error
	fatal  error
}

// remember keeps the known addresses on the disk and renews the plan.
func (l *loop) remember(s *Snapshot) error {
	known, inSight := l.addresses(s)
	if !slices.Equal(known, l.m.doc.Peers) && len(known) > 0 {
		l.m.doc.Peers = known
		if err := l.m.o.Storage.Save(encodeDocument(&l.m.doc)); err != nil {
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
	for _, addr := range slices.Concat(l.m.o.Join, l.m.doc.Peers, formerly) {
		// A node that waits for admission greets even those in sight: they may
		// not see it.
		if addr != l.m.self.Gossip && (s.Status == Joining || !slices.Contains(inSight, addr)) {
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
// changes.
func (m *Membership) rejoin(ctx context.Context, rounds chan<- joinRound) {
	own := m.ownPlace(ctx)
	wait := rejoinFirst
	for {
		round := own
		round.failed, round.fatal = m.joinAll(ctx, m.plan.Load())
		select {
		case rounds <- round:
		case <-ctx.Done():
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-m.replan:
			wait = rejoinFirst
		case <-time.After(wait):
			wait = min(2*wait, rejoinMost)
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

// ownPlace finds this node's own address in Join.
func (m *Membership) ownPlace(ctx context.Context) joinRound {
	var r joinRound
	own := m.ownAddresses()
	for i, addr := range m.o.Join {
		if slices.ContainsFunc(m.resolve(ctx, addr), func(a string) bool { return slices.Contains(own, a) }) {
			r.first = r.first || i == 0
		} else {
			r.others = append(r.others, i)
		}
	}
	return r
}

// ownAddresses lists the gossip addresses under which others may have this
// node in their lists: what it advertises, what it is bound to, and, bound to
// all interfaces, each of them.
func (m *Membership) ownAddresses() []string {
	own := []string{m.self.Gossip}
	at, err := splitPort(m.o.Bind)
	if err != nil || at.port == 0 || m.o.Transport != nil {
		return own
	}
	own = append(own, at.String())
	if ip := net.ParseIP(at.host); at.host != "" && (ip == nil || !ip.IsUnspecified()) {
		return own
	}
	all, err := net.InterfaceAddrs()
	if err != nil {
		return own // the advertised address has to do
	}
	for _, a := range all {
		if n, ok := a.(*net.IPNet); ok {
			own = append(own, hostPort{n.IP.String(), at.port}.String())
		}
	}
	return own
}

// resolve returns addr and the addresses its name stands for.
func (m *Membership) resolve(ctx context.Context, addr string) []string {
	out := []string{addr}
	at, err := splitPort(addr)
	if err != nil || net.ParseIP(at.host) != nil {
		return out
	}
	limited, cancel := context.WithTimeout(ctx, resolveWithin)
	defer cancel()
	ips, err := m.o.Lookup(limited, at.host)
	if err != nil {
		return out // the join will say so
	}
	for _, ip := range ips {
		out = append(out, hostPort{ip, at.port}.String())
	}
	return out
}

// join greets whoever is at addr now: a name is looked up by Lookup, as everywhere.
func (m *Membership) join(ctx context.Context, addr string) error {
	at := []string{addr}
	if found := m.resolve(ctx, addr); len(found) > 1 {
		at = found[1:]
	} else if host, err := splitPort(addr); err == nil && net.ParseIP(host.host) == nil {
		return fmt.Errorf("the name of %s has no address now", addr)
	}
	_, err := m.gossip.list.Join(at)
	return err
}

// joinAll tries each address of the plan once. The second result is set when a
// node that belongs to no cluster yet was answered by one it does not fit to.
func (m *Membership) joinAll(ctx context.Context, plan *joinPlan) (map[string]error, error) {
	var mu sync.Mutex // guards failed and fatal
	failed := make(map[string]error)
	var fatal error
	var group sync.WaitGroup
	slots := make(chan struct{}, rejoinAtOnce)
	for _, addr := range plan.targets {
		slots <- struct{}{}
		if ctx.Err() != nil {
			break
		}
		group.Go(func() {
			defer func() { <-slots }()
			err := m.join(ctx, addr)
			if err == nil {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			failed[addr] = err
			// memberlist drops the chain of errors, so its text has to do.
			if _, detail, ok := strings.Cut(err.Error(), ErrMismatch.Error()); ok && !plan.joined {
				fatal = fmt.Errorf("%w%s", ErrMismatch, strings.TrimSpace(strings.TrimRight(detail, "\n")))
			}
		})
	}
	group.Wait()
	return failed, fatal
}

// consider takes in what a round of joining brought.
func (l *loop) consider(r joinRound) error {
	l.firstListed = r.first
	for addr, err := range r.failed {
		if why := whyNoAnswer(err); why != "" {
			l.tell(refusal{name: addr, reason: why})
		}
		l.m.o.Logger.Debug("join failed", "addr", addr, "err", err)
	}
	if r.fatal != nil {
		return r.fatal
	}
	return l.foundIfSure(r)
}

// whyNoAnswer says what an operator has to know of a join that failed, or "" when it is
// nothing but an address where nobody answers. memberlist's errors are texts.
func whyNoAnswer(err error) string {
	text := err.Error()
	has := func(part string) bool { return strings.Contains(text, part) }
	switch {
	case has("remote state is encrypted and encryption is not configured") && !has("remote error"):
		return "it has a cluster key and this node has none: give this node the same --cluster-key-file"
	case has("remote state is not encrypted"), has("remote error: remote state is encrypted"):
		return "it has no cluster key and this node has one: give all nodes the same --cluster-key-file"
	case has("no installed keys could decrypt"):
		return "it has another cluster key: give all nodes the same --cluster-key-file"
	case has("EOF"), has("reset by peer"), has("broken pipe"):
		return "it closed the connection unread: another --cluster, another cluster key, or no crawlnode"
	}
	return ""
}

// considerFounding founds a cluster when the first node of the join list has
// seen nobody of a cluster for long enough.
func (l *loop) considerFounding() error {
	if l.m.core.View() != nil || !l.firstListed {
		return nil
	}
	for _, n := range l.nodes {
		if n.alive && n.cluster != "" {
			l.alone = time.Now()
		}
	}
	if time.Since(l.alone) < l.m.o.FoundAfter {
		return nil
	}
	return l.found()
}

// foundIfSure founds at once when there is nothing to wait for: every other
// node of the join list is in sight and belongs to no cluster.
func (l *loop) foundIfSure(r joinRound) error {
	if l.m.core.View() != nil || !l.firstListed {
		return nil
	}
	for _, i := range r.others {
		waiting := false
		for _, n := range l.nodes {
			if n.alive && n.cluster != "" {
				return nil
			}
			waiting = waiting || n.alive && n.Gossip == l.m.o.Join[i]
		}
		if !waiting {
			return nil
		}
	}
	return l.found()
}

// found makes the first view of a new cluster.
func (l *loop) found() error {
	me := l.m.self
	me.Since = 1
	cluster := l.m.doc.Cluster
	cluster.ID, cluster.Partitions, cluster.Replication = newClusterID(), l.m.o.Partitions, l.m.o.Replication
	l.m.o.Logger.Info("cluster founded", "cluster", cluster.Name, "id", cluster.ID, "partitions", cluster.Partitions)
	return l.step(context.Background(), Founded{&View{Number: 1, Cluster: cluster, Members: []Member{me}}}, nil)
}
