package simnet

import (
	"context"
	"errors"
	"maps"
	"net"
	"net/netip"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/miekg/dns"
)

// connectTimeout is how long a dial into a cut network takes when its context does not end it, as
// on Linux (tcp_syn_retries = 6).
const connectTimeout = 127 * time.Second

// noNeighbour is how long a system looks for an unused address.
const noNeighbour = 3 * time.Second

// errCrashed is the error of a process whose network is gone.
var errCrashed = errors.New("this host has crashed")

// Host is a machine with one process on it, from AddHost or Restart to Crash.
type Host struct {
	net   *Network
	name  string
	addrs []netip.Addr

	mu        sync.Mutex // guards what follows
	crashed   bool
	listeners map[int]*Listener
	packets   map[int]*Transport
	nextPort  int
	dns       dns.Handler
	conns     map[*Conn]struct{} // open ends
}

// Name returns the host's name on the network.
func (h *Host) Name() string { return h.name }

// Addr returns the host's first address.
func (h *Host) Addr() netip.Addr { return h.addrs[0] }

// Listen opens a port for streams, on all the host's addresses; port 0 means a
// free one. A taken port is syscall.EADDRINUSE.
func (h *Host) Listen(port int) (*Listener, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.crashed {
		return nil, opError("listen", h.tcpAddr(port), errCrashed)
	}
	if port == 0 {
		port = h.freePortLocked()
	}
	if h.listeners[port] != nil {
		return nil, opError("listen", h.tcpAddr(port), os.NewSyscallError("bind", syscall.EADDRINUSE))
	}
	l := &Listener{
		host:    h,
		port:    port,
		backlog: make(chan *Conn, maxBacklog),
		closed:  make(chan struct{}),
	}
	h.listeners[port] = l
	return l, nil
}

func (h *Host) freePortLocked() int {
	for {
		h.nextPort++
		if h.nextPort > 65535 {
			h.nextPort = 32769
		}
		if h.listeners[h.nextPort] == nil && h.packets[h.nextPort] == nil {
			return h.nextPort
		}
	}
}

// Dial opens a stream to "ip:port" or "hostname:port". It has the signature of
// net.Dialer.DialContext; network is "tcp" or one of its kind. Without a listener:
// syscall.ECONNREFUSED. Without a route it waits until ctx or connectTimeout ends.
func (h *Host) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	peer, port, err := h.lookup(address)
	if err != nil {
		return nil, opError("dial", nil, err)
	}
	remote := &net.TCPAddr{IP: peer.IP(), Port: port}
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	if err := peer.reachable(); err != nil {
		if late := wait(ctx, noNeighbour); late != nil {
			err = late
		}
		return nil, opError("dial", remote, err)
	}
	retry := 200 * time.Millisecond
	for {
		if h.isCrashed() {
			return nil, opError("dial", remote, errCrashed)
		}
		there, back := h.net.draw(h.name, peer.host.name), h.net.draw(peer.host.name, h.name)
		if err := wait(ctx, there.delay+back.delay); err != nil {
			return nil, opError("dial", remote, err)
		}
		_, out := h.net.passes(h.name, peer.host.name)
		_, in := h.net.passes(peer.host.name, h.name)
		if !out && !in && !h.net.isPaused(h.name) && !there.drop && !back.drop {
			break
		}
		if err := wait(ctx, retry); err != nil {
			return nil, opError("dial", remote, err)
		}
		retry = min(2*retry, 5*time.Second)
	}
	conn, err := h.connect(address)
	if err != nil {
		return nil, opError("dial", remote, err)
	}
	return conn, nil
}

// connect puts one end of a new stream into the backlog of the current listener.
func (h *Host) connect(address string) (*Conn, error) {
	peer, port, err := h.lookup(address)
	if err == nil {
		err = peer.reachable() // it may have moved meanwhile
	}
	if err != nil {
		return nil, err
	}
	h.mu.Lock()
	local := h.freePortLocked()
	h.mu.Unlock()
	peer.host.mu.Lock()
	l := peer.host.listeners[port]
	peer.host.mu.Unlock()
	refused := os.NewSyscallError("connect", syscall.ECONNREFUSED)
	if l == nil {
		return nil, refused
	}
	mine, theirs := newConns(h, h.tcpAddr(local), peer.host, &net.TCPAddr{IP: peer.IP(), Port: port})
	select {
	case l.backlog <- theirs:
	default:
		return nil, refused
	}
	h.own(mine)
	peer.host.own(theirs)
	if l.isClosed() {
		theirs.reset()
		mine.reset()
		return nil, refused
	}
	return mine, nil
}

// own remembers an open end for crash.
func (h *Host) own(c *Conn) {
	h.mu.Lock()
	h.conns[c] = struct{}{}
	crashed := h.crashed
	h.mu.Unlock()
	h.net.mu.Lock()
	h.net.conns[c] = struct{}{}
	h.net.mu.Unlock()
	if crashed {
		c.reset()
	}
}

// disown forgets an end that was closed.
func (h *Host) disown(c *Conn) {
	h.mu.Lock()
	delete(h.conns, c)
	h.mu.Unlock()
	h.net.mu.Lock()
	delete(h.net.conns, c)
	h.net.mu.Unlock()
}

// isCrashed reports whether the process is gone.
func (h *Host) isCrashed() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.crashed
}

func (h *Host) crash() {
	h.mu.Lock()
	h.crashed = true
	listeners := slices.Collect(maps.Values(h.listeners))
	transports := slices.Collect(maps.Values(h.packets))
	conns := slices.Collect(maps.Keys(h.conns))
	h.mu.Unlock()
	for _, l := range listeners {
		_ = l.Close() // a listener's Close does not fail
	}
	for _, t := range transports {
		t.unplug()
	}
	for _, c := range conns {
		c.die()
	}
}

func (h *Host) flushHeld() {
	h.mu.Lock()
	transports := slices.Collect(maps.Values(h.packets))
	h.mu.Unlock()
	for _, t := range transports {
		t.flushHeld()
	}
}

func (h *Host) tcpAddr(port int) *net.TCPAddr {
	return &net.TCPAddr{IP: h.Addr().AsSlice(), Port: port}
}

// wait sleeps for d unless ctx ends before.
func wait(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func opError(op string, addr net.Addr, err error) error {
	return &net.OpError{Op: op, Net: "tcp", Addr: addr, Err: err}
}
