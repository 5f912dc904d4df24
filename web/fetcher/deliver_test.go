package fetcher

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
)

// TestBeforeWrite checks that a request is not sent when its right has ended while the connection
// was made, or before a kept one is used.
func TestBeforeWrite(t *testing.T) {
	t.Parallel()
	noRight := errors.New("no right")
	for name, c := range map[string]struct{ tls, h2 bool }{
		"http":   {},
		"https":  {tls: true},
		"http/2": {tls: true, h2: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var requests atomic.Int64
			conns := 0
			srv := httptest.NewUnstartedServer(
				http.HandlerFunc(func(http.ResponseWriter, *http.Request) { requests.Add(1) }))
			scheme := "http"
			if c.tls {
				scheme, srv.EnableHTTP2 = "https", c.h2
				srv.StartTLS()
			} else {
				srv.Start()
			}
			defer srv.Close()
			f := newFetcher(t, Options{
				TLSRecord: true,
				DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
					c, err := new(net.Dialer).DialContext(ctx, network, addr)
					conns++
					return c, err
				},
			})
			r := ask(t, scheme, srv.Listener.Addr().String(), "/")
			refuse := func(kept bool) {
				t.Helper()
				r.BeforeWrite = func() error { return noRight }
				_, err := f.Do(context.Background(), r)
				if e := wantCategory(t, err, Other); !errors.Is(err, ErrRefused) || !errors.Is(err, noRight) ||
					e.Contacted == kept {
					t.Errorf("on a kept connection: %v; error %v, contacted %v", kept, err, e.Contacted)
				}
				if f.IdleConns() != 0 {
					t.Error("the connection of a refused request was kept")
				}
			}
			refuse(false)
			asked := 0
			r.BeforeWrite = func() error {
				if asked++; conns != 2 {
					t.Errorf("asked with %d connections made, want 2", conns)
				}
				return nil
			}
			mustDo(t, f, r).Release()
			if refuse(true); asked != 1 || requests.Load() != 1 || conns != 2 {
				t.Errorf("asked %d times, %d requests on %d connections; want 1, 1 and 2", asked,
					requests.Load(), conns)
			}
		})
	}
}

// TestBeforeWriteAgain checks that the right is checked again when a request goes to a second
// connection.
func TestBeforeWriteAgain(t *testing.T) {
	t.Parallel()
	srv := says(t, page("one"))
	f := newFetcher(t, Options{})
	r := ask(t, "http", srv.addr, "/")
	key, err := keyOf(&r)
	if err != nil {
		t.Fatal(err)
	}
	a, b := net.Pipe()
	defer b.Close()
	f.pool.put(&conn{key: key, raw: a, nc: deadConn{a}})
	asked := 0
	r.BeforeWrite = func() error {
		if asked++; asked == 2 {
			return io.ErrClosedPipe
		}
		return nil
	}
	if _, err := f.Do(context.Background(), r); !errors.Is(err, ErrRefused) || asked != 2 ||
		srv.requests.Load() != 0 {
		t.Errorf("error %v, asked %d times, %d requests", err, asked, srv.requests.Load())
	}
}
