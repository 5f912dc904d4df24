package gossip

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"syscall"
	"time"

	"github.com/hashicorp/go-sockaddr"
	"github.com/hashicorp/memberlist"

	"crawlnode/security/door"
)

// Bounds of what is received by gossip, from any sender. memberlist's own transport
// allocates a new 64 KiB buffer for each packet, and accepts any number of streams of
// 20 MiB each: a stranger's tiny packets alone drove a node's memory to --memory.
const (
	// inboundStreams are answered at the same time. A push/pull takes milliseconds.
	inboundStreams = 64
	// maxStreamBytes bounds the bytes of one stream: the states of 6,000 nodes.
	maxStreamBytes = 4 << 20
	// maxStreamsBytes bounds the bytes of all open streams together.
	maxStreamsBytes = 8 << 20
	// packetBytes is the largest packet that UDP carries.
	packetBytes = 64 << 10
	// receiveBytes is the size of the kernel's buffer for packets not yet read.
	receiveBytes = 2 << 20
)

// netTransport carries memberlist's traffic: packets over UDP, streams over TCP, on one
// port. Two goroutines read; Shutdown ends them.
type netTransport struct {
	ip      net.IP // listened on
	tcp     net.Listener
	udp     *net.UDPConn
	filter  *packetFilter // readPackets owns it
	budget  budget
	packets chan *memberlist.Packet
	streams chan net.Conn
	log     *door.Log
	done    chan struct{}
	once    sync.Once // closes done and the sockets
	wg      sync.WaitGroup
}

// newNetTransport opens the sockets, on the same port; 0 lets the system choose.
func newNetTransport(ip net.IP, port int, f *packetFilter, logger *slog.Logger) (*netTransport, error) {
	tcp, err := net.ListenTCP("tcp", &net.TCPAddr{IP: ip, Port: port})
	if err != nil {
		return nil, err
	}
	udp, err := net.ListenUDP("udp", &net.UDPAddr{IP: ip, Port: tcp.Addr().(*net.TCPAddr).Port})
	if err != nil {
		_ = tcp.Close() // nothing was served on it
		return nil, err
	}
	for size := receiveBytes; size > 4<<10 && udp.SetReadBuffer(size) != nil; size /= 2 {
	}
	t := &netTransport{
		ip: ip, tcp: door.Listen(tcp, door.Limits{Strangers: inboundStreams, Trusted: 1}), udp: udp, filter: f,
		packets: make(chan *memberlist.Packet), streams: make(chan net.Conn), done: make(chan struct{}), log: door.NewLog(logger),
	}
	t.wg.Go(t.readPackets)
	t.wg.Go(t.accept)
	return t, nil
}

// readPackets passes on what the filter admits. The rest costs no memory.
func (t *netTransport) readPackets() {
	buf := make([]byte, packetBytes)
	for {
		n, from, err := t.udp.ReadFromUDPAddrPort(buf)
		now := time.Now()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			t.log.Warn("a gossip packet could not be read", "error", err)
			continue
		}
		from = netip.AddrPortFrom(from.Addr().Unmap(), from.Port())
		if why := t.filter.check(buf[:n], from, now); why != admitted {
			if why.logged() {
				t.log.Warn("refused a gossip packet", "from", from.String(), "reason", string(why))
			}
			continue
		}
		p := &memberlist.Packet{Buf: bytes.Clone(buf[:n]), From: net.UDPAddrFromAddrPort(from), Timestamp: now}
		select {
		case t.packets <- p: // memberlist takes one at a time; the kernel drops what does not fit into its buffer
		case <-t.done:
			return
		}
	}
}

// accept passes on the streams that other nodes open.
func (t *netTransport) accept() {
	for wait := time.Duration(0); ; {
		conn, err := t.tcp.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // for example, no free descriptors: that ends by itself
			t.log.Warn("a gossip connection could not be accepted", "error", err)
			wait = min(2*wait+5*time.Millisecond, time.Second)
			select {
			case <-time.After(wait):
				continue
			case <-t.done:
				return
			}
		}
		wait = 0
		select {
		case t.streams <- t.budget.open(conn):
		case <-t.done:
			_ = conn.Close()
			return
		}
	}
}

// FinalAdvertiseAddr implements memberlist.Transport.
func (t *netTransport) FinalAdvertiseAddr(ip string, port int) (net.IP, int, error) {
	if ip == "" {
		port = t.tcp.Addr().(*net.TCPAddr).Port
		if !t.ip.IsUnspecified() {
			return t.ip, port, nil
		}
		var err error
		if ip, err = sockaddr.GetPrivateIP(); err != nil {
			return nil, 0, fmt.Errorf("look for a private address: %w", err)
		}
		if ip == "" {
			return nil, 0, errors.New("this machine has no private IP address")
		}
	}
	parsed := net.ParseIP(ip)
	if parsed == nil {
		return nil, 0, fmt.Errorf("%q is no IP address", ip)
	}
	if v4 := parsed.To4(); v4 != nil {
		parsed = v4
	}
	return parsed, port, nil
}

// WriteTo implements memberlist.Transport.
func (t *netTransport) WriteTo(b []byte, addr string) (time.Time, error) {
	return t.WriteToAddress(b, memberlist.Address{Addr: addr})
}

// WriteToAddress implements memberlist.NodeAwareTransport.
func (t *netTransport) WriteToAddress(b []byte, to memberlist.Address) (time.Time, error) {
	addr, err := net.ResolveUDPAddr("udp", to.Addr)
	if err != nil {
		return time.Time{}, err
	}
	_, err = t.udp.WriteTo(b, addr)
	return time.Now(), err
}

// DialTimeout implements memberlist.Transport.
func (t *netTransport) DialTimeout(addr string, timeout time.Duration) (net.Conn, error) {
	return t.DialAddressTimeout(memberlist.Address{Addr: addr}, timeout)
}

// DialAddressTimeout implements memberlist.NodeAwareTransport. Its bytes are counted,
// since a stranger may answer there.
func (t *netTransport) DialAddressTimeout(to memberlist.Address, timeout time.Duration) (net.Conn, error) {
	conn, err := net.DialTimeout("tcp", to.Addr, timeout)
	if err != nil {
		return nil, err
	}
	return t.budget.open(conn), nil
}

// PacketCh implements memberlist.Transport.
func (t *netTransport) PacketCh() <-chan *memberlist.Packet { return t.packets }

// StreamCh implements memberlist.Transport.
func (t *netTransport) StreamCh() <-chan net.Conn { return t.streams }

// Shutdown closes the sockets and waits for the readers. It may be called again.
func (t *netTransport) Shutdown() error {
	t.once.Do(func() {
		close(t.done)
		_ = t.tcp.Close()
		_ = t.udp.Close()
	})
	t.wg.Wait()
	return nil
}

// Listen opens the gossip sockets at a bind address, IP:port; port 0 takes a free one. A
// Transport that New does not get must be shut down.
func Listen(o Options, bind string) (memberlist.Transport, error) {
	at, err := ParseAddress(bind)
	if err != nil {
		return nil, fmt.Errorf("membership: gossip address %q: %w", bind, err)
	}
	switch at.Host {
	case "":
		at.Host = "0.0.0.0"
	case "localhost":
		at.Host = "127.0.0.1"
	}
	ip := net.ParseIP(at.Host)
	if ip == nil {
		return nil, fmt.Errorf("membership: gossip address %q: the host must be an IP address; use --advertise for names", bind)
	}
	f, err := newPacketFilter(o.Cluster, o.secretKeys())
	if err != nil {
		return nil, fmt.Errorf("membership: the gossip key: %w", err)
	}
	// The system picks a free TCP port; the same UDP port may be in use.
	attempts := 1
	if at.Port == 0 {
		attempts = 10
	}
	for range attempts {
		var t *netTransport
		if t, err = newNetTransport(ip, at.Port, f, o.Logger); err == nil {
			return t, nil
		}
	}
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("%w: %s", ErrAddressInUse, bind)
	}
	return nil, fmt.Errorf("membership: bind gossip to %s: %w", bind, err)
}
