package fetcher

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// floods are the frames that a server repeats without end once it has a request.
var floods = map[string]func(fr *http2.Framer, stream uint32) error{
	"ping":          func(fr *http2.Framer, _ uint32) error { return fr.WritePing(false, [8]byte{1}) },
	"ping ack":      func(fr *http2.Framer, _ uint32) error { return fr.WritePing(true, [8]byte{1}) },
	"settings":      func(fr *http2.Framer, _ uint32) error { return fr.WriteSettings() },
	"empty data":    func(fr *http2.Framer, s uint32) error { return fr.WriteData(s, false, nil) },
	"small data":    func(fr *http2.Framer, s uint32) error { return fr.WriteData(s, false, []byte("x")) },
	"rst":           func(fr *http2.Framer, s uint32) error { return fr.WriteRSTStream(s, http2.ErrCodeCancel) },
	"priority":      func(fr *http2.Framer, s uint32) error { return fr.WritePriority(s, http2.PriorityParam{Weight: 7}) },
	"window update": func(fr *http2.Framer, _ uint32) error { return fr.WriteWindowUpdate(0, 1) },
	"unknown":       func(fr *http2.Framer, s uint32) error { return fr.WriteRawFrame(0x42, 0, s, nil) },
	"continuation":  func(fr *http2.Framer, s uint32) error { return fr.WriteContinuation(s, false, nil) },
	"interim": func(fr *http2.Framer, s uint32) error {
		return fr.WriteHeaders(http2.HeadersFrameParam{StreamID: s, BlockFragment: status("103"), EndHeaders: true})
	},
}

func status(code string) []byte {
	var b headBuffer
	_ = hpack.NewEncoder(&b).WriteField(hpack.HeaderField{Name: ":status", Value: code}) // a buffer takes all
	return b
}

type headBuffer []byte

func (b *headBuffer) Write(p []byte) (int, error) { *b = append(*b, p...); return len(p), nil }

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
			flood(c, kind)
			c.Close()
		}
	}()
	return ln.Addr().String(), Options{RootCAs: roots, Timeout: 20 * time.Second}
}

// flood ends when the client closes.
func flood(c net.Conn, kind string) {
	preface := make([]byte, len(http2.ClientPreface))
	if _, err := c.Read(preface); err != nil {
		return
	}
	fr := http2.NewFramer(c, c)
	fr.AllowIllegalWrites = true
	_ = fr.WriteSettings() // a client that has gone is seen below
	stream := uint32(0)
	for stream == 0 {
		f, err := fr.ReadFrame()
		if err != nil {
			return
		}
		if h, ok := f.(*http2.HeadersFrame); ok {
			stream = h.StreamID
		}
	}
	go func() { // what the client says must not fill its buffers
		for {
			if _, err := fr.ReadFrame(); err != nil {
				return
			}
		}
	}()
	switch kind {
	case "continuation":
		_ = fr.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: status("200")})
	case "empty data", "small data":
		_ = fr.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: status("200"), EndHeaders: true})
	}
	for floods[kind](fr, stream) == nil {
	}
}

// Each flood ends the connection, long before any limit of time.
func TestFlood(t *testing.T) {
	t.Parallel()
	for kind := range floods {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			addr, o := floodServer(t, kind)
			begun := time.Now()
			_, err := newFetcher(t, o).Do(context.Background(), ask(t, "https", addr, "/"))
			if err == nil {
				t.Fatal("a flood is an answer")
			}
			if kind != "rst" && kind != "interim" && kind != "continuation" && !errors.Is(err, ErrFlood) { // those end the exchange itself
				t.Errorf("error: %v", err)
			}
			if took := time.Since(begun); took > 10*time.Second {
				t.Errorf("it took %v", took)
			}
		})
	}
}

// The guard sees frames however they are cut, and allows what answers take.
func TestFloodGuard(t *testing.T) {
	t.Parallel()
	var b headBuffer
	fr := http2.NewFramer(&b, nil)
	for range 100 {
		for range 40 {
			_ = fr.WritePing(false, [8]byte{}) // a buffer takes all
		}
		_ = fr.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: status("200"), EndHeaders: true})
		_ = fr.WriteData(1, true, make([]byte, 10_000))
	}
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
			t.Errorf("in pieces of %d: %d bytes of payload and %d other frames, want 1,000,000 and 4,100", piece, g.payload, g.idle)
		}
	}
	var idle headBuffer
	fr = http2.NewFramer(&idle, nil)
	for range floodAllowance + 1 {
		_ = fr.WriteSettings()
	}
	if err := (&floodGuard{}).take(idle); !errors.Is(err, ErrFlood) {
		t.Errorf("%d SETTINGS: %v", floodAllowance+1, err)
	}
}

func BenchmarkFloodGuard(bench *testing.B) {
	var b headBuffer
	fr := http2.NewFramer(&b, nil)
	_ = fr.WriteData(1, false, make([]byte, 16<<10)) // a buffer takes all
	g := &floodGuard{}
	bench.SetBytes(int64(len(b)))
	for bench.Loop() {
		if err := g.take(b); err != nil {
			bench.Fatal(err)
		}
	}
}
