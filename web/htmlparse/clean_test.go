package htmlparse

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// Text that needs no change is told apart from what does, and each becomes what the slow way makes
// of it.
func TestClean(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"": "", "a": "a", "two words": "two words", " a": "a", "a ": "a", "a  b": "a b", "a\tb": "a b",
		"a\u00a0b": "a b",
		"a\xffb":   "a\uFFFDb", "é à": "é à", " ": "", "123456789012": "1234567890",
		"123456789é": "123456789", "a\x7fb": "a\x7fb",
	} {
		if got := clean([]byte(text), 10); got != want {
			t.Errorf("%q became %q, not %q", text, got, want)
		}
	}
}

func FuzzClean(f *testing.F) {
	for _, s := range []string{"", "a b", " a", "a  b", "é", "\xff", "a\x00b"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		want := strings.ToValidUTF8(strings.Join(strings.Fields(s), " "), "\uFFFD")
		if got := clean([]byte(s), 4*len(s)+4); got != want || !utf8.ValidString(got) {
			t.Errorf("%q became %q, not %q", s, got, want)
		}
	})
}
