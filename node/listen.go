package node

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"syscall"

	"crawlnode/config"
	"crawlnode/door"
	"crawlnode/node/datadir"
)

// portStep and portTries are how a node looks for free ports: all three
// addresses move up together, so that nodes on one machine get 27295, 27305...
const (
	portStep  = 10
	portTries = 200
)

// What the two listeners hold at the same time. A stranger's connection to the RPC port
// costs some 80 KiB, to the HTTP port 30; each member has one connection to this node,
// and a dashboard some.
var (
	httpConnections = door.Limits{Strangers: 128, Trusted: 1024}
	rpcConnections  = door.Limits{Strangers: 64, Trusted: 4096}
)

// bound holds the sockets that a node opened. The gossip port is only known to
// be free: memberlist opens it itself, a moment later.
type bound struct {
	http, rpc net.Listener
	gossip    string
}

// listenTriple opens the node's addresses, or the next free triple.
func listenTriple(c *config.Config, dir *datadir.Dir, network *Network) (*bound, error) {
	asked := c.HTTP + " " + c.Gossip + " " + c.RPC
	if last, ok := dir.LoadAddresses(); ok && last.Asked == asked {
		if b, err := tryTriple(last.HTTP, last.Gossip, last.RPC, network); err == nil {
			return b, nil
		}
	}
	for i := range portTries {
		http, gossip, rpc := shifted(c.HTTP, i), shifted(c.Gossip, i), shifted(c.RPC, i)
		b, err := tryTriple(http, gossip, rpc, network)
		if err == nil {
			return b, dir.SaveAddresses(datadir.Addresses{HTTP: b.http.Addr().String(), Gossip: b.gossip, RPC: b.rpc.Addr().String(), Asked: asked})
		}
		if !errors.Is(err, syscall.EADDRINUSE) {
			return nil, usageError(fmt.Errorf("listen on --http %s, --gossip %s, --rpc %s: %w: give addresses of this machine", http, gossip, rpc, err))
		}
	}
	return nil, usageError(fmt.Errorf("no free ports: --http %s, --gossip %s, --rpc %s and the %d triples above them are taken", c.HTTP, c.Gossip, c.RPC, portTries-1))
}

// shifted moves an address's port up by i steps; port 0 stays.
func shifted(addr string, i int) string {
	host, port, err := net.SplitHostPort(addr)
	n, err2 := strconv.Atoi(port)
	if err != nil || err2 != nil || n == 0 {
		return addr
	}
	return net.JoinHostPort(host, strconv.Itoa(n+i*portStep))
}

func tryTriple(http, gossip, rpc string, network *Network) (*bound, error) {
	h, err := listen(http, network)
	if err != nil {
		return nil, err
	}
	r, err := listen(rpc, network)
	if err != nil {
		h.Close()
		return nil, err
	}
	g, err := probeGossip(gossip, network)
	if err != nil {
		h.Close()
		r.Close()
		return nil, err
	}
	return &bound{http: h, rpc: r, gossip: g}, nil
}

func listen(addr string, network *Network) (net.Listener, error) {
	if network != nil {
		return network.Listen(addr)
	}
	return net.Listen("tcp", addr)
}

// probeGossip finds out that a port is free for both TCP and UDP, and chooses
// one when none is asked for.
func probeGossip(addr string, network *Network) (string, error) {
	if network != nil {
		return addr, nil
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return "", err
	}
	defer l.Close()
	u, err := net.ListenPacket("udp", l.Addr().String())
	if err != nil {
		return "", err
	}
	u.Close()
	return l.Addr().String(), nil
}
