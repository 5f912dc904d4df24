package fetcher

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// newTLSServer serves h over TLS, with HTTP/2 if asked.
func newTLSServer(t *testing.T, h2 bool, h http.HandlerFunc) (*httptest.Server, *x509.CertPool) {
	t.Helper()
	srv := httptest.NewUnstartedServer(h)
	srv.EnableHTTP2 = h2
	srv.Config.ErrorLog = discardLog()
	srv.StartTLS()
	t.Cleanup(srv.Close)
	pool := x509.NewCertPool()
	pool.AddCert(srv.Certificate())
	return srv, pool
}

func TestTLS(t *testing.T) {
	t.Parallel()
	for _, h2 := range []bool{false, true} {
		srv, roots := newTLSServer(t, h2, func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("User-Agent") != "crawlnode/test" || r.RequestURI != "/a%2Fb;c?x=%20&y" ||
				r.Header.Get("Accept-Encoding") != accepted {
				t.Errorf("%s: uri %q, header %v", r.Proto, r.RequestURI, r.Header)
			}
			w.Header().Set("Content-Type", "text/html")
			w.Header().Set("X-A", "b")
			io.WriteString(w, "hello")
		})
		addr := srv.Listener.Addr().String()
		r := ask(t, "https", addr, "/a%2fb;c?x=%20&y")
		f := newFetcher(t, Options{RootCAs: roots})
		for i := range 3 {
			resp := mustDo(t, f, r)
			want := map[bool]string{false: "HTTP/1.1", true: "HTTP/2.0"}[h2]
			if resp.Status != 200 || resp.Proto != want || string(resp.Body) != "hello" || resp.TLS == nil ||
				resp.TLS.Err != nil || resp.TLS.Version != tls.VersionTLS13 || resp.Reused != (i > 0) {
				t.Errorf("h2 %v: %+v", h2, resp)
			}
			head := string(resp.ResponseHead)
			if !strings.HasPrefix(head, "HTTP/1.1 200 OK\r\n") ||
				!strings.Contains(head, "\r\nX-A: b\r\n") || !strings.HasSuffix(head, "\r\n\r\n") {
				t.Errorf("head %q", head)
			}
			resp.Release()
		}

		_, err := newFetcher(t, Options{}).Do(context.Background(), r)
		wantCategory(t, err, TLS)

		for _, o := range []Options{{TLSRecord: true}, {}} {
			r.TLSRecord = !o.TLSRecord
			resp := mustDo(t, newFetcher(t, o), r)
			if resp.TLS == nil || resp.TLS.Err == nil || string(resp.Body) != "hello" {
				t.Errorf("with --tls-verify record: %+v", resp)
			}
		}
		r.TLSRecord = false
		other := r
		other.URL, _ = r.URL.Resolve("https://wrong.test:" + addr[strings.LastIndex(addr, ":")+1:] + "/")
		_, err = f.Do(context.Background(), other)
		if wantCategory(t, err, TLS); !strings.Contains(err.Error(), "wrong.test") {
			t.Errorf("error does not name the host: %v", err)
		}
	}
}

// TLS sessions are resumed when the connection to a host was evicted, over HTTP/1 and HTTP/2, with
// certificates enforced or not. The number of kept sessions is bounded.
func TestTLSSessions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name          string
		h2, record    bool
		hosts, kept   int
		full, resumed int64
		version       uint16 // that the server speaks at most; 0: the newest
	}{
		{name: "HTTP/1", hosts: 6, kept: 4, full: 6, resumed: 12},
		{name: "HTTP/2", h2: true, hosts: 6, kept: 4, full: 6, resumed: 12},
		{name: "TLS 1.2", hosts: 6, kept: 4, full: 6, resumed: 12, version: tls.VersionTLS12},
		{name: "recorded", record: true, hosts: 6, kept: 4, full: 6, resumed: 12},
		{name: "more hosts than room", hosts: 20, kept: 4, full: 60},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var full, resumed atomic.Int64
			srv := httptest.NewUnstartedServer(
				http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if r.TLS.DidResume {
						resumed.Add(1)
					} else {
						full.Add(1)
					}
				}))
			srv.EnableHTTP2 = c.h2
			srv.TLS = &tls.Config{MaxVersion: c.version}
			srv.Config.ErrorLog = discardLog()
			srv.StartTLS()
			defer srv.Close()
			roots := x509.NewCertPool()
			roots.AddCert(srv.Certificate())
			addr := srv.Listener.Addr().String()
			f := newFetcher(t, Options{RootCAs: roots, MaxIdleConns: c.kept, TLSRecord: c.record})
			r := ask(t, "https", addr, "/")
			for range 3 {
				for i := range c.hosts {
					// The certificate of httptest is good for example.com and below.
					var err error
					if r.URL, err = r.URL.Resolve(fmt.Sprintf("https://h%d.example.com:%s/", i,
						addr[strings.LastIndex(addr, ":")+1:])); err != nil {
						t.Fatal(err)
					}
					resp := mustDo(t, f, r)
					if resp.Reused || resp.TLS.Err != nil {
						t.Errorf("host %d: reused %v, certificate %v", i, resp.Reused, resp.TLS.Err)
					}
					resp.Release()
				}
			}
			if full.Load() != c.full || resumed.Load() != c.resumed {
				t.Errorf("%d full handshakes and %d resumed, want %d and %d", full.Load(), resumed.Load(),
					c.full, c.resumed)
			}
		})
	}
}

func TestTLSTimeout(t *testing.T) {
	t.Parallel()
	ln, err := net.Listen("tcp", "127.0.0.1:0") // connects, and never says a word
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	f := newFetcher(t, Options{TLSTimeout: 30 * time.Millisecond})
	_, err = f.Do(context.Background(), ask(t, "https", ln.Addr().String(), "/"))
	wantCategory(t, err, TLS)
}

func TestHTTP2Limits(t *testing.T) {
	t.Parallel()
	hold := make(chan struct{})
	srv, roots := newTLSServer(t, true, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/large":
			io.WriteString(w, repeat("x", 100_000))
		case "/mute":
			select {
			case <-r.Context().Done():
			case <-hold:
			}
		case "/hang":
			io.WriteString(w, "x")
			w.(http.Flusher).Flush()
			select {
			case <-r.Context().Done():
			case <-hold:
			}
		case "/head":
			w.Header().Set("A", repeat("x", 400<<10))
		case "/nothing":
			w.Header().Set("Content-Length", "10")
			w.WriteHeader(200)
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		case "/short":
			w.Header().Set("Content-Length", "10")
			io.WriteString(w, "x")
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}
	})
	defer close(hold)
	addr := srv.Listener.Addr().String()
	f := newFetcher(t, Options{RootCAs: roots, MaxBody: 1000, HeadTimeout: 100 * time.Millisecond})
	// A machine that is busy may take a while for the head that comes before the slow payload, and for
	// its first byte.
	slow := newFetcher(t, Options{RootCAs: roots, MaxBody: 1000, HeadTimeout: 10 * time.Second,
		MinRate: 1000, MinRateAfter: 2 * time.Second})
	// Cases that must not end by a time-out have no time limit.
	patient := newFetcher(t, Options{RootCAs: roots, MaxBody: 1000})
	if resp := mustDo(t, patient, ask(t, "https", addr, "/large")); resp.Truncated == "" ||
		resp.WireBytes != 1000 {
		t.Errorf("large: truncated %v, %d bytes", resp.Truncated, resp.WireBytes)
	}
	_, err := f.Do(context.Background(), ask(t, "https", addr, "/mute"))
	wantCategory(t, err, Timeout)
	_, err = patient.Do(context.Background(), ask(t, "https", addr, "/head"))
	wantCategory(t, err, Protocol)
	_, err = patient.Do(context.Background(), ask(t, "https", addr, "/nothing"))
	wantCategory(t, err, Truncated)
	if resp := mustDo(t, slow, ask(t, "https", addr, "/hang")); resp.Truncated != CutTime ||
		string(resp.Body) != "x" {
		t.Errorf("hang: cut %q, %q", resp.Truncated, resp.Body)
	}
	if resp := mustDo(t, patient, ask(t, "https", addr, "/short")); resp.Truncated != CutDisconnect ||
		string(resp.Body) != "x" {
		t.Errorf("short: cut %q, %q", resp.Truncated, resp.Body)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	if _, err := f.Do(ctx, ask(t, "https", addr, "/mute")); err == nil || ctx.Err() == nil {
		t.Errorf("error %v", err)
	}
}

// TestOldTLS: a server that only offers what is no longer secure is refused with a hint that helps,
// and fetched where certificates are only recorded.
func TestOldTLS(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		least, most uint16
		suites      []uint16
	}{
		"RSA key exchange, GCM": {tls.VersionTLS12, tls.VersionTLS12,
			[]uint16{tls.TLS_RSA_WITH_AES_128_GCM_SHA256}},
		"RSA key exchange, CBC": {tls.VersionTLS12, tls.VersionTLS12,
			[]uint16{tls.TLS_RSA_WITH_AES_256_CBC_SHA}},
		"RSA key exchange, SHA2": {tls.VersionTLS12, tls.VersionTLS12,
			[]uint16{tls.TLS_RSA_WITH_AES_128_CBC_SHA256}},
		"3DES":    {tls.VersionTLS12, tls.VersionTLS12, []uint16{tls.TLS_RSA_WITH_3DES_EDE_CBC_SHA}},
		"TLS 1.0": {tls.VersionTLS10, tls.VersionTLS10, nil},
		"TLS 1.1": {tls.VersionTLS11, tls.VersionTLS11, []uint16{tls.TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := httptest.NewUnstartedServer(
				http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "x") }))
			srv.Config.ErrorLog = discardLog()
			srv.TLS = &tls.Config{MinVersion: c.least, MaxVersion: c.most, CipherSuites: c.suites}
			srv.StartTLS()
			t.Cleanup(srv.Close)
			roots := x509.NewCertPool()
			roots.AddCert(srv.Certificate())
			f := newFetcher(t, Options{RootCAs: roots})
			r := ask(t, "https", srv.Listener.Addr().String(), "/")
			_, err := f.Do(context.Background(), r)
			if wantCategory(t, err, TLS); !strings.Contains(err.Error(), "RSA key exchange") ||
				!strings.Contains(err.Error(), "--tls-verify record") {
				t.Errorf("strict: %v", err)
			}
			r.TLSRecord = true
			if resp := mustDo(t, f, r); string(resp.Body) != "x" || resp.TLS.Version != c.most ||
				resp.TLS.Err != nil {
				t.Errorf("record: %q, %+v", resp.Body, resp.TLS)
			}
		})
	}
	srv, _ := newTLSServer(t, false, nil)
	_, err := newFetcher(t, Options{}).Do(context.Background(),
		ask(t, "https", srv.Listener.Addr().String(), "/"))
	if wantCategory(t, err, TLS); strings.Contains(err.Error(), "RSA") {
		t.Errorf("a bad certificate: %v", err)
	}
}
