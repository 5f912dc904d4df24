package clusterkey

import (
	"crypto/ed25519"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"math/big"
	"time"
)

// selfSigned makes the certificate of the cluster's identity: the same octets on every
// node. TLS needs one; its name and dates are never checked, and the dates are wide
// enough for clocks that are far off.
func selfSigned(private ed25519.PrivateKey) (tls.Certificate, error) {
	template := x509.Certificate{
		SerialNumber: big.NewInt(1),
		Subject:      pkix.Name{CommonName: "crawlnode cluster"},
		DNSNames:     []string{"crawlnode"},
		NotBefore:    time.Date(1990, 1, 1, 0, 0, 0, 0, time.UTC),
		NotAfter:     time.Date(2120, 1, 1, 0, 0, 0, 0, time.UTC),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	// Ed25519 signatures need no randomness, and the serial number is given.
	der, err := x509.CreateCertificate(nil, &template, &template, private.Public(), private)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("make the certificate: %w", err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("read the certificate just made: %w", err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: private, Leaf: leaf}, nil
}

// ServerTLS returns a new configuration for the accepting side of a connection
// between nodes: it presents the cluster's identity and demands it.
func (k Key) ServerTLS() *tls.Config {
	c := k.base()
	c.ClientAuth = tls.RequireAnyClientCert
	c.VerifyConnection = k.verify
	return c
}

// ClientTLS returns a new configuration for the dialing side, between nodes and
// from a program to a node's API.
func (k Key) ClientTLS() *tls.Config {
	c := k.base()
	c.ServerName = nameOf(k.pin())
	// The usual checks of names, dates and authorities are replaced by a stricter
	// one: exactly one public key is accepted.
	c.InsecureSkipVerify = true
	c.VerifyConnection = k.verify
	return c
}

// APITLS returns a new configuration for the API's server: it presents the cluster's
// identity and asks for none, because browsers have none; the API token replaces it.
func (k Key) APITLS() *tls.Config { return k.base() }

// base is the common part of all configurations.
func (k Key) base() *tls.Config {
	c := baseTLS()
	c.Certificates = []tls.Certificate{k.certificate}
	return c
}

func baseTLS() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS13,
		// A resumed session would present an earlier certificate.
		SessionTicketsDisabled: true,
	}
}

// nameOf is the server name with which the dialing side says which key it expects. While
// a key is being replaced, a node has two identities and presents the expected one.
func nameOf(pin string) string { return pin + ".crawlnode" }

// errOtherKey: the other side belongs to another cluster.
var errOtherKey = errors.New("the other side has another cluster key")

// verify demands the cluster's own identity of the other side. TLS 1.3 has already proved
// that the other side has the private key of the identity that it presents.
func (k Key) verify(state tls.ConnectionState) error {
	public, err := identityOf(state)
	if err == nil && !public.Equal(k.public) {
		err = errOtherKey
	}
	return err
}

// identityOf returns the identity that the other side has presented, or an error if it is
// of another kind than a cluster's.
func identityOf(state tls.ConnectionState) (ed25519.PublicKey, error) {
	if len(state.PeerCertificates) == 0 {
		return nil, errors.New("the other side shows no certificate: it has no cluster key")
	}
	public, ok := state.PeerCertificates[0].PublicKey.(ed25519.PublicKey)
	if !ok {
		return nil, errOtherKey
	}
	return public, nil
}
