package fetcher

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"
)

func TestContent(t *testing.T) {
	t.Parallel()
	text := []byte(strings.Repeat("all work and no play\n", 1000))
	packed := func(b []byte) []byte {
		var out bytes.Buffer
		w := gzip.NewWriter(&out)
		if _, err := w.Write(b); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return out.Bytes()
	}
	for _, c := range []struct {
		what    string
		payload []byte
		codings []string
		limit   int64
		want    []byte
		cut     bool
		err     error
	}{
		{what: "plain", payload: text, limit: 1 << 20, want: text},
		{what: "gzip", payload: packed(text), codings: []string{"gzip"}, limit: 1 << 20, want: text},
		{what: "twice", payload: packed(packed(text)), codings: []string{"gzip, gzip"}, limit: 1 << 20, want: text},
		{what: "not as it says", payload: text, codings: []string{"gzip"}, limit: 1 << 20, want: text},
		{what: "unknown", payload: text, codings: []string{"utf-8"}, limit: 1 << 20, want: text},
		{what: "longer than the limit", payload: packed(text), codings: []string{"gzip"}, limit: 100, want: text[:100], cut: true},
		{what: "broken off", payload: packed(text)[:40], codings: []string{"gzip"}, limit: 1 << 20, err: io.ErrUnexpectedEOF},
		{what: "too many", payload: text, codings: []string{"br, br, br, br, br, br"}, limit: 1 << 20, err: errTooManyCodings},
	} {
		got, cut, err := Content(c.payload, c.codings, c.limit)
		if !errors.Is(err, c.err) || c.err == nil && (!bytes.Equal(got, c.want) || cut != c.cut) {
			t.Errorf("%s: %d bytes, cut %t, %v; want %d, %t, %v", c.what, len(got), cut, err, len(c.want),
				c.cut, c.err)
		}
	}
}

// TestContentUnpacksNoMore gives Content payloads that unpack to a gigabyte, one of each coding and
// stacks of them: what is allocated depends on the limit, not on what they would become.
func TestContentUnpacksNoMore(t *testing.T) { //nolint:paralleltest // counts what is allocated
	zeros := make([]byte, 32<<20)
	bombs := map[string][]byte{
		"gzip, gzip": gzipped(t, gzipped(t, zeros)), "gzip": gzipped(t, zeros),
		"gzip, gzip, gzip": gzipped(t, gzipped(t, gzipped(t, zeros))),
	}
	for _, coding := range []string{"br", "deflate", "zstd"} {
		bombs[coding] = testdata(t, "bomb-"+coding+".bin")
	}
	for codings, bomb := range bombs {
		for _, limit := range []int64{0, 1, 1000, 256 << 10, 4 << 20} {
			if _, _, err := Content(bomb, []string{codings}, 1); err != nil { // fills the pools
				t.Fatalf("%s: %v", codings, err)
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			content, cut, err := Content(bomb, []string{codings}, limit)
			runtime.ReadMemStats(&after)
			if most := min(limit, unpackedMost(len(bomb), defaultRatio)); err != nil || !cut ||
				int64(len(content)) > most {
				t.Errorf("%s of %d bytes, limit %d: %d bytes, cut %t, %v", codings, len(bomb), limit,
					len(content), cut, err)
			}
			if used := int64(after.TotalAlloc - before.TotalAlloc); used > 2*limit+(20<<20) {
				t.Errorf("%s of %d bytes, limit %d: %d bytes were allocated", codings, len(bomb), limit, used)
			}
		}
	}
}

// TestContentExactly has payloads of the limit's length: they are whole.
func TestContentExactly(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 511, 512, 513, 100_000, 1<<20 - 1, 1 << 20, 1<<20 + 1, 3 << 20} {
		text := bytes.Repeat([]byte("0123456789abcdef"), n/16+1)[:n]
		for _, codings := range [][]string{nil, {"gzip"}, {"gzip", "gzip"}, {"x-unknown"}} {
			payload := text
			for _, c := range codings {
				if c == "gzip" {
					payload = gzipped(t, payload)
				}
			}
			got, cut, err := Content(payload, codings, int64(n))
			if !bytes.Equal(got, text) && n <= 400*len(payload) || cut && n > 0 && n <= 1<<20 || err != nil {
				t.Errorf("%d bytes as %v: %d, cut %t, %v", n, codings, len(got), cut, err)
			}
			if n == 0 {
				continue
			}
			if got, cut, err = Content(payload, codings, int64(n-1)); !cut || err != nil ||
				!bytes.HasPrefix(text, got) {
				t.Errorf("%d bytes as %v, one less: %d, cut %t, %v", n, codings, len(got), cut, err)
			}
		}
	}
}
