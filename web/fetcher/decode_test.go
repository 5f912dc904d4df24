package fetcher

import (
	"bytes"
	"context"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/klauspost/compress/gzip"
)

func discardLog() *log.Logger { return log.New(io.Discard, "", 0) }

func testdata(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", "compressed", name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// decoded runs a payload through decode, as a response of a fetcher f.
func decoded(t testing.TB, f *Fetcher, raw []byte, codings ...string) *Response {
	t.Helper()
	r := &Response{RawBody: raw, Header: http.Header{"Content-Encoding": codings}}
	x := &exchange{f: f, ctx: context.Background(), maxBody: f.o.MaxBody, started: time.Now()}
	if err := x.decode(r); err != nil {
		t.Fatal(err)
	}
	r.held = x
	return r
}

func TestDecode(t *testing.T) {
	t.Parallel()
	const page = "b65bd60800562600815b739d4cdcb65cf5127f70" // SHA-1 of the page in all of them
	f := newFetcher(t, Options{})
	for range 2 { // the second time with used decoders
		for _, c := range []struct {
			file    string
			codings []string
		}{
			{"html-gzip.bin", []string{"gzip"}},
			{"html-gzip.bin", []string{"X-GZIP"}},
			{"html-gzip.bin", []string{"identity, gzip", "utf-8"}},
			{"html-rawdeflate.bin", []string{"deflate"}},
			{"html-zlibdeflate.bin", []string{"deflate"}},
			{"html-zstd-static-content-size.bin", []string{"zstd"}},
			{"html-zstd-static-no-content-size.bin", []string{"zstd"}},
			{"html-zstd-streaming-no-content-size.bin", []string{"zstd"}},
			{"html-gzip-deflate.bin", []string{"gzip, deflate"}},
			{"html-gzip-deflate-gzip.bin", []string{"gzip", "deflate", "gzip"}},
		} {
			r := decoded(t, f, testdata(t, c.file), c.codings...)
			// the page says how it was sent
			got := bytes.ReplaceAll(r.Body, []byte("`deflate'"), []byte("`gzip'"))
			if sum := sha1.Sum(got); r.DecodeErr != nil || r.Truncated != "" ||
				hex.EncodeToString(sum[:]) != page {
				t.Errorf("%s %v: %v, %d bytes", c.file, c.codings, r.DecodeErr, len(r.Body))
			}
			r.Release()
		}
		r := decoded(t, f, testdata(t, "html-br.bin"), "br")
		if r.DecodeErr != nil || len(r.Body) < 10_000 || !bytes.Contains(r.Body, []byte("</html>")) {
			t.Errorf("br: %v, %d bytes", r.DecodeErr, len(r.Body))
		}
		r.Release()
		r = decoded(t, f, testdata(t, "feed-sample1.xml.gz"), "gzip")
		if sum := sha1.Sum(r.Body); r.DecodeErr != nil || r.Truncated != "" ||
			hex.EncodeToString(sum[:]) != "152da1f7e32753dbb56585cfd80ae6376f8b6a77" {
			t.Errorf("feed: %v, %d bytes", r.DecodeErr, len(r.Body))
		}
		r.Release()
	}
}

func TestDecodeBroken(t *testing.T) {
	t.Parallel()
	f := newFetcher(t, Options{})
	for file, least := range map[string]int{
		"truncated-crc-error.gz":       25_000,
		"truncated-crc-error-short.gz": 3_000,
		"unexpected-eof.gz":            8_000,
	} {
		r := decoded(t, f, testdata(t, file), "gzip")
		if r.DecodeErr == nil || len(r.Body) < least {
			t.Errorf("%s: %d bytes, error %v; want what can be read and an error", file, len(r.Body),
				r.DecodeErr)
		}
	}
	for _, c := range []struct{ raw, coding, want string }{
		{"plain text", "gzip", "plain text"},
		{"plain text", "gzip, x-unknown", "plain text"},
		{"plain text", "none", "plain text"},
	} {
		if r := decoded(t, f, []byte(c.raw), c.coding); string(r.Body) != c.want || r.DecodeErr != nil {
			t.Errorf("%q as %s: %q, %v", c.raw, c.coding, r.Body, r.DecodeErr)
		}
	}
	// what no decoder takes, and is text, is used as it came
	for _, coding := range []string{"br", "zstd", "deflate"} {
		for _, text := range []string{"plain text", "<!DOCTYPE html><p>Grüße",
			repeat("<a href=/x>caf\xe9</a>", 200)} {
			if r := decoded(t, f, []byte(text), coding); string(r.Body) != text ||
				!errors.Is(r.DecodeErr, errNotCoded) || r.Coded() {
				t.Errorf("%.20q as %s: %.20q, %v", text, coding, r.Body, r.DecodeErr)
			}
			if got, _, err := Content([]byte(text), []string{coding}, 1<<20); string(got) != text ||
				err != nil {
				t.Errorf("%.20q stored as %s: %.20q, %v", text, coding, got, err)
			}
		}
		if r := decoded(t, f, []byte("\xff\xffnot so"), coding); r.DecodeErr == nil {
			t.Errorf("garbage as %s: %q", coding, r.Body)
		}
	}
	if r := decoded(t, f, []byte("x"), "gzip, gzip, gzip, gzip, gzip, gzip"); !errors.Is(r.DecodeErr,
		errTooManyCodings) || r.Body != nil {
		t.Errorf("six codings: %v", r.DecodeErr)
	}
}

// TestBombs checks that a small payload never becomes a large one: by size, by ratio, or between
// stacked codings. It counts what is allocated, so no other test runs beside it.
//
//nolint:paralleltest // as above
func TestBombs(t *testing.T) {
	small := newFetcher(t, Options{MaxBody: 2 << 20})
	for _, name := range []string{"br", "deflate", "gzip", "zstd"} {
		raw := testdata(t, "bomb-"+name+".bin")
		r := decoded(t, small, raw, name)
		if r.Truncated == "" || len(r.Body) > 2<<20 {
			t.Errorf("%s: %d bytes, truncated %v", name, len(r.Body), r.Truncated)
		}
		r.Release()
		r = decoded(t, newFetcher(t, Options{MaxBody: 1 << 30}), raw, name)
		if most := max(ratioFreeBytes, 400*len(raw)); r.Truncated == "" && len(r.Body) > most ||
			len(r.Body) > most {
			t.Errorf("%s: %d bytes of %d, truncated %v", name, len(r.Body), len(raw), r.Truncated)
		}
	}
	twice := gzipped(t, gzipped(t, bytes.Repeat([]byte{0}, 64<<20)))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	r := decoded(t, small, twice, "gzip, gzip")
	runtime.ReadMemStats(&after)
	if r.Truncated == "" || len(r.Body) > 2<<20 {
		t.Errorf("stacked: %d bytes, truncated %v", len(r.Body), r.Truncated)
	}
	if spent := after.TotalAlloc - before.TotalAlloc; spent > 64<<20 {
		t.Errorf("a bomb of %d bytes took %d bytes of memory", len(twice), spent)
	}
	// An inner stage without output: empty gzip members without end.
	empty := bytes.Repeat(gzipped(t, nil), 4<<20/20)
	if r := decoded(t, small, gzipped(t, empty), "gzip, gzip"); len(r.Body) != 0 || r.Truncated == "" {
		t.Errorf("empty members: %d bytes, truncated %v", len(r.Body), r.Truncated)
	}
}

func gzipped(t testing.TB, b []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	w.Write(b)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestEncodedAnswer checks the whole path: the received bytes are kept beside the decoded ones.
func TestEncodedAnswer(t *testing.T) {
	t.Parallel()
	raw := testdata(t, "html-gzip.bin")
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		w.Header()["Content-Type"] = nil
		w.Write(raw)
	}))
	defer srv.Close()
	resp := mustDo(t, newFetcher(t, Options{}), ask(t, "http", srv.Listener.Addr().String(), "/"))
	if !bytes.Equal(resp.RawBody, raw) || len(resp.Body) != 74837 || resp.MediaType != "text/html" ||
		resp.ContentType != "text/html" ||
		!strings.Contains(string(resp.ResponseHead), "Content-Encoding: gzip\r\n") {
		t.Errorf("%d raw bytes, %d decoded, type %q", len(resp.RawBody), len(resp.Body), resp.MediaType)
	}
	cut := mustDo(t, newFetcher(t, Options{MaxBody: 4000}),
		ask(t, "http", srv.Listener.Addr().String(), "/"))
	if cut.Truncated == "" || cut.DecodeErr != nil || len(cut.RawBody) != 4000 ||
		len(cut.Body) != 4000 {
		t.Errorf("cut: %d raw bytes, %d decoded, %v", len(cut.RawBody), len(cut.Body), cut.DecodeErr)
	}
}

// TestCoded tells payloads that are compressed from those that only say so.
func TestCoded(t *testing.T) {
	t.Parallel()
	f := newFetcher(t, Options{})
	raw := testdata(t, "html-gzip.bin")
	for _, c := range []struct {
		name    string
		raw     []byte
		codings []string
		want    bool
	}{
		{"gzip", raw, []string{"gzip"}, true},
		{"nothing said", raw, nil, false},
		{"identity", []byte("text"), []string{"identity"}, false},
		{"text that says gzip", []byte("<html>text"), []string{"gzip"}, false},
		{"no payload", nil, []string{"gzip"}, false},
		{"cut by its server", raw[:len(raw)/2], []string{"gzip"}, false},
	} {
		r := decoded(t, f, c.raw, c.codings...)
		if r.Coded() != c.want {
			t.Errorf("%s: %v, %v", c.name, r.Coded(), r.DecodeErr)
		}
		r.Release()
	}
}

// TestDecodersStayInTheirBubble uses every decoder in two bubbles: a channel made in one must not
// be used in the other.
func TestDecodersStayInTheirBubble(t *testing.T) {
	for range 2 {
		synctest.Test(t, func(t *testing.T) {
			f := New(Options{})
			defer f.Close()
			for _, name := range []string{"br", "gzip", "zstd"} {
				decoded(t, f, testdata(t, "bomb-"+name+".bin"), name).Release()
			}
		})
	}
}

func FuzzDecode(f *testing.F) {
	entries, err := os.ReadDir("testdata/compressed")
	if err != nil {
		f.Fatal(err)
	}
	for _, e := range entries {
		b := testdata(f, e.Name())
		for _, coding := range []string{"gzip", "deflate", "br", "zstd", "gzip, deflate"} {
			f.Add(b[:min(len(b), 512)], coding)
		}
	}
	fetch := newFetcher(f, Options{MaxBody: 64 << 10})
	f.Fuzz(func(t *testing.T, raw []byte, codings string) {
		r := decoded(t, fetch, raw, codings)
		if int64(len(r.Body)) > max(64<<10, int64(len(raw))) {
			t.Fatalf("%d bytes of %d", len(r.Body), len(raw))
		}
		r.Release()
	})
}

// TestBytesBehind: bytes behind a whole coded payload that are none of it are ignored, by the
// fetcher and by readers of what it stored, as browsers do.
func TestBytesBehind(t *testing.T) {
	t.Parallel()
	f := newFetcher(t, Options{})
	text := []byte(repeat("all work and no play\n", 300))
	for _, coding := range []string{"gzip", "deflate", "br", "zstd"} {
		packed := coded(coding, text)
		for _, behind := range []string{"", "\n", "abc", "\x00\x00\x00",
			"\x00\x00\x00\x00\x00\x00\x00\x00", "\x1f\x8b", "\x1f\x8bxyz and more bytes",
			repeat("<!-- -->", 100)} {
			if coding == "zstd" && len(behind) < 4 && behind != "" {
				continue // the library takes them for a frame that was cut: all is decoded, with an error
			}
			payload := append(append([]byte(nil), packed...), behind...)
			if r := decoded(t, f, payload, coding); r.DecodeErr != nil || r.Truncated != "" ||
				!bytes.Equal(r.Body, text) || !r.Coded() {
				t.Errorf("%s, %.10q behind: %d bytes, cut %q, %v", coding, behind, len(r.Body), r.Truncated,
					r.DecodeErr)
			}
			if got, cut, err := Content(payload, []string{coding}, 1<<20); err != nil || cut ||
				!bytes.Equal(got, text) {
				t.Errorf("%s stored, %.10q behind: %d bytes, cut %t, %v", coding, behind, len(got), cut, err)
			}
		}
	}
	two := append(coded("gzip", text), coded("gzip", text)...)
	if r := decoded(t, f, two, "gzip"); r.DecodeErr != nil || len(r.Body) != 2*len(text) {
		t.Errorf("two members: %d bytes, %v", len(r.Body), r.DecodeErr)
	}
	if r := decoded(t, f, two[:len(two)-20], "gzip"); r.DecodeErr == nil || len(r.Body) < len(text) {
		t.Errorf("the second member is cut: %d bytes, %v", len(r.Body), r.DecodeErr)
	}
}
