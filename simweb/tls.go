package simweb

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"
)

// certified is how long a web's certificates are good for; it lives shorter.
const certified = 30 * 24 * time.Hour

// certify makes an authority and, signed by it, a certificate for all names of the
// web, and for its address, which is what wget2 believes a proxy of https to be called. The
// authority's key is forgotten. Keys are the only thing of a web that its seed does not decide.
func (s *Server) certify() error {
	now := time.Now()
	caKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	ca := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "Authority of a synthetic web"},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(certified),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	caDER, err := x509.CreateCertificate(rand.Reader, ca, ca, &caKey.PublicKey, caKey)
	if err != nil {
		return err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: s.web.cfg.Domain},
		DNSNames: []string{"*." + s.web.cfg.Domain}, IPAddresses: []net.IP{s.web.base.AsSlice()},
		NotBefore: ca.NotBefore, NotAfter: ca.NotAfter,
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	leafDER, err := x509.CreateCertificate(rand.Reader, leaf, ca, &key.PublicKey, caKey)
	if err != nil {
		return err
	}
	s.Authority = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: caDER})
	s.tls = &tls.Config{
		Certificates: []tls.Certificate{{Certificate: [][]byte{leafDER}, PrivateKey: key}},
	}
	return nil
}

// connKey is the context key of a request's *connection.
type connKey struct{}

// connection counts the requests on one connection.
type connection struct{ requests atomic.Int64 }

// traffic counts connections, and what was spoken on them.
type traffic struct{ connections, handshakes, resumed, http2 atomic.Int64 }

// note counts a request on its connection, and ends the connection after as many as
// Config.ConnRequests says. Requests that came over no socket have none.
func (w *Web) note(rw http.ResponseWriter, r *http.Request) {
	c, ok := r.Context().Value(connKey{}).(*connection)
	if !ok {
		return
	}
	n := c.requests.Add(1)
	if n == 1 {
		w.traffic.began(r)
	}
	if r.ProtoMajor == 2 {
		w.traffic.http2.Add(1)
	}
	if most := w.cfg.ConnRequests; most > 0 && n >= int64(most) {
		rw.Header().Set("Connection", "close") // in HTTP/2 net/http says GOAWAY
	} else if r.ProtoMajor == 1 && strings.EqualFold(r.Header.Get("Connection"), "keep-alive") {
		// needless, but most servers say it and wget2 1.99 wants to hear it
		rw.Header().Set("Connection", "keep-alive")
	}
}

// began counts a connection by its first request.
func (t *traffic) began(r *http.Request) {
	t.connections.Add(1)
	switch {
	case r.TLS == nil:
	case r.TLS.DidResume:
		t.resumed.Add(1)
	default:
		t.handshakes.Add(1)
	}
}

func (t *traffic) report(r *Report) {
	r.Connections, r.Handshakes = int(t.connections.Load()), int(t.handshakes.Load())
	r.Resumed, r.HTTP2 = int(t.resumed.Load()), int(t.http2.Load())
}
