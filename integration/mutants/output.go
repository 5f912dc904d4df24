package main

import (
	"strings"
	"time"
)

// firstFailure names what failed in the output of a test run.
func firstFailure(out string) string {
	name := ""
	for line := range strings.Lines(out) {
		line = strings.TrimSpace(line)
		if rest, ok := strings.CutPrefix(line, "--- FAIL: "); ok &&
			(name == "" || strings.HasPrefix(rest, name+"/")) {
			name, _, _ = strings.Cut(rest, " ")
		}
		if name != "" {
			continue
		}
		if strings.HasPrefix(line, "panic: test timed out") {
			return timedOut(out)
		}
		if strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ") {
			return line
		}
	}
	if name == "" {
		return "it failed without naming a test"
	}
	return name
}

// timedOut names the test that did not end.
func timedOut(out string) string {
	_, rest, _ := strings.Cut(out, "running tests:")
	name, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
	return name + " (timed out)"
}

// verdict is the line in which a simulation says what is wrong, without its place.
func verdict(out string) string {
	for line := range strings.Lines(out) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "panic: ") ||
			strings.HasPrefix(line, "I") && len(line) > 2 && line[1] >= '1' && line[1] <= '9' {
			return line
		}
		if i := strings.Index(line, ": I"); i > 0 && len(line) > i+3 && line[i+3] >= '1' &&
			line[i+3] <= '9' {
			return line[i+2:]
		}
	}
	return firstFailure(out)
}

// testsOf reads the output of a run with -v: which tests passed in less than quickTest, and
// which failed.
func testsOf(out string) (quick, failed []string) {
	for line := range strings.Lines(out) {
		rest, ok := strings.CutPrefix(line, "--- ") // no space before it: not a part of a test
		how, rest, named := strings.Cut(strings.TrimSpace(rest), ": ")
		if !ok || !named {
			continue
		}
		name, took, _ := strings.Cut(rest, " ")
		switch d, err := time.ParseDuration(strings.Trim(took, "()")); {
		case how == "FAIL":
			failed = append(failed, name)
		case how == "PASS" && err == nil && d < quickTest:
			quick = append(quick, name)
		}
	}
	return quick, failed
}
