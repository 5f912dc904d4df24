package command

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"crawlnode/cli/command/commandtest"
)

func TestProgress(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	p := NewProgress(&b) // no terminal
	p.Draw("1 page")
	fmt.Fprintln(p, "a line")
	p.End()
	if got := b.String(); got != "a line\n" {
		t.Errorf("wrote %q where no terminal is", got)
	}
	b.Reset()
	p = &Progress{out: &b, live: true, width: func() int { return 12 }}
	p.Draw("100 pages")
	p.Draw("1 page")
	fmt.Fprintln(p, "a warning")
	p.Draw("%s", strings.Repeat("é", 40))
	p.End()
	want := "\r100 pages\r1 page   \r      \ra warning\n1 page\r" + strings.Repeat("é", 11) + "\n"
	if got := b.String(); got != want {
		t.Errorf("drew %q, want %q", got, want)
	}
}

func TestProgressOnATerminal(t *testing.T) {
	t.Parallel()
	terminal, written := commandtest.OpenTerminal(t, 20)
	p := NewProgress(terminal)
	if !IsTerminal(p) {
		t.Error("the line on a terminal is no terminal")
	}
	p.Draw("%s", strings.Repeat("x", 50))
	p.End()
	if got := written(); got != "\r"+strings.Repeat("x", 19)+"\r\n" {
		t.Errorf("drew %q", got)
	}
}
