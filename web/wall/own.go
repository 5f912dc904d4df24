package wall

import (
	"bytes"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"
)

// This file reads a user's own rows of the table: walls of a product that has none here, or that
// has changed since. docs/operations.md describes the file.

const (
	// MaxMarksFile is the size in bytes of the largest file with marks.
	MaxMarksFile = 256 << 10
	// maxOwn bounds the walls of a file, and maxRowMarks the marks of each.
	maxOwn      = 64
	maxRowMarks = 32
	// maxMark is the length of the longest mark in bytes.
	maxMark = 200
)

// A section of the file is a wall and the marks of one row.
type section struct {
	row
	line  int // of its beginning
	marks int
}

// ParseMarks reads a file of marks, and returns a table with its rows behind those of the package.
// The error names the line.
func ParseMarks(text []byte) (*Table, error) {
	if len(text) > MaxMarksFile {
		return nil, fmt.Errorf("it is longer than %d bytes", MaxMarksFile)
	}
	if !utf8.Valid(text) {
		return nil, fmt.Errorf("line %d: it is not UTF-8", badLine(text))
	}
	var sections []section
	for i, line := range strings.Split(string(text), "\n") {
		line = strings.TrimSuffix(line, "\r")
		if s := strings.TrimSpace(line); s == "" || s[0] == '#' {
			continue
		}
		word, rest, _ := strings.Cut(strings.TrimLeft(line, " \t"), " ")
		var err error
		switch {
		case word == "wall" && len(sections) == maxOwn:
			err = fmt.Errorf("there are more than %d walls", maxOwn)
		case word == "wall":
			s := section{line: i + 1}
			s.product, err = productOf(strings.TrimSpace(rest))
			sections = append(sections, s)
		case len(sections) == 0:
			err = fmt.Errorf("%q comes before the first wall: begin with a line such as: wall other", word)
		default:
			err = sections[len(sections)-1].add(word, rest)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", i+1, err)
		}
	}
	if len(sections) == 0 {
		return nil, fmt.Errorf("it has no wall: begin with a line such as: wall other")
	}
	rows := append([]row{}, table[:]...)
	for i := range sections {
		if err := sections[i].decides(); err != nil {
			return nil, fmt.Errorf("line %d: %w", sections[i].line, err)
		}
		rows = append(rows, sections[i].row)
	}
	return newTable(rows), nil
}

// badLine is the first line that is not UTF-8.
func badLine(text []byte) int {
	for i, line := range bytes.Split(text, []byte("\n")) {
		if !utf8.Valid(line) {
			return i + 1
		}
	}
	return 1
}

func productOf(name string) (Product, error) {
	if p := Named(name); p != None {
		return p, nil
	}
	return None, fmt.Errorf("wall %q: give other, or one of %s",
		name, strings.Join(names[Other+1:], ", "))
}

// add takes up a line of the section.
func (s *section) add(word, rest string) error {
	if s.marks++; s.marks > maxRowMarks {
		return fmt.Errorf("this wall has more than %d marks", maxRowMarks)
	}
	switch word {
	case "header", "hint":
		f, err := parseField(rest)
		if err != nil {
			return fmt.Errorf("%s: %w", word, err)
		}
		if word == "header" {
			s.outright = append(s.outright, f)
		} else {
			s.hints = append(s.hints, f)
		}
	case "title", "code", "says":
		m, err := parseMark(rest)
		if err != nil {
			return fmt.Errorf("%s: %w", word, err)
		}
		switch word {
		case "title":
			m.text = strings.ToLower(strings.Join(strings.Fields(m.text), " "))
			s.titles = append(s.titles, m)
		case "code":
			s.code = append(s.code, m)
		default:
			s.says = append(s.says, m)
		}
	default:
		return fmt.Errorf("%q is no mark: write wall, header, hint, title, code or says", word)
	}
	return nil
}

// parseField reads "Name: value". A value of * is any: nobody means that who only forgot it.
func parseField(text string) (field, error) {
	name, value, ok := strings.Cut(text, ":")
	name, value = strings.TrimSpace(name), strings.TrimSpace(value)
	switch {
	case !ok || name == "" || strings.ContainsAny(name, " \t"):
		return field{}, fmt.Errorf("%q is no header field: write Name: beginning of the value", text)
	case value == "":
		return field{}, fmt.Errorf("%q has no value: write how it begins, or * for any", text)
	case len(text) > maxMark:
		return field{}, fmt.Errorf("it is longer than %d bytes", maxMark)
	case value == "*":
		value = ""
	}
	return field{http.CanonicalHeaderKey(name), value}, nil
}

// parseMark reads a weight and a text.
func parseMark(text string) (mark, error) {
	number, rest, _ := strings.Cut(strings.TrimLeft(text, " \t"), " ")
	weight, err := strconv.Atoi(number)
	rest = strings.TrimSpace(rest)
	switch {
	case err != nil || weight < 1 || weight > decides:
		return mark{}, fmt.Errorf("%q is no weight: write a number from 1 to %d, then the text", number,
			decides)
	case len(rest) < anchor:
		return mark{}, fmt.Errorf("%q is too short for a mark: give at least %d bytes", rest, anchor)
	case len(rest) > maxMark:
		return mark{}, fmt.Errorf("the text is longer than %d bytes", maxMark)
	}
	return mark{rest, weight}, nil
}

// decides reports marks that together never make an answer a wall.
func (s *section) decides() error {
	title, most := 0, 1 // an error status
	for _, m := range s.titles {
		title = max(title, m.weight)
	}
	for _, m := range append(s.code[:len(s.code):len(s.code)], s.says...) {
		most += m.weight
	}
	inPage := most > 1 || title >= leastTitle
	if most += title; len(s.hints) > 0 {
		most++
	}
	if len(s.outright) == 0 && (!inPage || most < decides) {
		return fmt.Errorf("the marks of this wall never decide: all of them and an error status weigh "+
			"%d, and %d are needed, with code, says or a title of %d among them; or give a header",
			most, decides, leastTitle)
	}
	return nil
}
