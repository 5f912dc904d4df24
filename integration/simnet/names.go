package simnet

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"syscall"
	"time"
)

// answer is what a host has cached of a name.
type answer struct {
	addr  netip.Addr
	until time.Time
}

// SetNameTTL sets how long hosts use an address after its name has got another one. A name without
// an address is looked up again each time.
func (n *Network) SetNameTTL(ttl time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.ttl = ttl
}

// SetName gives a name an address; the zero address removes it. Hosts that have looked it up before
// see the change when their answer has expired.
func (n *Network) SetName(name string, addr netip.Addr) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if addr.IsValid() {
		n.names[name] = addr
	} else {
		delete(n.names, name)
	}
}

// NameAt is the host that has, or had last, an address; "": none.
func (n *Network) NameAt(addr netip.Addr) string {
	if h := n.hostAt(addr); h != nil {
		return h.name
	}
	return ""
}

// LookupHost finds the address of a name as this host knows it now. It has the
// signature of net.Resolver.LookupHost.
func (h *Host) LookupHost(ctx context.Context, name string) ([]string, error) {
	addr, err := h.resolve(name)
	if err != nil {
		return nil, err
	}
	return []string{addr.String()}, ctx.Err()
}

// resolve finds an address by what the host remembers, then by what is true. The
// name of a host is the name of its first address, unless SetName says otherwise.
func (h *Host) resolve(name string) (netip.Addr, error) {
	if addr, err := netip.ParseAddr(name); err == nil {
		return addr.Unmap(), nil
	}
	n := h.net
	n.mu.Lock()
	defer n.mu.Unlock()
	key, now := [2]string{h.name, name}, time.Now()
	if a, ok := n.heard[key]; ok && now.Before(a.until) {
		return a.addr, nil
	}
	addr, ok := n.names[name]
	if !ok && n.hosts[name] != nil {
		return n.hosts[name].Addr(), nil
	}
	if !ok {
		delete(n.heard, key)
		return netip.Addr{}, &net.DNSError{Err: "no such host", Name: name, IsNotFound: true}
	}
	n.heard[key] = answer{addr, now.Add(n.ttl)}
	return addr, nil
}

// target is a host by the address under which it was called.
type target struct {
	host *Host // nil: nobody has the address
	addr netip.Addr
}

// IP returns the address for the net package.
func (t target) IP() net.IP { return t.addr.AsSlice() }

// reachable reports an unused address.
func (t target) reachable() error {
	if t.host == nil {
		return os.NewSyscallError("connect", syscall.EHOSTUNREACH)
	}
	return nil
}

// lookup finds the owner of an address, or the address that this host knows of a name.
func (h *Host) lookup(address string) (target, int, error) {
	name, portText, err := net.SplitHostPort(address)
	if err != nil {
		return target{}, 0, err
	}
	port, err := strconv.ParseUint(portText, 10, 16)
	if err != nil {
		return target{}, 0, fmt.Errorf("port of %q: %w", address, err)
	}
	addr, err := h.resolve(name)
	if err != nil {
		return target{}, 0, err
	}
	return target{h.net.hostAt(addr), addr}, int(port), nil
}

// mayTake panics when a host is to get addresses of another running host; those of a crashed one
// are taken over.
func (n *Network) mayTake(name string, addrs []netip.Addr) {
	for _, addr := range addrs {
		if owner := n.hostAt(addr); owner != nil && owner.name != name && !owner.isCrashed() {
			panic("BUG: simnet: address " + addr.String() + " is in use by " + owner.name)
		}
	}
}

// leaveLocked frees the addresses that a host's next life does not have.
func (n *Network) leaveLocked(old *Host, addrs []netip.Addr) {
	for _, addr := range old.addrs {
		if owner := n.byAddr[addr]; owner != nil && owner.name == old.name &&
			!slices.Contains(addrs, addr) {
			delete(n.byAddr, addr)
		}
	}
}
