package maintext

import (
	"strings"
	"testing"
)

// TestBreaks checks that places where a word may be broken do not divide it.
func TestBreaks(t *testing.T) {
	t.Parallel()
	for page, want := range map[string]string{
		"Donau&shy;dampfer":        "Donau\u00addampfer",
		"Donau<wbr>dampfer":        "Donaudampfer",
		"Donau<wbr/>dampfer":       "Donaudampfer",
		"Do<b>nau</b><wbr>dampfer": "Donaudampfer",
		"Donau&#x200d;dampfer":     "Donau\u200ddampfer",
		"Donau&ZeroWidthSpace;x":   "Donau\u200bx",
		"Donau<br>dampfer":         "Donau dampfer",
	} {
		d := Extract([]byte("<title>t</title><p>"+page+
			" is a long sentence of a page, with a point at its end."), "text/html", "")
		if got := strings.Join(strings.Fields(d.Text), " "); !strings.HasPrefix(got, want+" ") {
			t.Errorf("%s: %q", page, got)
		}
	}
}
