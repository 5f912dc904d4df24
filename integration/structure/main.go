package main

import (
	"archive/tar"
	"bytes"
	"errors"
	"flag"
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
	file := flag.String("report", "", "write the report of two commits into this file instead")
	flag.Parse()
	if flag.NArg() == 0 || *file != "" && flag.NArg() != 2 {
		fmt.Fprintln(os.Stderr,
			"structure: name commits, for example: go run ./integration/structure db5862a HEAD")
		os.Exit(2)
	}
	if err := run(*file, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "structure:", err)
		os.Exit(1)
	}
}

func run(file string, commits []string) error {
	if file != "" {
		return report(file, commits[0], commits[1])
	}
	for _, commit := range commits {
		packages, err := read(commit)
		if err != nil {
			return fmt.Errorf("commit %s: %w", commit, err)
		}
		fmt.Printf("## %s\n\n", commit)
		show(os.Stdout, packages)
	}
	return nil
}

// show prints the tables of one commit.
func show(w io.Writer, packages map[string]*pkg) {
	fmt.Fprintln(w, "| area | packages | files | lines | largest package | largest file | functions "+
		"| p50 / p90 / p99 / max lines | longest function |")
	fmt.Fprintln(w, "|---|---:|---:|---:|---|---|---:|---|---|")
	for _, area := range areas {
		s := sumOf(packages, area)
		if s.packages == 0 {
			fmt.Fprintf(w, "| %s | 0 | | | | | | | |\n", area)
			continue
		}
		fmt.Fprintf(w, "| %s | %d | %d | %d | %s | %s | %d | %s | %s |\n", area, s.packages, s.files,
			s.lines, s.largest, s.file, len(s.functions), s.percentiles(), s.longest)
	}
	fmt.Fprintln(w, "\n| package | files | lines | exported types | largest struct | its methods | "+
		"pointers back to it | largest file | longest function |")
	fmt.Fprintln(w, "|---|---:|---:|---:|---|---:|---:|---|---|")
	for _, dir := range slices.Sorted(keys(packages)) {
		fmt.Fprintln(w, packages[dir].row())
	}
	fmt.Fprintln(w)
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
		if !strings.HasSuffix(h.Name, ".go") || strings.HasSuffix(h.Name, "_test.go") ||
			strings.Contains(h.Name, "testdata/") {
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

// percentile is the smallest of sorted that so many percent do not exceed.
func percentile(sorted []int, percent int) int {
	return sorted[max(0, (len(sorted)*percent+99)/100-1)]
}
