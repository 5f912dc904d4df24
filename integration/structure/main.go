package main

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
)

func main() {
	file := flag.String("report", "", "write the tables of two commits into this file")
	commits := flag.String("commits", "", "tell what the commits changed: DAY..COMMIT")
	flag.Parse()
	if err := run(*file, *commits, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "structure:", err)
		os.Exit(1)
	}
}

func run(file, commits string, args []string) error {
	since, until, ok := strings.Cut(commits, "..")
	switch {
	case ok && file == "" && len(args) == 0:
		return changed(os.Stdout, since, until)
	case commits == "" && file != "" && len(args) == 2:
		return report(file, args[0], args[1])
	}
	return fmt.Errorf("give -report FILE BEFORE AFTER, or -commits DAY..COMMIT")
}

// byHand begins the part of a report that people write.
const byHand = "## How to read it"

// report writes a report of two commits, and keeps the part that people have written.
func report(file, before, after string) error {
	old, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	_, hand, ok := strings.Cut(string(old), byHand)
	if !ok {
		return fmt.Errorf("%s has no line %q", file, byHand)
	}
	var counts [2]map[string]sum
	for i, name := range []*string{&before, &after} {
		out, err := exec.Command("git", "rev-parse", "--short=8", *name).Output()
		if err != nil {
			return fmt.Errorf("commit %s: %w", *name, err)
		}
		*name = strings.TrimSpace(string(out))
		packages, err := read(*name)
		if err != nil {
			return fmt.Errorf("commit %s: %w", *name, err)
		}
		counts[i] = sums(packages)
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "# Structure: the packages before and now\n\n"+
		"Made by `go run ./integration/structure -report docs/results/structure.md %s %s`:\n"+
		"Go files without tests. *Before* is %[1]s, *now* is %[2]s.\n\n", before, after)
	table(&b, counts[0], counts[1])
	fmt.Fprintf(&b, "\n%s%s", byHand, hand)
	return os.WriteFile(file, b.Bytes(), 0o644)
}

// table prints a line for each folder, and one for the whole.
func table(w io.Writer, was, is map[string]sum) {
	fmt.Fprintln(w, "| folder | packages | lines | of these generated | lines of the largest package "+
		"| packages with one importer | fields of function type |")
	fmt.Fprintln(w, "|---|---|---|---|---|---|---|")
	folders := maps.Clone(was)
	maps.Copy(folders, is)
	names := slices.Sorted(maps.Keys(folders)) // "" is the first
	for _, name := range append(names[1:], "") {
		x, y := was[name], is[name]
		if name == "" {
			name = "**all**"
		}
		fmt.Fprintf(w, "| %s | %d -> %d | %d -> %d | %d -> %d | %d -> %d | %d -> %d | %d -> %d |\n",
			name, x.packages, y.packages, x.lines, y.lines, x.generated, y.generated, x.largest, y.largest,
			x.oneImporter, y.oneImporter, x.functionFields, y.functionFields)
	}
}

// changed tells how many commits from a day up to a commit stayed in one folder and in one package.
// A file counts where it is in HEAD, as far as its renames lead there. Merges, and commits without
// code, are left out.
func changed(w io.Writer, since, until string) error {
	git := func(args ...string) ([]string, error) {
		out, err := exec.Command("git", args...).Output()
		return strings.Split(string(out), "\n"), err
	}
	renames, err := git("log", "--reverse", "--topo-order", "--no-merges", "--format=", "--name-status",
		"--find-renames=40%", "--diff-filter=R", "--since="+since, "HEAD")
	if err != nil {
		return err
	}
	later := map[string]string{}
	for _, line := range renames {
		if f := strings.Split(line, "\t"); len(f) == 3 && later[f[1]] == "" {
			later[f[1]] = f[2]
		}
	}
	lines, err := git("log", "--no-merges", "--format=tformat:@", "--name-only", "--since="+since,
		until)
	if err != nil {
		return err
	}
	commits, folders, packages := 0, map[string]bool{}, map[string]bool{}
	var inFolders, inPackages []int
	end := func() {
		if len(packages) > 0 {
			commits++
			inFolders, inPackages = append(inFolders, len(folders)), append(inPackages, len(packages))
		}
		clear(folders)
		clear(packages)
	}
	for _, file := range lines {
		if file == "@" {
			end()
		} else if strings.HasSuffix(file, ".go") && !strings.HasSuffix(file, "_test.go") {
			seen := map[string]bool{} // a file that was moved and moved back
			for later[file] != "" && !seen[file] {
				seen[file], file = true, later[file]
			}
			folders[top(file)], packages[path.Dir(file)] = true, true
		}
	}
	end()
	if commits == 0 {
		return fmt.Errorf("no commit with code since %s", since)
	}
	tell := func(name string, counts []int) {
		slices.Sort(counts)
		alone, _ := slices.BinarySearch(counts, 2)
		fmt.Fprintf(w, "%d commits with code: %d changed one %s, the median %d\n",
			commits, alone, name, counts[len(counts)/2])
	}
	tell("folder", inFolders)
	tell("package", inPackages)
	return nil
}
