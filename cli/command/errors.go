package command

import (
	"fmt"

	"crawlnode/api/plaintext"
)

// MostErrors is how many errors of a list are printed: a wrong file may have millions of lines.
const MostErrors = 10

// Errors prints a list of errors of which nobody knows how long it becomes: the first MostErrors,
// and at the end how many more there were.
type Errors struct {
	env *Env
	n   int64
}

// Errors begins a list.
func (e *Env) Errors() *Errors { return &Errors{env: e} }

// Add takes an error. line, its text, is called only for those that are printed.
func (l *Errors) Add(line func() string) {
	if l.n++; l.n <= MostErrors {
		l.env.Fail(0, "%s", line())
	}
}

// Count is how many errors were added.
func (l *Errors) Count() int64 { return l.n }

// End prints how many errors were left out, if any were.
func (l *Errors) End() {
	if l.n > MostErrors {
		fmt.Fprintln(l.env.Stderr, andMore(l.n-MostErrors))
	}
}

// andMore is the line that stands for so many others.
func andMore(n int64) string { return "crawlnode: … and " + plaintext.Count(n) + " more" }
