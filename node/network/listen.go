package network

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"syscall"

	"crawlnode/config"
	"crawlnode/door"
	"crawlnode/node/datadir"
)

// If a port is busy, all three addresses move up together by portStep, at most portTries
// times: nodes on one machine get 27295, 27305...
const (
	portStep  = 10
	portTries = 200
)

// Limits of open connections. A stranger's connection costs some 80 KiB at the RPC port and
// 30 KiB at the HTTP port; each member has one connection to this node, and a dashboard a few.
var (
	httpConnections = door.Limits{Strangers: 128, Trusted: 1024}
	rpcConnections  = door.Limits{Strangers: 64, Trusted: 4096}
)

// Bound are the addresses of a node. Of the gossip port only is known that it was free:
// memberlist opens it itself, a moment later.
type Bound struct {
	HTTP, RPC net.Listener
	Gossip    string
}

// Error says that the addresses of the flags cannot be listened on, and what to do.
type Error struct{ err error }

func (e *Error) Error() string { return e.err.Error() }
func (e *Error) Unwrap() error { return e.err }

// Listen binds the node's addresses, or the next free triple; those of the last start are tried
// first. Its error is an *Error, or one of the data directory.
func Listen(c *config.Config, dir *datadir.Dir, network *Network, log *slog.Logger) (*Bound, error) {
	b, err := listenTriple(c, dir, network)
	if err != nil {
		return nil, err
	}
	if moved := moved(c, b); moved != "" {
		log.Warn(moved)
	}
	b.HTTP, b.RPC = door.Listen(b.HTTP, httpConnections), door.Listen(b.RPC, rpcConnections)
	return b, nil
}

// moved says that a node listens elsewhere than its flags say, "" that it does not. Whoever gave a
// port has told others of it. That the ports of nodes without such flags move is how they share a
// machine; the banner shows them.
func moved(c *config.Config, b *Bound) string {
	usual := config.Default()
	for _, a := range [...]struct{ flag, asked, usual, got string }{
		{"--gossip", c.Gossip, usual.Gossip, b.Gossip},
		{"--rpc", c.RPC, usual.RPC, b.RPC.Addr().String()},
		{"--http", c.HTTP, usual.HTTP, b.HTTP.Addr().String()},
	} {
		_, asked, _ := net.SplitHostPort(a.asked)
		_, got, _ := net.SplitHostPort(a.got)
		if n, err := strconv.Atoi(asked); err == nil && n != 0 && asked != got && a.asked != a.usual {
			return fmt.Sprintf("%s says port %s, and this node listens at %s, also after a restart, because one of its three ports was taken: tell the other nodes that address, or give free ports", a.flag, asked, got)
		}
	}
	return ""
}

// listenTriple is Listen without the doors.
func listenTriple(c *config.Config, dir *datadir.Dir, network *Network) (*Bound, error) {
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
			return b, dir.SaveAddresses(datadir.Addresses{HTTP: b.HTTP.Addr().String(), Gossip: b.Gossip, RPC: b.RPC.Addr().String(), Asked: asked})
		}
		if !errors.Is(err, syscall.EADDRINUSE) {
			return nil, &Error{fmt.Errorf("listen on --http %s, --gossip %s, --rpc %s: %w: %s", http, gossip, rpc, err, advice(err))}
		}
	}
	return nil, &Error{fmt.Errorf("no free ports: --http %s, --gossip %s, --rpc %s and the %d triples above them are taken", c.HTTP, c.Gossip, c.RPC, portTries-1)}
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

func tryTriple(http, gossip, rpc string, network *Network) (*Bound, error) {
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
	return &Bound{HTTP: h, RPC: r, Gossip: g}, nil
}

func listen(addr string, network *Network) (net.Listener, error) {
	if network != nil {
		return network.Listen(addr)
	}
	return net.Listen("tcp", addr)
}

// probeGossip checks that a port is free for both TCP and UDP, and chooses one for port 0.
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

// Advertised is a listener's address as others reach it; advertise is --advertise.
func Advertised(l net.Listener, advertise string) string {
	if advertise == "" {
		return l.Addr().String()
	}
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		return l.Addr().String()
	}
	host := advertise
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	return net.JoinHostPort(host, port)
}

// advice is what to do when an address cannot be listened on.
func advice(err error) string {
	if errors.Is(err, syscall.EACCES) {
		return "give ports from 1024 on, or run it as a user that may use lower ones"
	}
	return "give addresses of this machine"
}
