package peer

import (
	"crypto/ed25519"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"math/big"
	"net"
	"testing"
)

// handshake makes one over a pipe with a server that shows an identity, or with one that
// hangs up.
func handshake(t *testing.T, c clientCreds, server *tls.Config) error {
	t.Helper()
	near, far := net.Pipe()
	served := make(chan struct{})
	go func() {
		defer close(served)
		if server != nil {
			_ = tls.Server(far, server).Handshake() // the client tells what came of it
		}
		_ = far.Close()
	}()
	_, _, err := c.ClientHandshake(t.Context(), "", near)
	_ = near.Close()
	<-served
	return err
}

// TestClientTriesOtherKey: only who has shown another identity is tried with the other key.
// One that did not answer in time may be the same one, on a loaded machine; a connection
// with the old key would be cut when that is refused.
func TestClientTriesOtherKey(t *testing.T) {
	t.Parallel()
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{"x"}}
	der, err := x509.CreateCertificate(nil, template, template, public, private)
	if err != nil {
		t.Fatal(err)
	}
	server := &tls.Config{
		Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: private}},
		NextProtos:   []string{"h2"},
	}
	var tries []int
	open := newOpenConns()
	c := newClientCreds(func(try int) *tls.Config {
		tries = append(tries, try)
		return &tls.Config{InsecureSkipVerify: true, VerifyConnection: func(tls.ConnectionState) error {
			if try == 0 {
				return errors.New("another identity")
			}
			return nil
		}}
	}, open)
	for i, s := range []*tls.Config{nil, server, nil, server} {
		if err := handshake(t, c, s); (err == nil) != (i == 3) {
			t.Errorf("handshake %d: %v", i, err)
		}
	}
	if got := fmt.Sprint(tries); got != "[0 0 0 1 1]" {
		t.Errorf("the keys that were tried: %s", got)
	}
	if left := open.but(func(tls.ConnectionState) bool { return false }); len(left) != 1 {
		t.Errorf("%d connections are known, want the one that was made", len(left))
	}
}
