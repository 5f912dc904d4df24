package command

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"crawlnode/cli/command/commandtest"
)

// TestScreen: what a terminal could obey is written, whatever pieces it comes in.
func TestScreen(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"plain text\twith a tab\n":   "plain text\twith a tab\n",
		"\x1b]0;title\x07\x1b[2J":    `\x1b]0;title\x07\x1b[2J`,
		"\u009b31m and \u0085":       `\u009b31m and \u0085`,
		"raw \x9b31m \xc3":           `raw \x9b31m \xc3`,
		"\u202egpj.exe\u2066x\u2069": `\u202egpj.exe\u2066x\u2069`,
		"\u200e\u200f\u061c":         `\u200e\u200f\u061c`,
		"pass\u200bword\ufeff\u2060": `pass\u200bword\ufeff\u2060`,
		"head: a\r\nhead: b\r\n\r\n": "head: a\r\nhead: b\r\n\r\n",
		"hidden\rshown":              `hidden\x0dshown`,
		"at the end\r":               `at the end\x0d`,
		"back\b\b\v\f\x00\x7f":       `back\x08\x08\x0b\x0c\x00\u007f`,
		"\U000E0041tag":              `\U000e0041tag`,
		"日本語 🏳\ufe0f\u200d🌈 می\u200cخواهم na\u0308": "日本語 🏳\ufe0f\u200d🌈 می\u200cخواهم na\u0308",
		"line\u2028line": `line\u2028line`,
		"":               "",
	} {
		for size := 1; size <= len(in)+1; size++ {
			var out bytes.Buffer
			s := &Screen{out: &out}
			for rest := in; rest != ""; {
				n, err := s.Write([]byte(rest[:min(size, len(rest))]))
				if err != nil || n != min(size, len(rest)) {
					t.Fatal(n, err)
				}
				rest = rest[n:]
			}
			Flush(s)
			if out.String() != want {
				t.Fatalf("%q in pieces of %d: %q, want %q", in, size, out.String(), want)
			}
		}
		if got := Shown(&Screen{}, in); got != want {
			t.Errorf("%q: %q", in, got)
		}
		if got := Shown(&bytes.Buffer{}, in); got != in {
			t.Errorf("%q to a file: %q", in, got)
		}
	}
}

// TestOnScreen: terminals get a Screen, all else the bytes as they are.
func TestOnScreen(t *testing.T) {
	t.Parallel()
	terminal, _ := commandtest.OpenTerminal(t, 80)
	s := OnScreen(terminal)
	if _, ok := s.(*Screen); !ok || OnScreen(s) != s || Own(s) != terminal || !IsTerminal(s) ||
		terminalWidth(s) != 80 {
		t.Errorf("a terminal gets %T", s)
	}
	var file bytes.Buffer
	if OnScreen(&file) != &file || Own(&file) != &file {
		t.Error("what is no terminal is changed")
	}
}

func FuzzScreen(f *testing.F) {
	f.Add([]byte("a\x1b[31m\u009b\u202e\r\n\xff"), 3)
	f.Fuzz(func(t *testing.T, in []byte, size int) {
		size = max(1, min(size, len(in)+1))
		var out bytes.Buffer
		s := &Screen{out: &out}
		for rest := in; len(rest) > 0; rest = rest[min(size, len(rest)):] {
			if _, err := s.Write(rest[:min(size, len(rest))]); err != nil {
				t.Fatal(err)
			}
		}
		Flush(s)
		if !utf8.Valid(out.Bytes()) {
			t.Fatalf("%q becomes %q", in, out.Bytes())
		}
		if strings.ContainsFunc(strings.ReplaceAll(out.String(), "\r\n", "\n"), obeyed) {
			t.Fatalf("%q becomes %q", in, out.Bytes())
		}
		// JSON stays what it is.
		line, err := json.Marshal(string(in))
		if err != nil {
			t.Fatal(err)
		}
		var was, is string
		if shown := Shown(s, string(line)); !strings.Contains(shown, `\U`) &&
			(json.Unmarshal(line, &was) != nil || json.Unmarshal([]byte(shown), &is) != nil || was != is) {
			t.Fatalf("%s becomes %s", line, shown)
		}
	})
}
