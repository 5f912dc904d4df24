package network

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"crawlnode/config"
	"crawlnode/local/datadir"
	"crawlnode/security/door"
)

// If a port is busy that nobody asked for, all such addresses move up together by portStep, at most
// portTries times: nodes on one machine get 27295, 27305...
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

// Listen binds the node's addresses. The ports of the flags in given, which a person chose, stay:
// one that is taken is an error. The others move up together to the next that are free; those of
// the last start are tried first. Its error is an *Error, or one of the data directory.
func Listen(c *config.Config, given []string, dir *datadir.Dir, network *Network) (*Bound, error) {
	b, err := listenTriple(c, given, dir, network)
	if err != nil {
		return nil, err
	}
	b.HTTP, b.RPC = door.Listen(b.HTTP, httpConnections), door.Listen(b.RPC, rpcConnections)
	return b, nil
}

// triple are the three addresses: of --http, --gossip and --rpc.
type triple [3]string

// flags are those of a triple, without dashes.
var flags = [3]string{"http", "gossip", "rpc"}

// listenTriple is Listen without the doors.
func listenTriple(
	c *config.Config,
	given []string,
	dir *datadir.Dir,
	network *Network,
) (*Bound, error) {
	first := triple{c.HTTP, c.Gossip, c.RPC}
	asked := c.HTTP + " " + c.Gossip + " " + c.RPC
	var stays [3]bool
	for i, flag := range flags {
		stays[i] = slices.Contains(given, flag)
	}
	if last, ok := dir.LoadAddresses(); ok && last.Asked == asked {
		if again := (triple{last.HTTP, last.Gossip, last.RPC}); first.keeps(again, stays) {
			if b, err := tryTriple(again, network); err == nil {
				return b, nil
			}
		}
	}
	for i := range portTries {
		at := first.shifted(i, stays)
		b, err := tryTriple(at, network)
		if err == nil {
			return b, dir.SaveAddresses(datadir.Addresses{
				HTTP:   b.HTTP.Addr().String(),
				Gossip: b.Gossip,
				RPC:    b.RPC.Addr().String(),
				Asked:  asked,
			})
		}
		which := err.which
		flag := "--" + flags[which] + " " + at[which]
		if !errors.Is(err, syscall.EADDRINUSE) {
			return nil, &Error{fmt.Errorf("listen on %s: %w: %s", flag, err, advice(err))}
		}
		if stays[which] {
			return nil, &Error{fmt.Errorf(
				"listen on %s: the port is in use%s: give another port, or leave --%s "+
					"out: then a free one is taken", flag, holder(at, which), flags[which])}
		}
	}
	return nil, &Error{fmt.Errorf(
		"no free ports: --http %s, --gossip %s, --rpc %s and the %d triples above them are taken", c.HTTP,
		c.Gossip, c.RPC, portTries-1)}
}

// keeps reports whether again, the addresses of the last start, has the ports that stay.
func (t triple) keeps(again triple, stays [3]bool) bool {
	for i := range t {
		_, asked, _ := net.SplitHostPort(t[i])
		_, got, _ := net.SplitHostPort(again[i])
		if stays[i] && asked != got && asked != "0" {
			return false
		}
	}
	return true
}

// shifted moves the ports up by i steps, but for those that stay.
func (t triple) shifted(i int, stays [3]bool) triple {
	for k := range t {
		if !stays[k] {
			t[k] = shifted(t[k], i)
		}
	}
	return t
}

// holder says who has the port of one of the addresses, as far as the system tells.
func holder(at triple, which int) string {
	for i := range at {
		if _, port, _ := net.SplitHostPort(at[which]); i != which && strings.HasSuffix(at[i], ":"+port) {
			return " for --" + flags[i]
		}
	}
	if pid, name := PortOwner(at[which]); pid > 0 {
		return fmt.Sprintf(" by %s (process %d)", name, pid)
	}
	return ""
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

// busy is the error of one of three addresses.
type busy struct {
	which int
	err   error
}

func (b *busy) Error() string { return b.err.Error() }
func (b *busy) Unwrap() error { return b.err }

func tryTriple(at triple, network *Network) (*Bound, *busy) {
	h, err := listen(at[0], network)
	if err != nil {
		return nil, &busy{0, err}
	}
	r, err := listen(at[2], network)
	if err != nil {
		h.Close()
		return nil, &busy{2, err}
	}
	g, err := probeGossip(at[1], network)
	if err != nil {
		h.Close()
		r.Close()
		return nil, &busy{1, err}
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
