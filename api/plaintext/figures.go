package plaintext

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/dustin/go-humanize"
	"github.com/dustin/go-humanize/english"
)

// Count writes a number with its thousands apart: 1,234,567.
func Count(n int64) string {
	return humanize.Comma(n)
}

// CountOf writes a number of things: 1 page, 1,234 pages. noun is one of them.
func CountOf(n int64, noun string) string {
	return humanize.Comma(n) + " " + english.PluralWord(int(n), noun, "")
}

// Bytes writes a number of bytes with the unit that suits it: 1.5 GiB.
func Bytes(n int64) string {
	const units = "KMGTPE"
	if n < 1024 {
		return strconv.FormatInt(n, 10) + " B"
	}
	f, i := float64(n)/1024, 0
	for f >= 1024 && i < len(units)-1 {
		f, i = f/1024, i+1
	}
	return strconv.FormatFloat(f, 'f', 1, 64) + " " + units[i:i+1] + "iB"
}

// Escape makes a string safe for a terminal: it replaces characters that a terminal could obey or
// hide, and broken UTF-8, by the escapes of a Go string.
func Escape(s string) string {
	var b strings.Builder
	done := 0 // s[:done] is in b
	for i := 0; i < len(s); {
		r, width := utf8.DecodeRuneInString(s[i:])
		if !unicode.IsPrint(r) || r == utf8.RuneError && width == 1 {
			b.WriteString(s[done:i])
			quoted := strconv.QuoteToASCII(s[i : i+width])
			b.WriteString(quoted[1 : len(quoted)-1])
			done = i + width
		}
		i += width
	}
	if done == 0 {
		return s
	}
	b.WriteString(s[done:])
	return b.String()
}

// MaxEcho bounds what of a caller's text is written back, in bytes.
const MaxEcho = 200

// Cut shortens a caller's text to what an answer repeats of it.
func Cut(s string) string {
	if len(s) <= MaxEcho {
		return s
	}
	return strings.ToValidUTF8(s[:MaxEcho], "") + "..."
}
