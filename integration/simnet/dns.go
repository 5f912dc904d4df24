package simnet

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/miekg/dns"
)

// ServeDNS makes the host a name server on every port.
func (h *Host) ServeDNS(handler dns.Handler) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.dns = handler
}

// Exchange asks a name server at "ip:port" and has the signature that dnscache
// wants. A lost question or answer is waited for until ctx ends. Messages are
// packed and read again on both ways, so the two sides share nothing.
func (h *Host) Exchange(
	ctx context.Context,
	query *dns.Msg,
	server, network string,
) (*dns.Msg, error) {
	peer, _, err := h.lookup(server)
	if err == nil {
		err = peer.reachable()
	}
	if err != nil {
		return nil, err
	}
	if h.isCrashed() {
		return nil, errCrashed
	}
	question, err := query.Pack()
	if err != nil {
		return nil, fmt.Errorf("packing the question: %w", err)
	}
	if err := h.travel(ctx, h, peer.host); err != nil {
		return nil, err
	}
	peer.host.mu.Lock()
	handler := peer.host.dns
	peer.host.mu.Unlock()
	if handler == nil {
		return nil, opError("read", nil, errors.New("no name server there"))
	}
	received := new(dns.Msg)
	if err := received.Unpack(question); err != nil {
		return nil, fmt.Errorf("reading the question: %w", err)
	}
	w := &dnsWriter{from: h, at: peer.host}
	handler.ServeDNS(w, received)
	if w.answer == nil {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if err := h.travel(ctx, peer.host, h); err != nil {
		return nil, err
	}
	reply := new(dns.Msg)
	if err := reply.Unpack(w.answer); err != nil {
		return nil, fmt.Errorf("reading the answer: %w", err)
	}
	return reply, nil
}

// travel waits as long as one packet takes, or for ctx when it gets lost.
func (h *Host) travel(ctx context.Context, from, to *Host) error {
	f := h.net.draw(from.name, to.name)
	if ok, _ := h.net.passes(from.name, to.name); f.drop || !ok {
		<-ctx.Done()
		return ctx.Err()
	}
	return wait(ctx, f.delay)
}

// dnsWriter keeps the answer of a dns.Handler.
type dnsWriter struct {
	from, at *Host
	answer   []byte
}

func (w *dnsWriter) LocalAddr() net.Addr {
	return &net.UDPAddr{IP: w.at.Addr().AsSlice(), Port: 53}
}
func (w *dnsWriter) RemoteAddr() net.Addr {
	return &net.UDPAddr{IP: w.from.Addr().AsSlice(), Port: 53}
}
func (w *dnsWriter) Close() error        { return nil }
func (w *dnsWriter) TsigStatus() error   { return nil }
func (w *dnsWriter) TsigTimersOnly(bool) {}
func (w *dnsWriter) Hijack()             {}

func (w *dnsWriter) WriteMsg(m *dns.Msg) error {
	b, err := m.Pack()
	w.answer = b
	return err
}

func (w *dnsWriter) Write(b []byte) (int, error) {
	w.answer = append([]byte(nil), b...)
	return len(b), nil
}
