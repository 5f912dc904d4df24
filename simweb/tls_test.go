package simweb

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

// serve runs a web on loopback until the test ends.
func serve(t *testing.T, c Config) (*Web, *Server) {
	t.Helper()
	w := newWeb(t, c)
	s, err := w.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	over := make(chan error, 1)
	go func() { over <- s.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-over; err != nil {
			t.Error(err)
		}
	})
	return w, s
}

// fetch gets a page and reads it whole.
func fetch(t *testing.T, c *http.Client, u string) *http.Response {
	t.Helper()
	resp, err := c.Get(u)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		t.Fatal(err)
	}
	return resp
}

func TestTLS(t *testing.T) {
	for _, http1 := range []bool{false, true} {
		w, s := serve(t,
			Config{Seed: 3, Hosts: 2, PagesPerHost: 5, TLS: true, HTTP1: http1, ConnRequests: 2})
		roots := x509.NewCertPool()
		if !roots.AppendCertsFromPEM(s.Authority) {
			t.Fatal("the authority is no certificate")
		}
		transport := &http.Transport{
			ForceAttemptHTTP2: !http1,
			TLSClientConfig: &tls.Config{
				RootCAs:            roots,
				ClientSessionCache: tls.NewLRUClientSessionCache(4),
			},
			DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
				return new(net.Dialer).DialContext(ctx, network, s.HTTP.String())
			},
		}
		client := &http.Client{Transport: transport}
		want := map[bool]string{false: "HTTP/2.0", true: "HTTP/1.1"}[http1]
		for i := range 6 {
			if resp := fetch(t, client, w.Seeds()[0]); resp.StatusCode != 200 || resp.Proto != want {
				t.Errorf("request %d: %s %s, want 200 %s", i, resp.Proto, resp.Status, want)
			}
		}
		transport.CloseIdleConnections()
		r := w.Report()
		if over2 := map[bool]int{false: 6}[http1]; r.Connections != 3 || r.Handshakes != 1 ||
			r.Resumed != 2 || r.HTTP2 != over2 {
			t.Errorf(
				"%d connections, %d full and %d resumed handshakes, %d requests over HTTP/2; want 3, 1, 2, %d",
				r.Connections, r.Handshakes, r.Resumed, r.HTTP2, over2)
		}
		for u := range w.Reachable() {
			if !strings.HasPrefix(u, "https://") {
				t.Errorf("%s stands on a web of https", u)
			}
		}
	}
}

// A web is its own proxy, and takes its time.
func TestProxyAndLatency(t *testing.T) {
	const latency = 50 * time.Millisecond
	w, s := serve(t, Config{Seed: 3, Hosts: 2, PagesPerHost: 5, Latency: latency})
	transport := &http.Transport{Proxy: http.ProxyURL(&url.URL{Scheme: "http", Host: s.HTTP.String()})}
	defer transport.CloseIdleConnections()
	began := time.Now()
	for _, u := range w.Seeds() {
		if resp := fetch(t, &http.Client{Transport: transport}, u); resp.StatusCode != 200 {
			t.Errorf("%s: %s", u, resp.Status)
		}
	}
	if took := time.Since(began); took < 2*latency {
		t.Errorf("two answers took %v, want %v and more", took, 2*latency)
	}
	if w.Progress() != 2 {
		t.Errorf("%d pages answered, want 2", w.Progress())
	}
}
