package recrawl

import (
	"bytes"
	"math"
	"testing"

	"crawlnode/recrawl/policy"
)

func TestSummary(t *testing.T) {
	t.Parallel()
	s := summaryOf(9, 300, 2.5, 1)
	raw := s.Append(nil)
	if len(raw) != SummaryBytes || SummaryBytes > 512 {
		t.Errorf("%d bytes", len(raw))
	}
	if read, err := DecodeSummary(raw); err != nil || read != s {
		t.Errorf("%v, %+v is not %+v", err, read, s)
	}
	for name, change := range map[string]func(b []byte) []byte{
		"nothing":   func([]byte) []byte { return nil },
		"short":     func(b []byte) []byte { return b[:len(b)-1] },
		"long":      func(b []byte) []byte { return append(b, 0) },
		"version":   func(b []byte) []byte { b[0] = 9; return b },
		"curve":     func(b []byte) []byte { b[25] = 9; return b },
		"no number": func(b []byte) []byte { return append(b[:len(b)-8], 0x7f, 0xf8, 0, 0, 0, 0, 0, 1) },
		"no pages": func(b []byte) []byte {
			return append(append(b[:17:17], 0x7f, 0xf0, 0, 0, 0, 0, 0, 0), b[25:]...)
		},
		"huge": func(b []byte) []byte {
			return append(b[:len(b)-24], bytes.Repeat([]byte{0x7f, 0xe0, 0, 0, 0, 0, 0, 0}, 3)...)
		},
		"less than one": func(b []byte) []byte {
			return append(b[:len(b)-24], bytes.Repeat([]byte{0xc0, 0, 0, 0, 0, 0, 0, 0}, 3)...)
		},
	} {
		if _, err := DecodeSummary(change(bytes.Clone(raw))); err == nil {
			t.Errorf("%s: it was taken", name)
		}
	}
}

// TestTake checks that bad words of a member change nothing, that silence is none, and that a
// member cannot speak for another boot than its own.
func TestTake(t *testing.T) {
	t.Parallel()
	b := newBench(t, 1, "adaptive")
	if err := b.Take("x", 3, nil); err != nil || len(b.inbox) != 0 {
		t.Errorf("silence: %v", err)
	}
	if err := b.Take("x", 3, []byte("words")); err == nil || len(b.inbox) != 0 {
		t.Error("words that are none were taken")
	}
	s := summaryOf(1, 10, 1, 1)
	s.Version.Boot = 1 << 60
	for range 3 {
		if err := b.Take("x", 3, s.Append(nil)); err != nil {
			t.Error(err)
		}
	}
	if len(b.inbox) != 1 || b.inbox["x"].Version != (policy.Version{Boot: 3, Count: 1}) {
		t.Errorf("%+v", b.inbox)
	}
	s.Version.Count = 0
	if err := b.Take("x", 3, s.Append(nil)); err != nil || b.inbox["x"].Version.Count != 1 {
		t.Errorf("an older one: %v, %+v", err, b.inbox["x"].Version)
	}
	// Those of nodes that are no members count nothing.
	b.turnAt(0)
	if got := b.Terms(); got.Known {
		t.Errorf("%+v", got)
	}
}

// FuzzSummary checks that whatever a member says is refused, or gives terms that are numbers.
func FuzzSummary(f *testing.F) {
	s := summaryOf(1, 100, 1, 1)
	f.Add(s.Append(nil))
	f.Add([]byte{})
	f.Add(bytes.Repeat([]byte{0xff}, SummaryBytes))
	f.Fuzz(func(t *testing.T, raw []byte) {
		s, err := DecodeSummary(raw)
		if err != nil {
			return
		}
		if again, err := DecodeSummary(s.Append(nil)); err != nil || again != s {
			t.Fatalf("%v: %+v is not %+v", err, again, s)
		}
		var m market
		m.put("a", &s)
		own := summaryOf(1, 10, 1, 2)
		m.put("b", &own)
		terms := m.terms(&own.Curve)
		for _, v := range []float64{terms.Cluster, terms.Price, terms.Usual, terms.Expected,
			terms.Capacity} {
			if math.IsNaN(v) || math.IsInf(v, 0) || v < 0 {
				t.Fatalf("terms %+v of %+v", terms, s)
			}
		}
	})
}
