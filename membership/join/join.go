package join

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"crawlnode/crawl"
	"crawlnode/membership/gossip"
)

// Waits between two rounds.
const (
	firstWait     = time.Second
	longestWait   = 5 * time.Second
	atOnce        = 16 // addresses tried at the same time
	resolveWithin = 2 * time.Second
)

// Gossip is what a Joiner needs of package gossip.
type Gossip interface {
	Join(addrs ...string) error
	BeginAttempt() uint64
	MetSelf(attempt uint64) bool
}

// Options are what New needs.
type Options struct {
	Listed []string // the addresses of --join
	Own    string   // this node's own gossip address
	Gossip Gossip
	// Lookup returns the IP addresses of a name.
	Lookup func(ctx context.Context, name string) ([]string, error)
}

// Plan is what to try. It is immutable.
type Plan struct {
	Targets []string // sorted
	Joined  bool     // the node belongs to a cluster
}

// Round is what one trial of each address of a plan found.
type Round struct {
	Listed []Place // the addresses of --join that were tried, in its order
	Others []Place // all other addresses that were tried
	Fatal  error   // of gossip.ErrMismatch: this node cannot join the cluster that answers
}

// Place is what was found at an address.
type Place struct {
	Addr string
	At   []string // the IP addresses and ports to which it leads
	Err  error    // why no node has answered there; nil: one has
	// Of addresses of --join, before there is a cluster: who has answered.
	Self, Others bool
}

// Own reports whether this node is at the place, and no other one.
func (p *Place) Own() bool { return p.Self && !p.Others }

// Certain reports whether the place was given as an IP address, or is a name of this
// machine's loopback: no name server can have that wrong.
func (p *Place) Certain() bool {
	return !slices.ContainsFunc(p.At, func(at string) bool {
		addr, err := gossip.ParseAddress(at)
		return err != nil || p.Addr != at && !net.ParseIP(addr.Host).IsLoopback()
	})
}

// Joiner tries the addresses of its plan.
type Joiner struct {
	o      Options
	plan   atomic.Pointer[Plan]
	replan chan struct{} // cap 1: plan has changed
	Rounds chan Round    // unbuffered
}

// New returns a joiner without a plan: Follow must be called before Run.
func New(o Options) *Joiner {
	return &Joiner{o: o, replan: make(chan struct{}, 1), Rounds: make(chan Round)}
}

// Follow replaces the plan. The waits begin anew if it differs from the one before.
func (j *Joiner) Follow(plan *Plan) {
	if old := j.plan.Load(); old != nil && old.Joined == plan.Joined &&
		slices.Equal(old.Targets, plan.Targets) {
		return
	}
	j.plan.Store(plan)
	crawl.Signal(j.replan)
}

// Run tries each address of the plan in rounds until ctx ends. The waits start anew
// when the plan changes. They do not grow before there is a cluster: if a name gets its
// address late, the cluster would be founded seconds later still.
func (j *Joiner) Run(ctx context.Context) {
	wait := firstWait
	for {
		plan := j.plan.Load()
		select {
		case j.Rounds <- j.round(ctx, plan):
		case <-ctx.Done():
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-j.replan:
			wait = firstWait
		case <-time.After(wait):
			if plan.Joined {
				wait = min(2*wait, longestWait)
			}
			continue
		}
		// A plan that changes all the time must not make a busy loop.
		select {
		case <-ctx.Done():
			return
		case <-time.After(firstWait / 4):
		}
	}
}

// round tries each address of the plan once.
func (j *Joiner) round(ctx context.Context, plan *Plan) Round {
	attempt := j.o.Gossip.BeginAttempt()
	tried := j.joinAll(ctx, plan.Targets)
	var r Round
	for _, addr := range j.o.Listed {
		if p, ok := tried[addr]; ok {
			r.Listed = append(r.Listed, p)
		}
	}
	for _, p := range tried {
		if !slices.Contains(j.o.Listed, p.Addr) {
			r.Others = append(r.Others, p)
		}
		// memberlist drops the chain of errors, so the text has to do.
		if detail, ok := mismatch(p.Err); ok && !plan.Joined {
			r.Fatal = fmt.Errorf("%w%s", gossip.ErrMismatch, detail)
		}
	}
	if !plan.Joined {
		j.recognise(r.Listed, j.o.Gossip.MetSelf(attempt))
	}
	return r
}

// joinAll joins all addresses, atOnce at a time.
func (j *Joiner) joinAll(ctx context.Context, targets []string) map[string]Place {
	var mu sync.Mutex // guards tried
	tried := make(map[string]Place, len(targets))
	var group sync.WaitGroup
	slots := make(chan struct{}, atOnce)
	for _, addr := range targets {
		slots <- struct{}{}
		if ctx.Err() != nil {
			break
		}
		group.Go(func() {
			defer func() { <-slots }()
			p := j.join(ctx, addr)
			mu.Lock()
			defer mu.Unlock()
			tried[addr] = p
		})
	}
	group.Wait()
	return tried
}

// join joins the node that is at addr now: a name is resolved at each attempt anew.
func (j *Joiner) join(ctx context.Context, addr string) Place {
	p := Place{Addr: addr}
	if p.At, p.Err = j.resolve(ctx, addr); p.Err == nil {
		p.Err = j.o.Gossip.Join(p.At...)
	}
	return p
}

// resolve returns the addresses to which addr leads now, at least one.
func (j *Joiner) resolve(ctx context.Context, addr string) ([]string, error) {
	at, err := gossip.ParseAddress(addr)
	if err != nil || net.ParseIP(at.Host) != nil {
		return []string{addr}, err
	}
	limited, cancel := context.WithTimeout(ctx, resolveWithin)
	defer cancel()
	ips, err := j.o.Lookup(limited, at.Host)
	if err == nil && len(ips) == 0 {
		err = errors.New("none was found")
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNoAddress, err)
	}
	var out []string
	for _, ip := range ips {
		out = append(out, gossip.Address{Host: ip, Port: at.Port}.String())
	}
	return out, nil
}

// recognise finds this node among the places. met says that it has joined itself at one
// of them. They are tried one after the other, so that it is known at which.
//
// A node is recognised by what answers: names, NAT, and several interfaces make
// addresses useless for that.
//
//   - The mark of this process goes with every push/pull of gossip. A node that joins an
//     address and gets its own mark back has joined itself.
//   - If several nodes answer at one name, the place is no node's own.
//   - If the address is the advertised one and nothing answers, this node is there, behind
//     a NAT that accepts nothing from inside.
func (j *Joiner) recognise(listed []Place, met bool) {
	for i := range listed {
		p := &listed[i]
		switch {
		case p.Err != nil:
			p.Self = isSilent(p.Err) && slices.Contains(p.At, j.o.Own)
		case !met:
			p.Others = true
		default:
			for _, at := range p.At {
				j.tryOnce(p, at)
			}
		}
	}
}

// tryOnce joins one address of a place once more, and notes who answers.
func (j *Joiner) tryOnce(p *Place, at string) {
	attempt := j.o.Gossip.BeginAttempt()
	if err := j.o.Gossip.Join(at); err != nil {
		return
	}
	if j.o.Gossip.MetSelf(attempt) {
		p.Self = true
	} else {
		p.Others = true
	}
}
