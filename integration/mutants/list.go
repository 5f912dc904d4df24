package main

import (
	"bufio"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

//go:embed mutants.txt
var listText string

// mutant is one deliberate mistake.
type mutant struct {
	name  string
	file  string // below the root of the module, with slashes
	about string // what is wrong with it
	old   []string
	new   []string
}

// parseList reads a list of mutants:
//
//	== name file
//	what is wrong, in one or more lines
//	-a line to be replaced
//	+a line that replaces it
//
// A line that begins with # is a comment. White space at both ends of a line does not count.
func parseList(text string) ([]mutant, error) {
	var all []mutant
	lines := bufio.NewScanner(strings.NewReader(text))
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		if head, ok := strings.CutPrefix(line, "== "); ok {
			name, file, ok := strings.Cut(head, " ")
			if !ok {
				return nil, fmt.Errorf("line %d: a mutant needs a name and a file", n)
			}
			all = append(all, mutant{name: name, file: strings.TrimSpace(file)})
			continue
		}
		if len(all) == 0 {
			return nil, fmt.Errorf("line %d stands before the first mutant", n)
		}
		m := &all[len(all)-1]
		switch line[0] {
		case '-':
			m.old = append(m.old, strings.TrimSpace(line[1:]))
		case '+':
			m.new = append(m.new, strings.TrimSpace(line[1:]))
		default:
			m.about = strings.TrimSpace(m.about + " " + line)
		}
	}
	return all, lines.Err()
}

// apply returns the text of the mutant's file with the mistake in it.
func (m *mutant) apply(root string) (string, error) {
	b, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(m.file)))
	if err != nil {
		return "", err
	}
	lines := strings.Split(string(b), "\n")
	at := -1
	for i := range lines {
		if !m.standsAt(lines[i:]) {
			continue
		}
		if at >= 0 {
			return "", fmt.Errorf(
				"mutant %s: its lines stand in %s twice, at lines %d and %d; add a line that tells them apart",
				m.name, m.file, at+1, i+1)
		}
		at = i
	}
	if at < 0 || len(m.old) == 0 {
		return "", fmt.Errorf("mutant %s: its lines are not in %s; write the hunk anew for today's code",
			m.name, m.file)
	}
	out := append(append(append([]string{}, lines[:at]...), m.new...), lines[at+len(m.old):]...)
	return strings.Join(out, "\n"), nil
}

// standsAt reports whether lines begin with those that the mutant replaces.
func (m *mutant) standsAt(lines []string) bool {
	if len(m.old) > len(lines) || len(m.old) == 0 {
		return false
	}
	for i, old := range m.old {
		if strings.TrimSpace(lines[i]) != old {
			return false
		}
	}
	return true
}
