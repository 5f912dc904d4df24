package fetcher

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
)

// TestBodyOfTheLimit has payloads one byte below, at and one byte above the limit. Only the last
// are cut, however they are framed and coded.
func TestBodyOfTheLimit(t *testing.T) {
	t.Parallel()
	for _, limit := range []int{1000, smallBodyBytes, largeBodyBytes, firstSpool + 1} {
		for _, h2 := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d, HTTP/2 %v", limit, h2), func(t *testing.T) {
				t.Parallel()
				limitCases(t, limit, h2)
			})
		}
	}
}

func limitCases(t *testing.T, limit int, h2 bool) {
	srv, roots := newTLSServer(t, h2, serveCoded)
	plain := httptest.NewServer(http.HandlerFunc(serveCoded))
	defer plain.Close()
	// The server codes the whole body before it sends the head, and the machine may be busy.
	o := Options{MaxBody: int64(limit), SpoolDir: t.TempDir(), Timeout: 5 * time.Minute, HeadTimeout: 5 * time.Minute}
	f := newFetcher(t, o)
	scheme, addr := "http", plain.Listener.Addr().String()
	if h2 {
		o.RootCAs = roots
		f, scheme, addr = newFetcher(t, o), "https", srv.Listener.Addr().String()
	}
	all := []string{"", "gzip", "deflate", "x-raw", "br", "zstd", "gzip,gzip", "deflate,br",
		"br,gzip,zstd"}
	if limit >= largeBodyBytes {
		all = all[:2] // decoding is the same for the others, and coding is slow
	}
	for _, codings := range all {
		for _, framing := range []string{"length", "chunked", "close"} {
			for more := -1; more <= 1; more++ {
				path := fmt.Sprintf("/?size=%d&codings=%s&framing=%s", limit+more, codings, framing)
				r := mustDo(t, f, ask(t, scheme, addr, path))
				if want := min(limit, limit+more); (r.Truncated != "") != (more > 0) || r.DecodeErr != nil ||
					len(r.Body) != want {
					t.Errorf("limit %d, %s: %d bytes, cut %v, %v", limit, path, len(r.Body), r.Truncated,
						r.DecodeErr)
				}
				r.Release()
			}
		}
	}
}

// TestInnerCodingOfTheLimit has a payload that is larger in its inner coding than decoded. There
// too, only the part above the limit is cut.
func TestInnerCodingOfTheLimit(t *testing.T) {
	t.Parallel()
	noise := make([]byte, 5000)
	rand.NewChaCha8([32]byte{}).Read(noise)
	for _, inner := range []string{"gzip", "deflate", "x-raw", "br", "zstd"} {
		once := coded(inner, noise)
		for more := -1; more <= 1; more++ {
			f := newFetcher(t, Options{MaxBody: int64(len(once) - more)})
			r := decoded(t, f, coded("gzip", once), strings.Replace(inner, "x-raw", "deflate", 1)+", gzip")
			if (r.Truncated != "") != (more > 0) || r.DecodeErr != nil ||
				more <= 0 && !bytes.Equal(r.Body, noise) {
				t.Errorf("%s of %d bytes, limit %d: %d bytes, cut %v, %v", inner, len(once), len(once)-more,
					len(r.Body), r.Truncated, r.DecodeErr)
			}
			r.Release()
		}
	}
}

// serveCoded answers with as many bytes as asked for, in the codings and the framing
// asked for.
func serveCoded(w http.ResponseWriter, r *http.Request) {
	size, err := strconv.Atoi(r.FormValue("size"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	body := someText(size)
	for coding := range strings.SplitSeq(r.FormValue("codings"), ",") {
		body = coded(coding, body)
	}
	if codings := strings.Replace(r.FormValue("codings"), "x-raw", "deflate", 1); codings != "" {
		w.Header().Set("Content-Encoding", codings)
	}
	w.Header().Set("Content-Type", "text/plain")
	switch r.FormValue("framing") {
	case "length":
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	case "close":
		w.Header().Set("Connection", "close")
	}
	for len(body) > 0 { // each is a chunk
		n, err := w.Write(body[:min(len(body), 3000)])
		if err != nil {
			return // nobody reads on
		}
		body = body[n:]
	}
}

// someText is text that compresses well below the size limit, but not so well that the limit on the
// ratio would cut it.
func someText(size int) []byte {
	rnd := rand.New(rand.NewPCG(1, uint64(size)))
	b := make([]byte, size)
	for i := range b {
		b[i] = "abcdefgh        "[rnd.IntN(16)]
	}
	return b
}

func coded(coding string, body []byte) []byte {
	var out bytes.Buffer
	var w io.WriteCloser
	switch coding {
	case "gzip":
		w, _ = gzip.NewWriterLevel(&out, gzip.BestSpeed)
	case "deflate":
		w = zlib.NewWriter(&out)
	case "x-raw":
		w, _ = flate.NewWriter(&out, flate.BestSpeed)
	case "br":
		w = brotli.NewWriterLevel(&out, 1)
	case "zstd":
		w, _ = zstd.NewWriter(&out, zstd.WithEncoderConcurrency(1))
	default:
		return body
	}
	w.Write(body)
	w.Close() // into memory: nothing can fail
	return out.Bytes()
}
