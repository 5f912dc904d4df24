package command

import (
	"bytes"
	"fmt"
	"io"
	"sync"
	"unicode/utf8"
)

// Screen is a terminal on which texts from outside are shown: titles, headers, whatever a page, a
// peer or a file sends. What a terminal could obey, and what makes a line read otherwise than it
// is, is written as an escape of a Go string. What goes to a file or another program is no Screen's
// business: it gets the bytes as they are.
//
// Escaped are control characters of ASCII but line ends and tabs, those of U+0080 to U+009F, bytes
// that are no UTF-8, of which 0x9B is a control character to some terminals, marks of direction,
// and characters without width that hide in a word. Joiners stay: scripts are written with them.
//
// It may be used from several goroutines.
type Screen struct {
	out io.Writer

	mu   sync.Mutex // guards rest
	rest []byte     // the beginning of a character, or of a line's end
}

// OnScreen is a Screen on a stream that is a terminal, and any other stream itself.
func OnScreen(w io.Writer) io.Writer {
	if _, ok := w.(*Screen); !ok && IsTerminal(w) {
		return &Screen{out: w}
	}
	return w
}

// Own is what a program writes its own control sequences to.
func Own(w io.Writer) io.Writer {
	if s, ok := w.(*Screen); ok {
		return s.out
	}
	return w
}

// Write shows b. A character that b cuts off is shown with what comes next.
func (s *Screen) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	shown, rest := show(append(s.rest, b...), false)
	s.rest = bytes.Clone(rest)
	if _, err := s.out.Write(shown); err != nil {
		return 0, err
	}
	return len(b), nil
}

// Flush shows what waits for the rest of a character. It does nothing to what is no Screen.
func Flush(w io.Writer) {
	s, ok := w.(*Screen)
	if !ok {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	shown, _ := show(s.rest, true)
	s.rest = nil
	_, _ = s.out.Write(shown) // nobody waits for it
}

// Shown is a text as w shows it.
func Shown(w io.Writer, text string) string {
	if _, ok := w.(*Screen); !ok {
		return text
	}
	shown, _ := show([]byte(text), true)
	return string(shown)
}

// show escapes b. Without whole, rest is what the next bytes decide.
func show(b []byte, whole bool) (shown, rest []byte) {
	for len(b) > 0 {
		r, width := utf8.DecodeRune(b)
		switch {
		case !whole && (!utf8.FullRune(b) || r == '\r' && len(b) == 1):
			return shown, b
		case r == '\r' && len(b) > 1 && b[1] == '\n':
			shown = append(shown, '\r')
		case r == utf8.RuneError && width == 1:
			shown = fmt.Appendf(shown, `\x%02x`, b[0])
		case !obeyed(r):
			shown = append(shown, b[:width]...)
		case r < ' ':
			shown = fmt.Appendf(shown, `\x%02x`, r)
		case r > 0xFFFF:
			shown = fmt.Appendf(shown, `\U%08x`, r)
		default:
			shown = fmt.Appendf(shown, `\u%04x`, r) // as JSON has it too
		}
		b = b[width:]
	}
	return shown, nil
}

// obeyed reports whether a character does something else than to show itself.
func obeyed(r rune) bool {
	switch {
	case r == '\n', r == '\t':
		return false
	case r < ' ', r >= 0x7F && r <= 0x9F: // C0, DEL, C1
		return true
	case r == 0x061C, r == 0x200E, r == 0x200F, r >= 0x202A && r <= 0x202E, r >= 0x2066 && r <= 0x2069:
		// direction
		return true
	case r == 0x2028, r == 0x2029: // lines
		return true
	case r == 0x200B, r >= 0x2060 && r <= 0x2064, r == 0xFEFF, r == 0x180E, r == 0x3164,
		r >= 0xFFF9 && r <= 0xFFFB, r >= 0xE0000 && r <= 0xE007F:
		// no width
		return true
	}
	return false
}
