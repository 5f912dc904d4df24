package clusterkey

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// pair returns the two ends of a connection over loopback. A pipe in memory has
// no buffer, so two sides that both want to complain would block each other.
func pair(t *testing.T) (server, client net.Conn) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	if client, err = net.Dial("tcp", listener.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if server, err = listener.Accept(); err != nil {
		t.Fatal(err)
	}
	return server, client
}

// dialogue talks over loopback.
func dialogue(t *testing.T, server, client *tls.Config) (serverErr, clientErr error) {
	t.Helper()
	a, b := pair(t)
	return talk(a, b, server, client)
}

// talk returns what each side says of the handshake and of one octet in each
// direction, and closes the connection.
func talk(a, b net.Conn, server, client *tls.Config) (serverErr, clientErr error) {
	deadline := time.Now().Add(10 * time.Second)
	_ = errors.Join(a.SetDeadline(deadline), b.SetDeadline(deadline))
	done := make(chan error)
	go func() {
		conn := tls.Server(a, server)
		_, err := io.ReadFull(conn, make([]byte, 1))
		if err == nil {
			_, err = conn.Write([]byte("y"))
		}
		_ = a.Close()
		done <- err
	}()
	conn := tls.Client(b, client)
	_, clientErr = conn.Write([]byte("x"))
	if clientErr == nil {
		_, clientErr = io.ReadFull(conn, make([]byte, 1))
	}
	_ = b.Close()
	return <-done, clientErr
}

func TestOneKeyConnects(t *testing.T) {
	t.Parallel()
	k := generate(t)
	other := parse(t, k.Text()) // the same key on another node
	if s, c := dialogue(t, k.ServerTLS(), other.ClientTLS()); s != nil || c != nil {
		t.Errorf("server: %v, client: %v", s, c)
	}
	if s, c := dialogue(t, k.APITLS(), &tls.Config{InsecureSkipVerify: true}); s != nil || c != nil {
		t.Errorf("a browser at the API: server: %v, client: %v", s, c)
	}
	if s, c := dialogue(t, k.APITLS(), other.ClientTLS()); s != nil || c != nil {
		t.Errorf("a program at the API: server: %v, client: %v", s, c)
	}
}

func TestAnotherKeyIsRefused(t *testing.T) {
	t.Parallel()
	k, other := generate(t), generate(t)
	blind := other.ClientTLS() // does not check the server
	blind.VerifyConnection = nil
	tests := []struct {
		name           string
		server, client *tls.Config
		who, says      string
	}{
		{"the client refuses", k.ServerTLS(), other.ClientTLS(), "client", "another cluster key"},
		{"the client refuses the API", k.APITLS(), other.ClientTLS(), "client", "another cluster key"},
		{"the server refuses", k.ServerTLS(), blind, "server", "another cluster key"},
		{"no certificate", k.ServerTLS(), &tls.Config{InsecureSkipVerify: true}, "server", "certificate"},
		{"old TLS", k.ServerTLS(), func() *tls.Config {
			c := k.ClientTLS()
			c.MinVersion, c.MaxVersion = tls.VersionTLS12, tls.VersionTLS12
			return c
		}(), "server", "version"},
	}
	for _, test := range tests {
		s, c := dialogue(t, test.server, test.client)
		err := s
		if test.who == "client" {
			err = c
		}
		if s == nil || c == nil || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: server: %v, client: %v; want the %s to say %q", test.name, s, c, test.who,
				test.says)
		}
	}
}

// TestClocksDoNotMatter: fake time begins in the year 2000, and a clock may be
// decades off.
func TestClocksDoNotMatter(t *testing.T) {
	t.Parallel()
	k := generate(t)
	synctest.Test(t, func(t *testing.T) {
		server, client := k.ServerTLS(), k.ClientTLS()
		client.Time = func() time.Time { return time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC) }
		a, b := net.Pipe()
		if s, c := talk(a, b, server, client); s != nil || c != nil {
			t.Errorf("server: %v, client: %v", s, c)
		}
	})
}

// TestNoSessionIsResumed: a session of before would show what was true then. A client that
// keeps tickets gets none, and HTTP/2 is not spoken at the API, so its floods reach nothing.
func TestNoSessionIsResumed(t *testing.T) {
	t.Parallel()
	k := generate(t)
	for name, server := range map[string]*tls.Config{"API": k.APITLS(), "calls": k.ServerTLS()} {
		client := k.ClientTLS()
		client.SessionTicketsDisabled = false
		client.ClientSessionCache = tls.NewLRUClientSessionCache(4)
		if name == "API" {
			client.NextProtos = []string{"h2", "http/1.1"}
		}
		verify := client.VerifyConnection
		resumed, chosen := 0, ""
		client.VerifyConnection = func(s tls.ConnectionState) error {
			if s.DidResume {
				resumed++
			}
			chosen = s.NegotiatedProtocol
			return verify(s)
		}
		for range 3 {
			if a, b := dialogue(t, server, client); a != nil || b != nil {
				t.Fatal(name, a, b)
			}
		}
		if resumed != 0 || chosen != "" {
			t.Errorf("%s: %d of 2 sessions were resumed; protocol %q", name, resumed, chosen)
		}
	}
}
