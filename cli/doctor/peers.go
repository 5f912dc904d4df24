package doctor

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"time"

	"crawlnode/api/client"
	"crawlnode/config"
	"crawlnode/crawl"
	"crawlnode/node/preflight"
	"crawlnode/security/keyfile"
)

// peerCheck looks at the ways between this node and the cluster.
type peerCheck struct {
	*Diagnosis
	cfg    *config.Config
	access keyfile.Access
	own    *crawl.NodeStatus  // this node, when it runs
	known  []crawl.NodeStatus // the nodes that somebody who was asked has told of
}

// checkPeers looks at each address of --join. own is where this node's process
// answers, "" when it does not run, and addr another node that may be asked.
func (d *Diagnosis) checkPeers(ctx context.Context, cfg *config.Config, own, addr string) {
	if len(cfg.Join) == 0 {
		d.add("cluster", "peers", LevelOK, "none given with --join", "")
		return
	}
	access, err := keyfile.LoadAccess(cfg.ClusterKeyFile)
	if err != nil {
		d.add("cluster", "peers", LevelFail, err.Error(), "correct --cluster-key-file")
		return
	}
	p := &peerCheck{Diagnosis: d, cfg: cfg, access: access}
	if own != "" {
		if st, err := p.status(ctx, client.Reachable(own)); err == nil {
			p.own, p.known = st.own(), st.Nodes
		}
	}
	if addr != "" {
		st, err := p.status(ctx, addr)
		if err != nil {
			d.add("cluster", "node at --addr", LevelFail, err.Error(),
				"give the --http address of a node that runs")
		} else {
			p.known = st.Nodes
		}
	}
	others := 0
	for _, peer := range cfg.Join {
		if p.isOwn(peer) {
			continue
		}
		others++
		p.checkPeer(ctx, peer)
	}
	if others == 0 {
		d.add("cluster", "peers", LevelOK, "--join names this node alone", "")
	}
}

// peerStatus is a status, and when it was asked for and answered.
type peerStatus struct {
	*crawl.Status
	asked, answered time.Time
}

// own is the block of the node that answered.
func (s *peerStatus) own() *crawl.NodeStatus {
	for i := range s.Nodes {
		if s.Nodes[i].Name == s.ServedBy {
			return &s.Nodes[i]
		}
	}
	return nil
}

func (p *peerCheck) status(ctx context.Context, addr string) (*peerStatus, error) {
	c := client.New(client.Options{Addr: addr, Token: p.access.Token, TLS: p.access.TLS})
	defer c.Close()
	s := &peerStatus{asked: time.Now()}
	st, err := c.Status(ctx, false)
	s.Status, s.answered = st, time.Now()
	return s, err
}

// isOwn says whether an address of --join is this node's.
func (p *peerCheck) isOwn(peer string) bool {
	_, port, _ := net.SplitHostPort(p.cfg.Gossip)
	return peer == p.cfg.Gossip || p.own != nil && sameAddress(peer, p.own.Gossip) ||
		p.cfg.Advertise != "" && peer == net.JoinHostPort(p.cfg.Advertise, port)
}

// sameAddress says whether two host:port are the same, whatever the host is called.
func sameAddress(a, b string) bool {
	if a == b {
		return true
	}
	x, err1 := net.ResolveTCPAddr("tcp", a)
	y, err2 := net.ResolveTCPAddr("tcp", b)
	return err1 == nil && err2 == nil && x.Port == y.Port && x.IP.Equal(y.IP)
}

// checkPeer looks at the ways to one node and back.
func (p *peerCheck) checkPeer(ctx context.Context, peer string) {
	probe, err := preflight.ProbeGossip(ctx, p.cfg, peer)
	if err != nil {
		p.add("cluster", "gossip to "+peer, LevelFail, err.Error(), "correct the settings")
		return
	}
	if probe.TCP != nil {
		p.add("cluster", "gossip to "+peer+", TCP", LevelFail, probe.TCP.Error(),
			"start that node, or open the TCP port of its --gossip")
	} else {
		p.add("cluster", "gossip to "+peer+", TCP", LevelOK, "open", "")
	}
	switch {
	case probe.UDP == nil:
		p.add("cluster", "gossip to "+peer+", UDP", LevelOK,
			fmt.Sprintf("answers in %v, with this --cluster and key", probe.RTT.Round(10*time.Microsecond)),
			"")
	case probe.TCP == nil:
		p.add("cluster", "gossip to "+peer+", UDP", LevelFail, "no answer, though TCP is open",
			"open the UDP port of --gossip in both directions; when it is open, "+
				"that node has another --cluster or another key")
	default:
		p.add("cluster", "gossip to "+peer+", UDP", LevelFail, "no answer",
			"start that node, or open the UDP port of its --gossip")
	}
	if probe.TCP == nil {
		p.checkCalls(ctx, peer)
	}
}

// checkCalls looks at calls, clock and the way back, as far as the other addresses
// of the node can be found out.
func (p *peerCheck) checkCalls(ctx context.Context, peer string) {
	about, st, err := p.findPeer(ctx, peer)
	if err != nil {
		p.add("cluster", "calls to "+peer, LevelWarn, "its --rpc address is not known: "+err.Error(),
			"name the --http address of a node that runs with --addr")
		return
	}
	if err := preflight.ProbeCalls(ctx, p.cfg, about.RPC); err != nil {
		p.add("cluster", "calls to "+about.RPC, LevelFail, err.Error(),
			"open the TCP port of its --rpc; where it differs from the one listened on, "+
				"that node needs --advertise")
	} else {
		p.add("cluster", "calls to "+about.RPC, LevelOK, "answered", "")
	}
	if st == nil {
		if st, err = p.status(ctx, about.HTTP); err != nil {
			p.add("cluster", "API of "+about.HTTP, LevelWarn, err.Error(),
				"nodes do not need it of each other; people and this check do")
			return
		}
	}
	p.checkClock(about.Name, st)
	p.checkWayBack(about.Name, st)
}

// findPeer finds the node whose gossip listens at peer: among those that are known,
// or at the API's usual place beside it. The status is the one that it answered
// with, nil when it was not asked.
func (p *peerCheck) findPeer(
	ctx context.Context,
	peer string,
) (*crawl.NodeStatus, *peerStatus, error) {
	for i := range p.known {
		if sameAddress(p.known[i].Gossip, peer) {
			return &p.known[i], nil, nil
		}
	}
	host, text, err := net.SplitHostPort(peer)
	if err != nil {
		return nil, nil, err
	}
	port, err := strconv.Atoi(text)
	if err != nil {
		return nil, nil, err
	}
	st, err := p.status(ctx, net.JoinHostPort(host, strconv.Itoa(port-1)))
	if err != nil {
		return nil, nil, err
	}
	about := st.own()
	if about == nil || !sameAddress(about.Gossip, peer) {
		return nil, nil, fmt.Errorf("the node at %s:%d listens for gossip elsewhere", host, port-1)
	}
	return about, st, nil
}

// clockSkew is by how much clocks may differ. No promise hangs on it: only times in
// archives and logs do.
const clockSkew = 2 * time.Second

// checkClock compares this machine's clock with a node's.
func (p *peerCheck) checkClock(name string, st *peerStatus) {
	middle := st.asked.Add(st.answered.Sub(st.asked) / 2)
	skew := st.AsOf.Sub(middle).Round(time.Millisecond)
	if skew.Abs() > clockSkew {
		p.add("cluster", "clock against "+name, LevelWarn, fmt.Sprintf("differs by %v", skew),
			"run NTP on both machines: times in archives and logs are off by that")
		return
	}
	p.add("cluster", "clock against "+name, LevelOK, fmt.Sprintf("differs by %v", skew), "")
}

// heardOf is how old what a node says of another may be.
const heardOf = 3.0 // seconds

// checkWayBack checks that the node receives messages of this one.
func (p *peerCheck) checkWayBack(name string, st *peerStatus) {
	what, do := "way back from "+
		name, "open --gossip (TCP and UDP) and --rpc to it; behind NAT or in a container give --advertise"
	if p.own == nil {
		p.add("cluster", what, LevelWarn, "cannot be tried, because this node does not run",
			"start it, and run this check again: it asks "+name+" when it last heard this node")
		return
	}
	for _, n := range st.Nodes {
		if n.ID != p.own.ID {
			continue
		}
		if n.State == crawl.NodeAlive && n.AgeSeconds != nil && *n.AgeSeconds < heardOf {
			p.add("cluster", what, LevelOK,
				fmt.Sprintf("it heard this node %.1fs ago, at %s and %s", *n.AgeSeconds, n.Gossip, n.RPC), "")
			return
		}
		p.add("cluster", what, LevelFail,
			fmt.Sprintf("it holds this node for %s, at %s and %s", n.State, n.Gossip, n.RPC), do)
		return
	}
	if host, _, err := net.SplitHostPort(p.own.Gossip); err == nil {
		if ip, err := netip.ParseAddr(host); err == nil && ip.IsLoopback() {
			do = "this node listens on loopback alone: give --http, --gossip and --rpc addresses that " +
				name + " can reach"
		}
	}
	p.add("cluster", what, LevelFail, "it has never heard of this node", do)
}
