package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// What of a report is written by hand: from the first of these lines up to the second.
const byHand, tables = "How to read it:", "## Before: "

// report writes a report of two commits, and keeps what was written into it by hand.
func report(file, before, after string) error {
	old, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	_, hand, ok := strings.Cut(string(old), byHand)
	hand, _, ends := strings.Cut(hand, tables)
	if !ok || !ends {
		return fmt.Errorf("%s has no text between %q and %q", file, byHand, tables)
	}
	for _, name := range []*string{&before, &after} {
		out, err := exec.Command("git", "rev-parse", "--short", *name).Output()
		if err != nil {
			return fmt.Errorf("commit %s: %w", *name, err)
		}
		*name = strings.TrimSpace(string(out))
	}
	was, err := read(before)
	if err != nil {
		return fmt.Errorf("commit %s: %w", before, err)
	}
	is, err := read(after)
	if err != nil {
		return fmt.Errorf("commit %s: %w", after, err)
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, `# Structure: the packages before and after they were divided

Made by %[1]sgo run ./integration/structure -report docs/results/structure.md %[2]s %[3]s%[1]s: Go files without tests and without generated code. *Before* is %[2]s, *after* is %[3]s.
%[1]ssizes_test.go%[1]s holds the limits: 3,000 lines a package, 500 a file, 80 a function; it has no exceptions. %[1]sroot_test.go%[1]s holds the import table: no
cycle (Go refuses one), no upward import.

| area | lines | packages | lines of the largest package | largest struct of the root, its methods | pointers back to it | largest file | functions, lines p50 / p90 / p99 / max |
|---|---|---|---|---|---|---|---|
`, "`", before, after)
	var largestPackage, largestFile, function size
	for _, area := range areas {
		x, y := sumOf(was, area), sumOf(is, area)
		fmt.Fprintf(&b,
			"| %s | %d -> %d | %d -> %d | %d -> %d (%s) | %s -> %s | %d -> %d | %s -> %s | %s -> %s |\n",
			area, x.lines, y.lines, x.packages, y.packages,
			x.largest.lines, y.largest.lines, y.largest.name, x.root, y.root, x.back, y.back, x.file, y.file,
			x.percentiles(), y.percentiles())
		largestPackage, largestFile, function = largestPackage.orLarger(y.largest),
			largestFile.orLarger(y.file), function.orLarger(y.longest)
	}
	fmt.Fprintf(&b,
		"\nAfter: the largest package has %d lines, the largest file %d, the longest function %d.\n\n",
		largestPackage.lines, largestFile.lines, function.lines)
	b.WriteString(byHand + hand)
	for _, c := range []struct {
		title, commit string
		packages      map[string]*pkg
	}{{tables, before, was}, {"## After: ", after, is}} {
		fmt.Fprintf(&b, "%s%s\n\n", c.title, c.commit)
		show(&b, c.packages)
	}
	return os.WriteFile(file, append(bytes.TrimRight(b.Bytes(), "\n"), '\n'), 0o644)
}

// sum is what is said of an area.
type sum struct {
	packages, files, lines, back int
	largest, file, longest       size
	root                         string // its struct with most methods, and their number
	functions                    []int  // lines of each, sorted
}

// sumOf sums up the packages of an area.
func sumOf(packages map[string]*pkg, area string) (s sum) {
	for _, dir := range slices.Sorted(keys(packages)) {
		p := packages[dir]
		if areaOf(dir) != area {
			continue
		}
		s.packages++
		s.files += p.files
		s.lines += p.lines
		s.largest, s.file, s.longest = s.largest.orLarger(size{dir, p.lines}), s.file.orLarger(p.file),
			s.longest.orLarger(p.longest)
		s.functions = append(s.functions, p.functions...)
		if dir == area {
			name, methods := p.largest()
			s.root, s.back = fmt.Sprint(name, " ", methods), p.fields[name]
		}
	}
	slices.Sort(s.functions)
	return s
}

func (s *sum) percentiles() string {
	if len(s.functions) == 0 {
		return "-"
	}
	return fmt.Sprintf("%d / %d / %d / %d", percentile(s.functions, 50), percentile(s.functions, 90),
		percentile(s.functions, 99), s.functions[len(s.functions)-1])
}
