//go:build !race

package main

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"crawlnode/integration/simnet"
	"crawlnode/membership"
	"crawlnode/membership/consensus"
)

// bubbleClock is the bubble's clock as a machine's.
type bubbleClock struct{}

func (bubbleClock) BootTime() time.Duration {
	return time.Since(time.Date(1999, 1, 1, 0, 0, 0, 0, time.UTC))
}

func (bubbleClock) Wall() time.Time { return time.Now() }

// address is the address of a node; it uses this port and the next two.
func address(number int) netip.Addr {
	return netip.AddrFrom4([4]byte{10, 0, byte(number >> 8), byte(number)})
}

func place(number, port int) string {
	return netip.AddrPortFrom(address(number), uint16(7000+port)).String()
}

// village is members without nodes around them: gossip over simnet, calls and
// leases by hand. One member's death can be seen by all at once, as a killed
// process on the same machine is.
type village struct {
	t       *testing.T
	m       *meter
	net     *simnet.Network
	ctx     context.Context
	stop    context.CancelFunc
	members []*villager
	byRPC   map[string]*villager
}

type villager struct {
	*membership.Membership
	v    *village
	stop context.CancelFunc
	over sync.WaitGroup
	dead atomic.Bool
}

func newVillage(t *testing.T, n int) *village {
	v := &village{t: t, m: newMeter(), net: simnet.New(1), byRPC: map[string]*villager{}}
	v.net.SetDefault(near)
	v.ctx, v.stop = context.WithCancel(t.Context())
	for i := range n {
		v.open(i)
	}
	return v
}

// open makes a member; the first founds the cluster.
func (v *village) open(i int) {
	v.t.Helper()
	name := fmt.Sprintf("node%d", i)
	wire, err := v.net.AddHost(name, address(i+1)).Transport(7000)
	if err != nil {
		v.t.Fatal(err)
	}
	h := &villager{v: v}
	o := membership.Options{
		Storage: new(membership.Memory), Name: name, Cluster: "village", Partitions: 512, Replication: 1,
		RPC: place(i+1, 1), HTTP: place(i+1, 2), Transport: gossipWire{wire, v.m}, Caller: h,
		SecretKey:    make([]byte, 32),
		ProofOfDeath: true, Clock: bubbleClock{},
		Processes: func(m membership.Member) (gone, known bool) {
			return v.byRPC[m.RPC].dead.Load(), true
		},
	}
	if i > 0 {
		o.Join = []string{place(1, 0), place(2, 0), place(3, 0)}
	}
	if h.Membership, err = membership.Open(o); err != nil {
		v.t.Fatal(err)
	}
	v.members, v.byRPC[o.RPC] = append(v.members, h), h
}

// Call implements membership.Caller. A dead node neither calls nor answers.
func (h *villager) Call(ctx context.Context, to membership.Member, payload []byte) ([]byte, error) {
	peer := h.v.byRPC[to.RPC]
	if h.dead.Load() || peer.dead.Load() {
		return nil, errors.New("connection refused")
	}
	h.v.m.payload(h.v.t, payload)
	time.Sleep(near.Delay)
	reply, err := peer.Handle(ctx, payload)
	time.Sleep(near.Delay)
	if err == nil {
		h.v.m.payload(h.v.t, reply)
	}
	return reply, err
}

// start runs all, the others a moment after the founder, and waits until they are
// in one view and quiet.
func (v *village) start() {
	for i, h := range v.members {
		ctx, cancel := context.WithCancel(v.ctx)
		h.stop = cancel
		h.over.Go(func() {
			if err := h.Run(ctx); err != nil {
				v.t.Errorf("node%d: %v", i, err)
			}
		})
		h.over.Go(func() { h.renew(ctx, time.Duration(i*137%1000)*time.Millisecond) })
		if i == 0 {
			time.Sleep(time.Second)
		}
	}
	v.await(func(s *membership.Snapshot) bool {
		return s.View != nil && len(s.View.Members) == len(v.members) && s.Status == consensus.Active &&
			s.Followed
	})
	time.Sleep(watched) // what the joins have left to say
}

// renew asks the others for the lease each second, as nodes do. No two start at the same moment: a
// node that hears another twice in each second need not call it.
func (h *villager) renew(ctx context.Context, first time.Duration) {
	time.Sleep(first)
	for ctx.Err() == nil {
		if view := h.View(); view != nil {
			for _, to := range h.v.members {
				asked := h.LeaseAsked()
				if to != h && !to.dead.Load() && to.Grant(view.Number, h.Self().ID, h.Self().Boot) {
					h.LeaseGranted(view.Number, to.Self().ID, asked)
				}
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
	}
}

// await waits until it is so for all that live.
func (v *village) await(ok func(*membership.Snapshot) bool) {
	v.t.Helper()
	for end := time.Now().Add(5 * time.Minute); ; time.Sleep(10 * time.Millisecond) {
		waits := 0
		for _, h := range v.members {
			if !h.dead.Load() && !ok(h.Snapshot()) {
				waits++
			}
		}
		if waits == 0 {
			return
		}
		if time.Now().After(end) {
			v.t.Fatalf("%d of %d members wait in vain", waits, len(v.members))
		}
	}
}

// death kills the last member and returns when all others have installed a view
// without it, and how long that took.
func (v *village) death() time.Duration {
	h := v.members[len(v.members)-1]
	h.dead.Store(true)
	v.net.Crash(fmt.Sprintf("node%d", len(v.members)-1))
	h.stop()
	began := time.Now()
	v.await(func(s *membership.Snapshot) bool {
		_, listed := s.View.Member(h.Self().ID)
		return !listed
	})
	took := time.Since(began)
	time.Sleep(10 * time.Second) // who tells of it late
	return took
}

func (v *village) end() {
	v.stop()
	for _, h := range v.members {
		h.over.Wait()
	}
	time.Sleep(5 * time.Minute) // memberlist does not wait for its goroutines
}
