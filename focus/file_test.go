//race:none

package focus

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"math"
	"reflect"
	"strings"
	"testing"
)

func TestEncode(t *testing.T) {
	m := drawn(5)
	b := m.Encode()
	if len(b) > MaxSize {
		t.Errorf("%d bytes", len(b))
	}
	back, err := Decode(b)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(m, back) {
		t.Errorf("%+v became %+v", m.info, back.info)
	}
}

// The largest model is no larger than MaxSize.
func TestEncodeLargest(t *testing.T) {
	w := make([]float64, features)
	for f := range w {
		w[f] = 1 + float64(f%7)
	}
	m := quantised(w)
	if m.info.Weights != MaxWeights {
		t.Fatalf("%d weights", m.info.Weights)
	}
	for range MaxWords {
		m.info.For = append(m.info.For, strings.Repeat("w", MaxWord))
	}
	m.info.Against = m.info.For
	if b := m.Encode(); len(b) > MaxSize {
		t.Errorf("%d bytes, at most %d are promised", len(b), MaxSize)
	}
}

// signed puts a valid checksum behind a body.
func signed(body []byte) []byte {
	return binary.LittleEndian.AppendUint32(bytes.Clone(body), crc32.Checksum(body, castagnoli))
}

func TestDecodeRefuses(t *testing.T) {
	good := drawn(5).Encode()
	body := good[:len(good)-4]
	patched := func(at int, with ...byte) []byte {
		b := bytes.Clone(body)
		copy(b[at:], with)
		return signed(b)
	}
	nan := binary.LittleEndian.AppendUint64(nil, math.Float64bits(math.NaN()))
	for name, c := range map[string]struct {
		b    []byte
		want string
	}{
		"empty":            {nil, "is not a model"},
		"HTML":             {[]byte("<html>no model</html>"), "is not a model"},
		"another version":  {patched(8, 2), "train it again"},
		"other places":     {patched(9, 17), "train it again"},
		"a bit":            {append(bytes.Clone(good[:100]), good[101:]...), "checksum"},
		"cut off":          {good[:len(good)/2], "checksum"},
		"no scale":         {signed(body[:12]), "scale"},
		"a scale of NaN":   {patched(10, nan...), "scale"},
		"more behind":      {signed(append(bytes.Clone(body), 0)), "behind its end"},
		"too long":         {append(bytes.Clone(good), make([]byte, MaxSize)...), "at most"},
		"cut and signed":   {signed(body[:len(body)-1]), "weight"},
		"nothing but head": {good[:10], "is damaged"},
	} {
		_, err := Decode(c.b)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	if _, err := Decode([]byte("x")); !errors.Is(err, ErrNotModel) {
		t.Error(err)
	}
}

// What is read is safe to use, and is written as it was.
func FuzzDecode(f *testing.F) {
	small := drawn(1)
	small.weights = make([]int8, features)
	small.weights[0], small.weights[7], small.weights[features-1], small.info.Weights = 1, -128, 5, 3
	for _, b := range [][]byte{small.Encode(), nil, []byte(magic)} {
		f.Add(b[:max(len(b)-4, 0)])
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		b := signed(body)
		m, err := Decode(b)
		if err != nil {
			return
		}
		for _, s := range []float64{m.Score("a title", body), m.LinkScore("anchor", "http://x.test/y"),
			m.Follow(0.3, "a", "b")} {
			if !(s >= 0 && s <= 1) {
				t.Errorf("a score of %v", s)
			}
		}
		if back := m.Encode(); !bytes.Equal(back, b) {
			t.Errorf("%d bytes are written as %d others", len(b), len(back))
		}
	})
}
