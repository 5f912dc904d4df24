package simhash

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

func TestMaskNumbers(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"", ""}, {"no numbers", "no numbers"}, {"page 1 of 12", "page 0 of 0"}, {"at 12:30:59 on 2026-11-24.", "at 0 on 0."},
		{"1,234.50 EUR", "0 EUR"}, {"1. 2, 3", "0. 0, 0"}, {"a1b22", "a0b0"}, {"9", "0"}, {"7:", "0:"},
	} {
		if got := string(MaskNumbers(nil, []byte(c.in))); got != c.want {
			t.Errorf("%q becomes %q, want %q", c.in, got, c.want)
		}
	}
}

// TestBoilerplate: a page whose date, clock, visitor counter and prices differ has the same
// fingerprint; one with a paragraph more has another.
func TestBoilerplate(t *testing.T) {
	var body strings.Builder
	for i := range 60 {
		fmt.Fprintf(&body, "word%c%c costs %d.%02d ", 'a'+i%26, 'a'+i/26, i*7, i)
	}
	page := func(clock string, visitors int, more string) uint64 {
		text := fmt.Sprintf("Printed on %s. You are visitor number %d. %s%s", clock, visitors,
			body.String(), more)
		p, ok := Fingerprint(MaskNumbers(nil, []byte(text)))
		if !ok {
			t.Fatal("the page has no fingerprint")
		}
		return p
	}
	first := page("2026-11-24 03:20:01", 999, "")
	if d := Distance(first, page("2026-12-01 17:05:44", 12345678, "")); d != 0 {
		t.Errorf("date and counter change %d bits", d)
	}
	if d := Distance(first, page("2026-11-24 03:20:01", 999,
		strings.Repeat("a new paragraph about something else entirely ", 6))); d <= MaxDistance {
		t.Errorf("a new paragraph changes %d bits only", d)
	}
}

func BenchmarkMaskNumbers(b *testing.B) {
	text := bytes.Repeat([]byte("some words and 12 numbers of 2026-11-24, then more words "), 100)
	b.SetBytes(int64(len(text)))
	var buf []byte
	for b.Loop() {
		buf = MaskNumbers(buf[:0], text)
	}
}

// FuzzMaskNumbers compares eight bytes at a time with one.
func FuzzMaskNumbers(f *testing.F) {
	for _, s := range []string{"", "no numbers at all here", "1,234.5 at 12:30:59",
		"a1b22\xb2\xb9\xff0", "12345678 1234567", "......./:;"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var want []byte
		for i := 0; i < len(text); {
			if c := text[i]; !digit(c) {
				want = append(want, c)
				i++
				continue
			}
			for i < len(text) &&
				(digit(text[i]) || i+1 < len(text) && separator(text[i]) && digit(text[i+1])) {
				i++
			}
			want = append(want, '0')
		}
		if got := MaskNumbers(nil, text); !bytes.Equal(got, want) {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	})
}
