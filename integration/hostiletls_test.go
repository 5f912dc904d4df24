package integration

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// authority is a certificate authority that only the node of a test trusts.
type authority struct {
	t    *testing.T
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	file string // its certificate, for SSL_CERT_FILE
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{t: t, file: filepath.Join(t.TempDir(), "roots.pem")}
	c := a.issue(&x509.Certificate{
		Subject:               pkix.Name{CommonName: "test"},
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageCertSign,
	}, nil)
	a.cert, a.key = c.Leaf, c.PrivateKey.(*ecdsa.PrivateKey)
	block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Certificate[0]})
	if err := os.WriteFile(a.file, block, 0o600); err != nil {
		t.Fatal(err)
	}
	return a
}

// issue makes a certificate, signed by by, or by itself.
func (a *authority) issue(c *x509.Certificate, by *authority) tls.Certificate {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	c.SerialNumber = big.NewInt(time.Now().UnixNano())
	if c.NotAfter.IsZero() {
		c.NotBefore, c.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	}
	parent, signer := c, key
	if by != nil {
		parent, signer = by.cert, by.key
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, &key.PublicKey, signer)
	if err != nil {
		a.t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		a.t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}
}

// tlsCase is a host, and what becomes of its page with each value of --tls-verify.
type tlsCase struct {
	name, strict, record string
	says                 string // of the certificate
	config               *tls.Config
}

func tlsCases(a *authority) []tlsCase {
	leaf := func(change func(*x509.Certificate), by *authority, names ...string) *tls.Config {
		c := &x509.Certificate{DNSNames: names}
		if change != nil {
			change(c)
		}
		return &tls.Config{Certificates: []tls.Certificate{a.issue(c, by)}}
	}
	var many []string
	for i := range 2000 {
		many = append(many, fmt.Sprintf("n%d.%s", i, hostileZone))
	}
	past := func(c *x509.Certificate) {
		c.NotBefore, c.NotAfter = time.Now().Add(-48*time.Hour), time.Now().Add(-24*time.Hour)
	}
	old := leaf(nil, a, "old."+hostileZone)
	old.MinVersion, old.MaxVersion = tls.VersionTLS10, tls.VersionTLS10 // the trick of this case
	lie := leaf(nil, a, "alpnlie."+hostileZone)
	lie.NextProtos = []string{"h2"}
	return []tlsCase{
		{name: "tls", strict: "200", record: "200", config: leaf(nil, a, "tls."+hostileZone)},
		{name: "manynames", strict: "200", record: "200", config: leaf(nil, a, append(many, "manynames."+hostileZone)...)},
		{name: "expired", strict: "tls", record: "200", says: "expired", config: leaf(past, a, "expired."+hostileZone)},
		{name: "selfsigned", strict: "tls", record: "200", says: "unknown authority", config: leaf(nil, nil, "selfsigned."+hostileZone)},
		{name: "wronghost", strict: "tls", record: "200", says: "other.test", config: leaf(nil, a, "other.test")},
		{name: "old", strict: "tls", record: "200", config: old},
		{name: "alpnlie", strict: "protocol", record: "protocol", config: lie},
		{name: "h2", strict: "200", record: "200", config: leaf(nil, a, "h2."+hostileZone)},
	}
}

// serveTLS serves TLS for each host of the table as its row says; h2 serves HTTP/2.
func (w *hostileWeb) serveTLS(cases []tlsCase) {
	w.t.Helper()
	configs := map[string]*tls.Config{}
	for _, c := range cases {
		configs[c.name+"."+hostileZone] = c.config
	}
	w.listen(hostileTLSIP, func(c net.Conn) {
		tc := tls.Server(c, &tls.Config{
			GetConfigForClient: func(h *tls.ClientHelloInfo) (*tls.Config, error) {
				return configs[h.ServerName], nil
			},
		})
		defer tc.Close()
		if tc.Handshake() == nil {
			w.serve(tc)
		}
	})
	ln, err := net.Listen("tcp", net.JoinHostPort(hostileH2IP, fmt.Sprint(w.port)))
	if err != nil {
		w.t.Fatal(err)
	}
	srv := &http.Server{
		TLSConfig: configs["h2."+hostileZone],
		Handler: http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/" {
				http.NotFound(rw, r)
				return
			}
			fmt.Fprint(rw, r.Proto)
		}),
	}
	over := make(chan error, 1)
	go func() { over <- srv.ServeTLS(ln, "", "") }()
	w.t.Cleanup(func() { srv.Close(); <-over })
}

// TestHostileTLS is S9: invalid certificates, with both values of --tls-verify. What was fetched in
// spite of its certificate says so in the URL's outcome, in the archive and in the counters.
func TestHostileTLS(t *testing.T) {
	needsProcesses(t)
	t.Parallel()
	w := newHostileWeb(t)
	a := newAuthority(t)
	cases := tlsCases(a)
	w.serveTLS(cases)
	nodes := map[string]*node{}
	for _, mode := range []string{"strict", "record"} {
		c := newCluster(t, "--dns", w.dns, "--allow-net", hostileNet, "--delay", "0s", "--tls-verify",
			mode, "--log-level", "debug", "--log-format", "json")
		n := c.place()
		n.wrap = []string{"env", "SSL_CERT_FILE=" + a.file}
		n.start()
		nodes[mode] = n
	}
	for mode, n := range nodes {
		n.ready()
		var urls []string
		for _, hc := range cases {
			urls = append(urls, w.secure(hc.name))
		}
		n.seed(urls...)
		until(t, 60*time.Second, func() string { return unvisited(n, urls...) })
		w.judgeTLS(n, mode, cases)
		n.c.stop()
		judgeCertificates(t, w, n, mode, cases)
	}
}

func (w *hostileWeb) secure(name string) string {
	return strings.Replace(w.url(name, "/"), "http:", "https:", 1)
}

// judgeTLS compares the outcomes and the counter with the table.
func (w *hostileWeb) judgeTLS(n *node, mode string, cases []tlsCase) {
	w.t.Helper()
	seen, bad := n.visits(), int64(0)
	for _, hc := range cases {
		want, spite := hc.strict, hc.says != "" && mode == "record"
		if mode == "record" {
			want = hc.record
		}
		got := seen[w.secure(hc.name)]
		if got.outcome() != want || !strings.Contains(got.Reason, hc.says) ||
			spite != strings.Contains(got.Reason, "in spite of its certificate") {
			w.t.Errorf("S9: --tls-verify %s: %s: %s (%s), want %s (%s)", mode, hc.name, got.outcome(),
				got.Reason, want, hc.says)
		}
		if want == "tls" || spite {
			bad++
		}
	}
	until(w.t, 10*time.Second, func() string { // the log is ahead of the counters
		var s struct {
			Fetch struct {
				Errors map[string]int64 `json:"errors_by_category"`
			}
		}
		if err := n.decode("/status", &s); err != nil || s.Fetch.Errors["tls"] < bad {
			return fmt.Sprintf("S9: --tls-verify %s: %d TLS errors counted, want %d at least (%v)", mode,
				s.Fetch.Errors["tls"], bad, err)
		}
		return ""
	})
}

// judgeCertificates reads in the archive what was wrong with a certificate.
func judgeCertificates(t *testing.T, w *hostileWeb, n *node, mode string, cases []tlsCase) {
	t.Helper()
	certificates := map[string]string{}
	for _, c := range readWARC(t, n.dir) {
		certificates[c.url] = c.certificate
	}
	for _, hc := range cases {
		got, kept := certificates[w.secure(hc.name)]
		want := hc.strict
		if mode == "record" {
			want = hc.record
		}
		if kept != (want == "200") || mode == "record" && (got != "") != (hc.says != "") ||
			!strings.Contains(got, hc.says) && mode == "record" {
			t.Errorf("S9: --tls-verify %s: %s: archived %v, with %q, want %q", mode, hc.name, kept, got,
				hc.says)
		}
	}
}
