package fetcher

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// framed is an HTTP/2 server that shows what came over the wire. It also speaks HTTP/1.
type framed struct {
	addr  string
	roots *x509.CertPool

	mu    sync.Mutex
	paths []string // :path, or the target of an HTTP/1 request line
	conns int
}

// newFramed answers each request over HTTP/2 by answer, which is given its number, and each over
// HTTP/1 by "plain".
func newFramed(t *testing.T, answer func(fr *http2.Framer, stream uint32, n int)) *framed {
	t.Helper()
	srv, roots := newTLSServer(t, true, nil)
	cfg := srv.TLS.Clone()
	cfg.NextProtos = []string{"h2", "http/1.1"}
	ln, err := tls.Listen("tcp", "127.0.0.1:0", cfg)
	if err != nil {
		t.Fatal(err)
	}
	s := &framed{addr: ln.Addr().String(), roots: roots}
	t.Cleanup(func() { ln.Close() })
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			s.note("")
			go s.talk(c.(*tls.Conn), answer)
		}
	}()
	return s
}

// note counts a connection ("") or keeps a path, and returns how many paths there are.
func (s *framed) note(path string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if path == "" {
		s.conns++
	} else {
		s.paths = append(s.paths, path)
	}
	return len(s.paths)
}

func (s *framed) seen() ([]string, int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.paths...), s.conns
}

func (s *framed) talk(c *tls.Conn, answer func(fr *http2.Framer, stream uint32, n int)) {
	defer c.Close()
	if c.Handshake() != nil {
		return
	}
	if c.ConnectionState().NegotiatedProtocol != "h2" {
		b := make([]byte, 4096)
		for {
			n, err := c.Read(b)
			if err != nil {
				return
			}
			s.note(string(bytes.Fields(b[:n])[1]))
			io.WriteString(c, page("plain"))
		}
	}
	if _, err := io.ReadFull(c, make([]byte, len(http2.ClientPreface))); err != nil {
		return
	}
	fr := http2.NewFramer(c, c)
	fr.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	fr.WriteSettings()
	for {
		f, err := fr.ReadFrame()
		if err != nil {
			return
		}
		if h, ok := f.(*http2.MetaHeadersFrame); ok {
			answer(fr, h.StreamID, s.note(h.PseudoValue("path")))
		}
	}
}

// fine sends an answer over HTTP/2.
func fine(fr *http2.Framer, stream uint32, _ int) {
	var b bytes.Buffer
	hpack.NewEncoder(&b).WriteField(hpack.HeaderField{Name: ":status", Value: "200"})
	fr.WriteHeaders(http2.HeadersFrameParam{
		StreamID:      stream,
		BlockFragment: b.Bytes(),
		EndHeaders:    true,
	})
	fr.WriteData(stream, true, []byte("framed"))
}

// TestPathOverHTTP2: :path is what the request line over HTTP/1 has, which is archived, and that is
// the canonical URL's path and query, byte by byte (RFC 9113, section 8.3.1).
func TestPathOverHTTP2(t *testing.T) {
	t.Parallel()
	s := newFramed(t, fine)
	f := newFetcher(t, Options{RootCAs: s.roots})
	for _, path := range []string{
		"/doi/10.1000%2Fs1|x", "/a%2fb", "/%7Euser", "/a|b^c`d", "/[x]/{y}", "//two//slashes", "/a%zz",
		"/%", "/?", "/a?b=%2F|c&d", "/?a?b",
		"/caf%C3%A9", "/caf%E9", "/a;b=c,d", "/a:b@c", "/*", "/%00", "/a%20b+c", "/'\"<>", "/\\x",
		"/https://b.test/x",
	} {
		r := ask(t, "https", s.addr, path)
		resp, err := f.Do(context.Background(), r)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		paths, _ := s.seen()
		target, _, _ := strings.Cut(strings.TrimPrefix(string(resp.RequestHead), "GET "), " ")
		if got, want := paths[len(paths)-1], r.URL.PathQuery(); got != want || target != want ||
			resp.Proto != "HTTP/2.0" {
			t.Errorf("%s: asked for %q over %s, archived %q, want %q", path, got, resp.Proto, target, want)
		}
		resp.Release()
	}
}

// TestHTTP1Required: a server that wants HTTP/1.1 for a request (RFC 9113, section 7) is asked no
// second time within the fetch, and over HTTP/1.1 from then on.
func TestHTTP1Required(t *testing.T) {
	t.Parallel()
	for name, refuse := range map[string]func(fr *http2.Framer, stream uint32, n int){
		"stream": func(fr *http2.Framer, stream uint32, _ int) {
			fr.WriteRSTStream(stream, http2.ErrCodeHTTP11Required)
		},
		"connection": func(fr *http2.Framer, _ uint32, _ int) {
			fr.WriteGoAway(0, http2.ErrCodeHTTP11Required, nil)
		},
		"second request": func(fr *http2.Framer, stream uint32, n int) {
			if n == 1 {
				fine(fr, stream, n)
				return
			}
			fr.WriteRSTStream(stream, http2.ErrCodeHTTP11Required)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newFramed(t, refuse)
			f := newFetcher(t, Options{RootCAs: s.roots})
			r := ask(t, "https", s.addr, "/x")
			before := 0
			if name == "second request" {
				mustDo(t, f, r).Release()
				before = 1
			}
			_, err := f.Do(context.Background(), r)
			if e := wantCategory(t, err, Protocol); !e.Reused || !e.Contacted {
				t.Errorf("again %t, contacted %t: %v", e.Reused, e.Contacted, err)
			}
			if paths, _ := s.seen(); len(paths) != before+1 {
				t.Errorf("asked %d times", len(paths))
			}
			for range 3 {
				if resp := mustDo(t, f, r); resp.Proto != "HTTP/1.1" || string(resp.Body) != "plain" ||
					resp.Status != http.StatusOK {
					t.Errorf("%s: %q", resp.Proto, resp.Body)
				}
			}
		})
	}
	s := newFramed(t,
		func(fr *http2.Framer, stream uint32, _ int) { fr.WriteRSTStream(stream, http2.ErrCodeInternal) })
	_, err := newFetcher(t, Options{RootCAs: s.roots}).Do(context.Background(),
		ask(t, "https", s.addr, "/"))
	if e := wantCategory(t, err, Protocol); e.Reused {
		t.Errorf("another reset: %v", err)
	}
}

// TestResetInsidePayload: a stream that is reset after some of its payload leaves what came.
func TestResetInsidePayload(t *testing.T) {
	t.Parallel()
	for _, code := range []http2.ErrCode{http2.ErrCodeInternal, http2.ErrCodeCancel,
		http2.ErrCodeProtocol} {
		s := newFramed(t, func(fr *http2.Framer, stream uint32, _ int) {
			var b bytes.Buffer
			hpack.NewEncoder(&b).WriteField(hpack.HeaderField{Name: ":status", Value: "200"})
			fr.WriteHeaders(http2.HeadersFrameParam{
				StreamID:      stream,
				BlockFragment: b.Bytes(),
				EndHeaders:    true,
			})
			fr.WriteData(stream, false, []byte("half"))
			fr.WriteRSTStream(stream, code)
		})
		f := newFetcher(t, Options{RootCAs: s.roots})
		r := ask(t, "https", s.addr, "/")
		if resp := mustDo(t, f, r); resp.Truncated != CutDisconnect || string(resp.Body) != "half" {
			t.Errorf("%v: cut %q, %q", code, resp.Truncated, resp.Body)
		}
	}
}
