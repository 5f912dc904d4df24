package membership

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"time"

	"crawlnode/membership/gossip"
)

// findAddress determines the address at which others reach this node's gossip.
func (m *Membership) findAddress() (string, error) {
	want, err := m.wantedAddress()
	if err != nil {
		return "", err
	}
	ip, port, err := m.transport.FinalAdvertiseAddr(want.Host, want.Port)
	if err != nil {
		return "", fmt.Errorf("membership: find the address to advertise (set --advertise): %w", err)
	}
	m.advertise = gossip.Address{Host: ip.String(), Port: port}
	return m.advertise.String(), nil
}

// reachable is an address as others can dial it: a server that listens on all addresses is
// reached at the one that gossip advertises. The address "all" would be the caller's own machine.
func (m *Membership) reachable(addr string) string {
	at, err := gossip.ParseAddress(addr)
	if err != nil {
		return addr // no host:port is a matter of ValidateText
	}
	if ip := net.ParseIP(at.Host); at.Host != "" && (ip == nil || !ip.IsUnspecified()) {
		return addr
	}
	at.Host = m.advertise.Host
	return at.String()
}

// wantedAddress reads Advertise. Its host is empty when the transport decides.
func (m *Membership) wantedAddress() (gossip.Address, error) {
	if m.o.Advertise == "" {
		return gossip.Address{}, nil
	}
	want, err := gossip.ParseAddress(m.o.Advertise)
	if err != nil {
		want = gossip.Address{Host: m.o.Advertise}
	}
	if want.Port == 0 {
		_, port, err := m.transport.FinalAdvertiseAddr("", 0)
		if err != nil {
			return gossip.Address{}, fmt.Errorf("membership: find the gossip port: %w", err)
		}
		want.Port = port
	}
	if net.ParseIP(want.Host) != nil {
		return want, nil
	}
	ips, err := m.awaitName(want.Host)
	if err != nil {
		return gossip.Address{}, fmt.Errorf("membership: advertised name %q: %w", want.Host, err)
	}
	return gossip.Address{Host: preferIPv4(ips), Port: want.Port}, nil
}

// How long a node waits at its start until the name that it advertises has an address.
// Where names are created for machines as they start, that takes seconds.
const (
	nameWithin   = 30 * time.Second
	nameEvery    = 500 * time.Millisecond
	lookupWithin = 4 * time.Second
)

// awaitName looks a name up until it has an address.
func (m *Membership) awaitName(name string) ([]string, error) {
	begin := time.Now()
	for told := false; ; told = true {
		ctx, cancel := context.WithTimeout(context.Background(), lookupWithin)
		ips, err := m.o.Lookup(ctx, name)
		cancel()
		if err == nil && len(ips) > 0 {
			return ips, nil
		}
		if err == nil {
			err = errors.New("it has no address")
		}
		if time.Since(begin) >= nameWithin {
			return nil, err
		}
		if !told {
			m.o.Logger.Warn("the name of --advertise has no address yet; this node waits for one", "name",
				name, "err", err, "for", nameWithin)
		}
		time.Sleep(nameEvery)
	}
}

// preferIPv4 is the first IPv4 address of several, or the first of any kind.
func preferIPv4(ips []string) string {
	if i := slices.IndexFunc(ips, func(ip string) bool { return net.ParseIP(ip).To4() != nil }); i >= 0 {
		return ips[i]
	}
	return ips[0]
}
