package simnet

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/hashicorp/memberlist"
)

// maxPackets bounds the packets that wait at a port.
const maxPackets = 1024

// Transport carries packets and streams on one port of a host. It is a
// memberlist.Transport.
type Transport struct {
	host    *Host
	port    int
	packets chan *memberlist.Packet
	streams chan net.Conn
	stop    chan struct{}
	once    sync.Once
	accepts sync.WaitGroup
	l       *Listener

	mu   sync.Mutex           // guards what follows
	held []*memberlist.Packet // came while the host was paused
}

var _ memberlist.Transport = (*Transport)(nil)

// Transport opens a port for packets and streams; 0 means a free one. Shutdown
// ends it and the goroutine that it starts.
func (h *Host) Transport(port int) (*Transport, error) {
	l, err := h.Listen(port)
	if err != nil {
		return nil, err
	}
	t := &Transport{
		host: h, port: l.port, l: l,
		packets: make(chan *memberlist.Packet, maxPackets),
		streams: make(chan net.Conn),
		stop:    make(chan struct{}),
	}
	h.mu.Lock()
	h.packets[t.port] = t
	h.mu.Unlock()
	t.accepts.Go(t.accept)
	return t, nil
}

// accept hands new streams to memberlist until the listener is closed.
func (t *Transport) accept() {
	for {
		c, err := t.l.Accept()
		if err != nil {
			return
		}
		select {
		case t.streams <- c:
		case <-t.stop:
			_ = c.Close() // nobody is there to hear of it
			return
		}
	}
}

// Port returns the port, in case 0 was requested.
func (t *Transport) Port() int { return t.port }

// FinalAdvertiseAddr returns the host's address; a configured one is not used.
func (t *Transport) FinalAdvertiseAddr(string, int) (net.IP, int, error) {
	return t.host.Addr().AsSlice(), t.port, nil
}

// WriteTo sends a packet. That it was lost is not an error.
func (t *Transport) WriteTo(b []byte, addr string) (time.Time, error) {
	select {
	case <-t.stop:
		return time.Time{}, net.ErrClosed
	default:
	}
	peer, port, err := t.host.lookup(addr)
	if err != nil {
		return time.Time{}, err
	}
	now := time.Now()
	if peer.host == nil {
		return now, nil
	}
	f := t.host.net.draw(t.host.name, peer.host.name)
	if _, cut := t.host.net.passes(t.host.name, peer.host.name); f.drop || cut ||
		t.host.net.isPaused(t.host.name) {
		return now, nil
	}
	copies := 1
	if f.dup {
		copies = 2
	}
	for range copies {
		p := &memberlist.Packet{
			Buf:  append([]byte(nil), b...),
			From: &net.UDPAddr{IP: t.host.Addr().AsSlice(), Port: t.port},
		}
		if f.delay <= 0 {
			t.host.net.deliver(t.host, peer.addr, port, p)
		} else {
			time.AfterFunc(f.delay, func() { t.host.net.deliver(t.host, peer.addr, port, p) })
		}
	}
	return now, nil
}

// deliver puts a packet into a port's queue if there is one with room.
func (n *Network) deliver(from *Host, addr netip.Addr, port int, p *memberlist.Packet) {
	to := n.hostAt(addr)
	if to == nil { // it has moved meanwhile
		return
	}
	to.mu.Lock()
	t := to.packets[port]
	to.mu.Unlock()
	if t == nil {
		return
	}
	p.Timestamp = time.Now()
	_, cut := n.passes(from.name, to.name)
	switch {
	case cut:
	case n.isPaused(to.name):
		t.mu.Lock()
		if len(t.held) < maxPackets {
			t.held = append(t.held, p)
		}
		t.mu.Unlock()
	default:
		t.enqueue(p)
	}
}

func (t *Transport) enqueue(p *memberlist.Packet) {
	select {
	case t.packets <- p:
	default: // as a full socket buffer does
	}
}

func (t *Transport) flushHeld() {
	t.mu.Lock()
	held := t.held
	t.held = nil
	t.mu.Unlock()
	for _, p := range held {
		p.Timestamp = time.Now()
		t.enqueue(p)
	}
}

// PacketCh returns the packets that have come.
func (t *Transport) PacketCh() <-chan *memberlist.Packet { return t.packets }

// StreamCh returns the streams that were opened to this port.
func (t *Transport) StreamCh() <-chan net.Conn { return t.streams }

// DialTimeout opens a stream to another host's port.
func (t *Transport) DialTimeout(addr string, timeout time.Duration) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	return t.host.Dial(ctx, "tcp", addr)
}

// unplug closes the port.
func (t *Transport) unplug() {
	t.once.Do(func() {
		t.host.mu.Lock()
		if t.host.packets[t.port] == t {
			delete(t.host.packets, t.port)
		}
		t.host.mu.Unlock()
		close(t.stop)
	})
}

// Shutdown closes the port and waits for the goroutine behind it.
func (t *Transport) Shutdown() error {
	t.unplug()
	err := t.l.Close()
	t.accepts.Wait()
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}
