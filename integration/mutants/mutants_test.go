//race:none

package main

import (
	"go/parser"
	"go/token"
	"path"
	"slices"
	"strings"
	"testing"
)

// wanted is how many mutants the project promises to run.
const wanted = 50

// TestMutants checks that each mutant still applies to today's code and can be parsed.
func TestMutants(t *testing.T) {
	all, err := parseList(listText)
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < wanted {
		t.Errorf("%d mutants, at least %d are wanted", len(all), wanted)
	}
	var names []string
	for i := range all {
		m := &all[i]
		names = append(names, m.name)
		if m.about == "" {
			t.Errorf("mutant %s does not say what is wrong with it", m.name)
		}
		text, err := m.apply("../..")
		if err != nil {
			t.Error(err)
			continue
		}
		if own := path.Dir(m.file); !slices.Contains(deciders, own) {
			t.Errorf("mutant %s: the tests of %s judge no mutant: add it to deciders", m.name, own)
		}
		if _, err := parser.ParseFile(token.NewFileSet(), m.file, text, 0); err != nil {
			t.Errorf("mutant %s: %v", m.name, err)
		}
	}
	slices.Sort(names)
	if unique := slices.Compact(slices.Clone(names)); len(unique) != len(names) {
		t.Errorf("two mutants have one name: %v", names)
	}
}

func TestParseList(t *testing.T) {
	const text = "# a list\n== one a/b.go\nIt adds\nwrongly.\n-\tx := 1 + 1\n+\tx := 1 - 1\n\n" +
		"== two c.go\nIt says too much.\n-a\n-b\n"
	all, err := parseList(text)
	if err != nil || len(all) != 2 {
		t.Fatalf("%d mutants, %v", len(all), err)
	}
	one := all[0]
	if one.name != "one" || one.file != "a/b.go" || one.about != "It adds wrongly." ||
		!slices.Equal(one.old, []string{"x := 1 + 1"}) || !slices.Equal(one.new, []string{"x := 1 - 1"}) {
		t.Errorf("read %+v", one)
	}
	if two := all[1]; len(two.old) != 2 || len(two.new) != 0 {
		t.Errorf("read %+v", two)
	}
	for _, bad := range []string{"== one\n", "-x\n"} {
		if _, err := parseList(bad); err == nil {
			t.Errorf("%q was read without an error", bad)
		}
	}
}

// TestFirstFailure names what caught a mutant from a test's output.
func TestFirstFailure(t *testing.T) {
	for _, tc := range []struct{ out, want string }{
		{"=== RUN TestA\n--- FAIL: TestA (0.01s)\n    --- FAIL: TestA/part (0.00s)\n", "TestA/part"},
		{"panic: BUG: x\n\ngoroutine 7\n", "panic: BUG: x"},
		{"FAIL\tcrawlnode/ring\t0.1s\n", "it failed without naming a test"},
		{"panic: test timed out after 5m0s\n\trunning tests:\n\t\tTestB (5m0s)\n", "TestB (timed out)"},
	} {
		if got := firstFailure(tc.out); got != tc.want {
			t.Errorf("%q: %q, want %q", strings.Fields(tc.out), got, tc.want)
		}
	}
}

// TestTestsOf reads from the output of a run which tests are quick, and which failed.
func TestTestsOf(t *testing.T) {
	const out = "=== RUN   TestA\n--- PASS: TestA (0.01s)\n    --- PASS: TestA/part (0.00s)\n" +
		"--- PASS: TestB (1.20s)\n" +
		"--- SKIP: TestC (0.00s)\n--- PASS: TestD (0.99s)\n--- FAIL: TestE (0.50s)\n" +
		"    --- FAIL: TestE/part (0.00s)\nFAIL\n"
	quick, failed := testsOf(out)
	if !slices.Equal(quick, []string{"TestA", "TestD"}) || !slices.Equal(failed, []string{"TestE"}) {
		t.Errorf("quick %v, failed %v", quick, failed)
	}
}
