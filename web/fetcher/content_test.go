package fetcher

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
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
			t.Errorf("%s: %d bytes, cut %t, %v; want %d, %t, %v", c.what, len(got), cut, err, len(c.want), c.cut, c.err)
		}
	}
}
