package query

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Limits of a query.
const (
	MaxBytes    = 2048 // of text
	MaxClauses  = 32   // words, phrases and beginnings
	MaxFilters  = 16
	MaxPhrase   = 256 // words of a phrase
	MaxRun      = 16  // pairs of characters, without quotes, that count as one phrase
	MaxPrefixes = 4
)

// Kind is the kind of a Clause.
type Kind int

// The kinds of clauses: one word, several words in a row, the beginning of a word.
const (
	Word Kind = iota
	Phrase
	Prefix
)

// Clause is a condition on the text of a document.
type Clause struct {
	Kind  Kind
	Words []string // folded; one but for a Phrase
	Title bool     // must be in the title
	Not   bool
	// Exact: the phrase was quoted, and is looked for as it is written, in the title and the text
	// of a page. It may have a single word. Forms are its words as analyse.Scanner.Form has them.
	Exact bool
	Forms []string
	// From and To are the bytes of the query's text that a Word stands in.
	From, To int
}

// Filter is a condition on a document other than on its text.
type Filter struct {
	Name  string // host, site, lang or filetype
	Value string // lower-case
	Not   bool
}

// Query is a text as it was read.
type Query struct {
	Text    string // at most MaxBytes
	Clauses []Clause
	Filters []Filter
	Before  time.Time // zero: no bound
	After   time.Time
	Cut     bool // a limit has cut something
}

// Empty reports whether there is nothing to look for.
func (q *Query) Empty() bool {
	return len(q.Clauses) == 0 && len(q.Filters) == 0 && q.Before.IsZero() && q.After.IsZero()
}

// Exact reports whether something is quoted that a page must have.
func (q *Query) Exact() bool {
	return slices.ContainsFunc(q.Clauses, func(c Clause) bool { return c.Exact && !c.Not })
}

// Words are the words, each once, that the wanted clauses of a kind have.
func (q *Query) Words(kind Kind) []string {
	var out []string
	seen := map[string]bool{}
	for _, c := range q.Clauses {
		if c.Kind != kind || c.Not {
			continue
		}
		for _, w := range c.Words {
			if !seen[w] {
				seen[w] = true
				out = append(out, w)
			}
		}
	}
	return out
}

// String says how the text was read.
func (q *Query) String() string {
	if q.Empty() {
		return "nothing to look for"
	}
	var with, without []string
	for _, c := range q.Clauses {
		if c.Not {
			without = append(without, c.String())
		} else {
			with = append(with, c.String())
		}
	}
	for _, f := range q.Filters {
		if f.Not {
			without = append(without, f.String())
		} else {
			with = append(with, f.String())
		}
	}
	if !q.After.IsZero() {
		with = append(with, "fetched at "+day(q.After)+" or later")
	}
	if !q.Before.IsZero() {
		with = append(with, "fetched before "+day(q.Before))
	}
	out := strings.Join(with, " and ")
	if len(without) > 0 {
		if out == "" {
			out = "everything"
		}
		out += ", without " + strings.Join(without, " or ")
	}
	if q.Cut {
		out += " (the rest of the query was left out: it is too long)"
	}
	return out
}

func day(t time.Time) string { return t.Format("2006-01-02") }

// String says what the clause asks for.
func (c Clause) String() string {
	s := strings.Join(c.Words, " ")
	if c.Exact {
		s = written(c.Forms)
	}
	switch c.Kind {
	case Phrase:
		s = `"` + s + `"`
	case Prefix:
		s += "*"
	}
	if c.Title {
		s += " in the title"
	}
	return s
}

// written joins forms to a text: a pair of characters that goes on from the one before adds what it
// does not share with it.
func written(forms []string) string {
	var out strings.Builder
	for i, f := range forms {
		pair, goesOn := strings.CutPrefix(f, "'")
		switch {
		case goesOn:
			_, first := utf8.DecodeRuneInString(pair)
			pair = pair[first:]
		case i > 0:
			out.WriteByte(' ')
		}
		out.WriteString(pair)
	}
	return out.String()
}

// String says what the filter asks for.
func (f Filter) String() string {
	switch f.Name {
	case "host":
		return "on host " + f.Value
	case "site":
		return "on site " + f.Value
	case "lang":
		return "in language " + f.Value
	case "filetype":
		return "of file type " + f.Value
	}
	panic(fmt.Sprintf("BUG: a filter named %q", f.Name))
}
