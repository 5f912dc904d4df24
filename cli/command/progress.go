package command

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// Progress is one line on a terminal that is drawn again and again. Elsewhere
// it draws nothing. It is a writer too: what else goes to the terminal is written
// above the line. It may be used from several goroutines.
type Progress struct {
	out   io.Writer // what Write writes to
	width func() int

	mu   sync.Mutex // guards the rest
	live bool       // it is a terminal
	line string     // that stands there
}

// NewProgress draws on w if that is a terminal.
func NewProgress(w io.Writer) *Progress {
	return &Progress{out: w, live: IsTerminal(w), width: func() int { return terminalWidth(w) }}
}

// Draw replaces the line, cut to the terminal's width: a line that wraps could
// not be drawn over.
func (p *Progress) Draw(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.live {
		return
	}
	text := Shown(p.out, fmt.Sprintf(format, args...))
	if runes, width := []rune(text), p.width(); width > 1 && len(runes) >= width {
		text = string(runes[:width-1])
	}
	fmt.Fprintf(Own(p.out), "\r%s%s", text, strings.Repeat(" ", max(len(p.line)-len(text), 0)))
	p.line = text
}

// Write writes whole lines above the line.
func (p *Progress) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.line == "" {
		return p.out.Write(b)
	}
	above := fmt.Sprintf("\r%s\r%s", strings.Repeat(" ", len(p.line)), Shown(p.out, string(b)))
	if bytes.HasSuffix(b, []byte("\n")) {
		above += p.line
	} else {
		p.line = ""
	}
	if _, err := io.WriteString(Own(p.out), above); err != nil {
		return 0, err
	}
	return len(b), nil
}

// End leaves the line standing and begins the next.
func (p *Progress) End() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.line != "" {
		fmt.Fprintln(p.out)
		p.line = ""
	}
}

// IsTerminal says whether a stream, to read or to write, is a terminal.
func IsTerminal(stream any) bool {
	switch s := stream.(type) {
	case *Progress:
		return s.live
	case *Screen:
		return true
	case *os.File:
		info, err := s.Stat()
		return err == nil && info.Mode()&os.ModeCharDevice != 0 && s.Name() != os.DevNull
	}
	return false
}

// terminalWidth is the number of columns, 0 where it is unknown.
func terminalWidth(w io.Writer) int {
	f, ok := Own(w).(*os.File)
	if !ok {
		return 0
	}
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0
	}
	return int(size.Col)
}
