package fetcher

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"net/http"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"crawlnode/integration/simnet"
)

// floodServer speaks HTTP/2 until a request comes, and then floods.
func floodServer(t *testing.T, kind string) (addr string, o Options) {
	t.Helper()
	srv, roots := newTLSServer(t, true, func(http.ResponseWriter, *http.Request) {})
	cfg := srv.TLS.Clone()
	cfg.NextProtos = []string{"h2"}
	ln, err := tls.Listen("tcp", "127.0.0.1:0", cfg)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	t.Cleanup(func() { ln.Close(); <-done })
	go func() {
		defer close(done)
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			simnet.Flood(c, kind)
		}
	}()
	return ln.Addr().String(), Options{RootCAs: roots, Timeout: 15 * time.Minute}
}

// Each flood ends the connection long before any time limit.
func TestFlood(t *testing.T) {
	t.Parallel()
	for _, kind := range simnet.Floods() {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			addr, o := floodServer(t, kind)
			begun := time.Now()
			_, err := newFetcher(t, o).Do(context.Background(), ask(t, "https", addr, "/"))
			if err == nil {
				t.Fatal("a flood is an answer")
			}
			// those end the exchange itself
			if kind != "RST_STREAM" && kind != "interim answers" && kind != "CONTINUATION" &&
				!errors.Is(err, ErrFlood) {
				t.Errorf("error: %v", err)
			}
			if took := time.Since(begun); took > 10*time.Minute { // less than the time-out
				t.Errorf("it took %v", took)
			}
		})
	}
}

// The guard recognises frames however they are split, and allows what answers need.
func TestFloodGuard(t *testing.T) {
	t.Parallel()
	var buf bytes.Buffer
	fr := http2.NewFramer(&buf, nil)
	for range 100 {
		for range 40 {
			_ = fr.WritePing(false, [8]byte{}) // a buffer takes all
		}
		_ = fr.WriteHeaders(http2.HeadersFrameParam{
			StreamID:      1,
			BlockFragment: simnet.HTTP2Status("200"),
			EndHeaders:    true,
		})
		_ = fr.WriteData(1, true, make([]byte, 10_000))
	}
	b := buf.Bytes()
	for _, piece := range []int{1, 7, 1000, len(b)} {
		g := &floodGuard{maxHead: 1 << 18}
		for i := 0; i < len(b); i += piece {
			if i%(len(b)/100+1) < piece {
				g.fetches.Add(1)
			}
			if piece == len(b) {
				g.fetches.Store(100)
			}
			if err := g.take(b[i:min(i+piece, len(b))]); err != nil {
				t.Fatalf("in pieces of %d: %v", piece, err)
			}
		}
		if g.payload != 1_000_000 || g.idle != 4100 || g.left != 0 || g.have != 0 {
			t.Errorf("in pieces of %d: %d bytes of payload and %d other frames, want 1,000,000 and 4,100",
				piece, g.payload, g.idle)
		}
	}
	var idle bytes.Buffer
	fr = http2.NewFramer(&idle, nil)
	for range floodAllowance + 1 {
		_ = fr.WriteSettings()
	}
	if err := (&floodGuard{}).take(idle.Bytes()); !errors.Is(err, ErrFlood) {
		t.Errorf("%d SETTINGS: %v", floodAllowance+1, err)
	}
}

func BenchmarkFloodGuard(bench *testing.B) {
	var buf bytes.Buffer
	fr := http2.NewFramer(&buf, nil)
	_ = fr.WriteData(1, false, make([]byte, 16<<10)) // a buffer takes all
	g, b := &floodGuard{}, buf.Bytes()
	bench.SetBytes(int64(len(b)))
	for bench.Loop() {
		if err := g.take(b); err != nil {
			bench.Fatal(err)
		}
	}
}
