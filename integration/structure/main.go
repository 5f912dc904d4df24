package main

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
)

// areas are the packages that are counted, each with those below it.
var areas = []string{"node", "frontier", "handoff", "membership", "cli", "peer"}

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "structure: name commits, for example: go run ./integration/structure db5862a HEAD")
		os.Exit(2)
	}
	for _, commit := range os.Args[1:] {
		if err := show(os.Stdout, commit); err != nil {
			fmt.Fprintln(os.Stderr, "structure:", err)
			os.Exit(1)
		}
	}
}

// show prints the tables of one commit.
func show(w io.Writer, commit string) error {
	packages, err := read(commit)
	if err != nil {
		return fmt.Errorf("commit %s: %w", commit, err)
	}
	fmt.Fprintf(w, "## %s\n\n", commit)
	fmt.Fprintln(w, "| area | packages | files | lines | largest package | largest file | functions | p50 / p90 / p99 / max lines | longest function |")
	fmt.Fprintln(w, "|---|---:|---:|---:|---|---|---:|---|---|")
	dirs := slices.Sorted(keys(packages))
	for _, area := range areas {
		var of []*pkg
		for _, dir := range dirs {
			if areaOf(dir) == area {
				of = append(of, packages[dir])
			}
		}
		fmt.Fprintln(w, areaRow(area, of))
	}
	fmt.Fprintln(w, "\n| package | files | lines | exported types | largest struct | its methods | pointers back to it | largest file | longest function |")
	fmt.Fprintln(w, "|---|---:|---:|---:|---|---:|---:|---|---|")
	for _, dir := range dirs {
		fmt.Fprintln(w, packages[dir].row())
	}
	fmt.Fprintln(w)
	return nil
}

// areaOf is the first part of a folder's path.
func areaOf(dir string) string {
	area, _, _ := strings.Cut(dir, "/")
	return area
}

func keys(m map[string]*pkg) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// read takes the packages of the areas out of a commit.
func read(commit string) (map[string]*pkg, error) {
	// Areas that a commit does not have are no error here, and give no rows.
	list, err := exec.Command("git", "ls-tree", "--name-only", commit).Output()
	if err != nil {
		return nil, fmt.Errorf("git ls-tree: %w", err)
	}
	args := []string{"archive", "--format=tar", commit}
	for _, name := range strings.Fields(string(list)) {
		if slices.Contains(areas, name) {
			args = append(args, name)
		}
	}
	raw, err := exec.Command("git", args...).Output()
	if err != nil {
		return nil, fmt.Errorf("git archive: %w", err)
	}
	packages := map[string]*pkg{}
	for r := tar.NewReader(bytes.NewReader(raw)); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		if !strings.HasSuffix(h.Name, ".go") || strings.HasSuffix(h.Name, "_test.go") || strings.Contains(h.Name, "testdata/") {
			continue
		}
		text, err := io.ReadAll(r)
		if err != nil {
			return nil, err
		}
		dir := path.Dir(h.Name)
		if packages[dir] == nil {
			packages[dir] = newPkg(dir)
		}
		if err := packages[dir].add(h.Name, text); err != nil {
			return nil, err
		}
	}
	return packages, nil
}

// areaRow sums up an area.
func areaRow(area string, of []*pkg) string {
	var files, lines int
	var largest *pkg
	var file, longest size
	var all []int
	for _, p := range of {
		files += p.files
		lines += p.lines
		if largest == nil || p.lines > largest.lines {
			largest = p
		}
		file, longest = file.orLarger(p.file), longest.orLarger(p.longest)
		all = append(all, p.functions...)
	}
	if largest == nil {
		return fmt.Sprintf("| %s | 0 | | | | | | | |", area)
	}
	slices.Sort(all)
	return fmt.Sprintf("| %s | %d | %d | %d | %s, %d | %s | %d | %d / %d / %d / %d | %s |", area, len(of), files, lines, largest.dir, largest.lines, file,
		len(all), percentile(all, 50), percentile(all, 90), percentile(all, 99), all[len(all)-1], longest)
}

// percentile is the smallest of sorted that so many percent do not exceed.
func percentile(sorted []int, percent int) int {
	return sorted[max(0, (len(sorted)*percent+99)/100-1)]
}
