package pdf

import (
	"slices"
	"strings"
	"unicode"
)

// line is one line of a page's text, in the order in which PDFium reads them.
type line struct {
	start, end int     // characters of the page, without the line's end
	x, y       float64 // where its first character stands, in points; y grows upwards
	size       float64 // height of its first character's font box; 0 for a place that is unknown
}

// isHyphenMark tells the characters by which PDFium marks a hyphen at a line's end that divides a
// word. They are no characters of text.
func isHyphenMark(r rune) bool { return r == 0x02 || r == 0xFFFE }

// lines splits a page's text at its line ends. Empty lines are kept: they part paragraphs.
func lines(text []rune) (found []line) {
	start := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\r', '\n':
			found = append(found, line{start: start, end: i})
			if text[i] == '\r' && i+1 < len(text) && text[i+1] == '\n' {
				i++
			}
			start = i + 1
		}
	}
	if start < len(text) {
		found = append(found, line{start: start, end: len(text)})
	}
	return found
}

// firstVisible is the first character of a line that is drawn, or -1.
func firstVisible(text []rune, l line) int {
	for i := l.start; i < l.end; i++ {
		if !unicode.IsSpace(text[i]) && text[i] != 0 && !isHyphenMark(text[i]) {
			return i
		}
	}
	return -1
}

// pitch is the usual distance of two lines, or 0 when there are too few to tell.
func pitch(ls []line) float64 {
	var steps []float64
	for i := 1; i < len(ls); i++ {
		a, b := ls[i-1], ls[i]
		if step := a.y - b.y; a.size > 0 && b.size > 0 && step > 0.5*b.size && step < 4*b.size {
			steps = append(steps, step)
		}
	}
	if len(steps) < 3 {
		return 0
	}
	slices.Sort(steps)
	return steps[len(steps)/3] // below the median: pages of short paragraphs have many gaps
}

// paragraphs joins lines to paragraphs. A new one begins where the distance or the size changes,
// where the text goes on higher up, at an indented line, and at an item of a list; never within a
// word that a hyphen divides. The result says of each line whether it begins one.
func paragraphs(text []rune, ls []line) []bool {
	usual := pitch(ls)
	first := make([]bool, len(ls))
	for i := range ls {
		first[i] = i == 0 || begins(text, ls[i-1], ls[i], usual)
	}
	return first
}

func begins(text []rune, before, l line, usual float64) bool {
	if before.end > before.start && isHyphenMark(text[before.end-1]) {
		return false
	}
	at := firstVisible(text, l)
	if at < 0 || firstVisible(text, before) < 0 {
		return true
	}
	if before.size == 0 || l.size == 0 {
		return false
	}
	step := before.y - l.y
	switch {
	case step > -0.3*l.size && step < 0.3*l.size: // one line that PDFium has parted
		return false
	case isBullet(text[at]):
		return true
	case step < 0: // a new column; a sentence may go on there
		return !unicode.IsLower(text[at])
	}
	if usual == 0 {
		usual = 1.2 * l.size
	}
	if step > 1.35*max(usual, 0.9*l.size) {
		return true
	}
	// A line may begin in another font, of another size, and be one of its paragraph nevertheless.
	resized := l.size > 1.2*before.size || before.size > 1.2*l.size
	if resized && (step > 1.1*usual || step < 0.85*usual) {
		return true
	}
	indent := l.x - before.x
	return indent > 0.9*l.size && indent < 8*l.size && !isBullet(text[firstVisible(text, before)])
}

func isBullet(r rune) bool {
	return strings.ContainsRune("•‣◦⁃∙●○▪■□◾➢✓\uf0b7\uf0a7", r)
}

// outlined is an entry of a document's outline: its title as letters and digits, and its level as a
// heading.
type outlined struct {
	title string
	level int
	used  bool
}

// outline has the entries that lead to one page, by their titles with and without a number.
type outline map[string][]*outlined

func (o outline) add(e *outlined) {
	o[e.title] = append(o[e.title], e)
	if bare := withoutNumber(e.title); bare != e.title && bare != "" {
		o[bare] = append(o[bare], e)
	}
}

// take finds the entry that a line is the title of, and uses it up. A line may have a number before
// the title that the outline leaves out, and the other way round.
func (o outline) take(title string) *outlined {
	for _, t := range []string{title, withoutNumber(title)} {
		if t == "" {
			continue
		}
		for es := o[t]; len(es) > 0; es = o[t] {
			e := es[0]
			o[t] = es[1:]
			if !e.used {
				e.used = true
				return e
			}
		}
	}
	return nil
}

// maxTitleLines is the number of lines that the title of a heading may take, and maxTitle the
// number of characters of a line.
const (
	maxTitleLines = 3
	maxTitle      = 1000
)

// heading is a heading that begins at a line.
type heading struct{ lines, level int }

// headings finds the lines that are titles of the outline. Each entry is used once.
func headings(text []rune, ls []line, o outline) map[int]heading {
	if len(o) == 0 {
		return nil
	}
	found := map[int]heading{}
	for i := 0; i < len(ls); i++ {
		title := ""
		for n := 1; n <= maxTitleLines && i+n <= len(ls); n++ {
			l := ls[i+n-1]
			if l.end-l.start > maxTitle {
				break
			}
			if title += letters(string(text[l.start:l.end])); title == "" {
				break
			}
			if e := o.take(title); e != nil {
				found[i] = heading{lines: n, level: e.level}
				i += n - 1
				break
			}
		}
	}
	return found
}

// letters is what two ways to write a title have in common: letters and digits, in lower case.
func letters(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, s)
}

func withoutNumber(title string) string {
	return strings.TrimLeftFunc(strings.TrimPrefix(title, "chapter"), unicode.IsDigit)
}

// link is a link of a page: the characters that it is on, and where it leads.
type link struct {
	start, end int
	address    string
}

// ordered sorts links by their place, and leaves out those that overlap one before: HTML has no
// link in a link.
func ordered(links []link) (kept []link) {
	slices.SortStableFunc(links, func(a, b link) int { return a.start - b.start })
	for _, l := range links {
		if l.end > l.start && (len(kept) == 0 || l.start >= kept[len(kept)-1].end) {
			kept = append(kept, l)
		}
	}
	return kept
}

// tidy is the text of characters as it is written: line ends are spaces, runs of spaces one, a
// divided word is joined. It begins with a space only if space says that one may stand there.
func tidy(text []rune, space bool) (string, bool) {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		r := text[i]
		switch {
		case isHyphenMark(r):
			for i+1 < len(text) && (text[i+1] == '\r' || text[i+1] == '\n') {
				i++
			}
		case r == 0 || r == 0xAD: // no character; a soft hyphen that is not at a line's end
		case unicode.IsSpace(r):
			if space {
				b.WriteByte(' ')
			}
			space = false
		default:
			b.WriteRune(r)
			space = true
		}
	}
	return b.String(), space
}
