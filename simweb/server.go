package simweb

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"time"

	"github.com/miekg/dns"
)

// Server is a Web on real sockets, made by Listen.
type Server struct {
	// HTTP is the address of the first HTTP listener; the others differ from
	// it in the last two numbers only, and all share its port.
	HTTP netip.AddrPort
	// DNS is the address of the first door's name server, UDP and TCP.
	DNS netip.AddrPort
	// Doors are the name servers' addresses, one for each door; DNS is the first.
	Doors []netip.AddrPort
	// Authority is the certificate in PEM that a client must trust, with Config.TLS.
	Authority []byte

	web    *Web
	tls    *tls.Config // nil: plain HTTP
	httpOn []net.Listener
	dnsOn  []dnsListener
}

// dnsListener is a name server's port.
type dnsListener struct {
	tcp net.Listener
	udp net.PacketConn
}

// testNetwork is set apart for tests of network equipment (RFC 2544): nothing on
// the internet has its addresses.
var testNetwork = netip.MustParsePrefix("198.18.0.0/15")

// whoKey is the context key of what Config.Who said of a connection.
type whoKey struct{}

// listenTries bounds the search for a port that is free on all addresses.
const listenTries = 50

// Listen binds an HTTP port on each of the web's addresses, which begin with that of addr, and for
// each door a name server's port on its first address. addr is "127.0.0.1:0" for any free port, or
// names the port; beside loopback it may be of the test network 198.18.0.0/15. From here on the
// web's URLs carry that port; call it once, before Seeds.
func (w *Web) Listen(addr string) (*Server, error) {
	want, err := netip.ParseAddrPort(addr)
	if err != nil {
		return nil, fmt.Errorf("simweb: listen address: %w", err)
	}
	if !want.Addr().Is4() || !want.Addr().IsLoopback() && !testNetwork.Contains(want.Addr()) {
		return nil, fmt.Errorf("simweb: %s is not a loopback address, nor one of the test network %s",
			want.Addr(), testNetwork)
	}
	if a := want.Addr().As4(); int(a[2])+w.cfg.Doors > 256 || int(a[3])+w.cfg.Addrs > 256 {
		return nil, fmt.Errorf("simweb: %d doors of %d addresses do not fit behind %s", w.cfg.Doors,
			w.cfg.Addrs, want.Addr())
	}
	w.base = want.Addr()
	s := &Server{web: w}
	if w.cfg.TLS {
		if err := s.certify(); err != nil {
			return nil, fmt.Errorf("simweb: making a certificate: %w", err)
		}
	}
	if err := s.listenHTTP(int(want.Port())); err != nil {
		return nil, fmt.Errorf("simweb: %w", err)
	}
	if err := s.listenDNS(); err != nil {
		s.closeListeners()
		return nil, fmt.Errorf("simweb: %w", err)
	}
	if s.HTTP.Port() != map[string]uint16{"http": 80, "https": 443}[w.scheme] {
		w.port = ":" + strconv.Itoa(int(s.HTTP.Port()))
	}
	return s, nil
}

// listenHTTP binds the same port on every address. With port 0 a port that is
// taken on one of them is given up and another tried.
func (s *Server) listenHTTP(port int) error {
	var last error
	for range listenTries {
		if last = s.tryHTTP(port); last == nil {
			return nil
		}
		s.closeListeners()
		if port != 0 {
			break
		}
	}
	return last
}

func (s *Server) tryHTTP(port int) error {
	for i := range s.web.cfg.Doors * s.web.cfg.Addrs {
		addr := s.web.addr(i/s.web.cfg.Addrs, i%s.web.cfg.Addrs)
		l, err := net.Listen("tcp4", netip.AddrPortFrom(addr, uint16(port)).String())
		if err != nil {
			return err
		}
		s.httpOn = append(s.httpOn, l)
		if i == 0 {
			s.HTTP = l.Addr().(*net.TCPAddr).AddrPort()
			port = int(s.HTTP.Port())
		}
	}
	return nil
}

// listenDNS binds for each door one port for UDP and TCP.
func (s *Server) listenDNS() error {
	for door := range s.web.cfg.Doors {
		l, err := tryDNS(netip.AddrPortFrom(s.web.addr(door, 0), uint16(s.web.cfg.DNSPort)))
		if err != nil {
			return err
		}
		s.dnsOn = append(s.dnsOn, l)
		s.Doors = append(s.Doors, l.tcp.Addr().(*net.TCPAddr).AddrPort())
	}
	s.DNS = s.Doors[0]
	return nil
}

// tryDNS looks for a port that is free for both, when addr names none.
func tryDNS(addr netip.AddrPort) (l dnsListener, err error) {
	for range listenTries {
		if l.tcp, err = net.Listen("tcp4", addr.String()); err != nil {
			return l, err
		}
		if l.udp, err = net.ListenPacket("udp4", l.tcp.Addr().String()); err == nil {
			return l, nil
		}
		_ = l.tcp.Close() // nothing was served on it
	}
	return l, err
}

// closeListeners frees what was bound and not served.
func (s *Server) closeListeners() {
	for _, l := range s.httpOn {
		_ = l.Close() // nothing was served on it
	}
	s.httpOn = nil
	for _, l := range s.dnsOn {
		_, _ = l.tcp.Close(), l.udp.Close() // as above
	}
	s.dnsOn = nil
}

// Run serves until ctx is over, then ends open requests and returns when
// nothing runs any more. Its error is the first that serving gave, or nil.
func (s *Server) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var stops []func() error
	results := make(chan error, len(s.httpOn)+2*len(s.dnsOn))
	started := 0
	start := func(serve, stop func() error) {
		stops = append(stops, stop)
		started++
		go func() { results <- serve() }()
	}
	for _, l := range s.httpOn {
		srv := s.newHTTPServer(ctx)
		serve := func() error { return srv.Serve(l) }
		if s.tls != nil {
			serve = func() error { return srv.ServeTLS(l, "", "") }
		}
		start(serve, func() error { return stopHTTP(srv) })
	}
	for _, srv := range s.dnsServers() {
		ready := make(chan struct{})
		srv.NotifyStartedFunc = func() { close(ready) }
		start(srv.ActivateAndServe, srv.Shutdown)
		<-ready // before this, Shutdown refuses; a bound server always gets here
	}

	var first error
	note := func(err error) {
		if err != nil && !errors.Is(err, http.ErrServerClosed) && first == nil && ctx.Err() == nil {
			first = fmt.Errorf("simweb: serving: %w", err)
		}
	}
	select {
	case <-ctx.Done():
	case err := <-results:
		started--
		note(err)
	}
	cancel()
	for _, stop := range stops {
		_ = stop() // the results tell what went wrong
	}
	for range started {
		note(<-results)
	}
	return first
}

// dnsServers makes two servers for each door, TCP and UDP.
func (s *Server) dnsServers() []*dns.Server {
	var servers []*dns.Server
	for door, l := range s.dnsOn {
		names := doorNames{s.web, door}
		servers = append(servers, &dns.Server{Listener: l.tcp, Handler: names},
			&dns.Server{PacketConn: l.udp, Handler: names})
	}
	return servers
}

// stopHTTP waits for open requests, which end by their context, and after a
// while ends the connections under them.
func stopHTTP(srv *http.Server) error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	if err := srv.Shutdown(ctx); err != nil {
		return srv.Close()
	}
	return nil
}

// newHTTPServer makes a server whose requests end with ctx.
func (s *Server) newHTTPServer(ctx context.Context) *http.Server {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(s.tls != nil && !s.web.cfg.HTTP1)
	return &http.Server{
		Handler:           s.web,
		TLSConfig:         s.tls.Clone(), // session tickets are of one server
		Protocols:         protocols,
		ErrorLog:          log.New(io.Discard, "", 0), // of handshakes that clients gave up
		BaseContext:       func(net.Listener) context.Context { return ctx },
		ReadHeaderTimeout: 30 * time.Second,
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			ctx = context.WithValue(ctx, connKey{}, new(connection))
			remote, ok := c.RemoteAddr().(*net.TCPAddr)
			if s.web.cfg.Who == nil || !ok {
				return ctx
			}
			return context.WithValue(ctx, whoKey{}, s.web.cfg.Who(remote.AddrPort()))
		},
	}
}
