package cli

import (
	"fmt"
	"io"
	"strings"
)

// progress is one line on a terminal that is drawn again and again. Elsewhere
// it draws nothing.
type progress struct {
	w     io.Writer
	drawn int // bytes of the line that stands there
}

func newProgress(w io.Writer) *progress {
	if !isTerminal(w) {
		w = nil
	}
	return &progress{w: w}
}

// draw replaces the line.
func (p *progress) draw(format string, args ...any) {
	if p.w == nil {
		return
	}
	text := fmt.Sprintf(format, args...)
	fmt.Fprintf(p.w, "\r%s%s", text, strings.Repeat(" ", max(p.drawn-len(text), 0)))
	p.drawn = len(text)
}

// end leaves the line standing and begins the next.
func (p *progress) end() {
	if p.w != nil && p.drawn > 0 {
		fmt.Fprintln(p.w)
		p.drawn = 0
	}
}
