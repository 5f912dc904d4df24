package cli

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

// columnsOf splits a row of a table; nil for other lines and for its head.
func columnsOf(line string) []string {
	if !strings.HasPrefix(line, "| ") {
		return nil
	}
	return strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | ")
}

// TestComingFrom: every option and command that docs/coming-from.md offers to people who come
// from another crawler exists, and each row says what to use or why nothing.
func TestComingFrom(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../docs/coming-from.md")
	if err != nil {
		t.Fatal(err)
	}
	parser := testParser(t)
	code := regexp.MustCompile("`([^`]+)`")
	options, commands := 0, 0
	for line := range strings.Lines(string(text)) {
		columns := columnsOf(line)
		if len(columns) == 0 || strings.HasSuffix(line, "| crawlnode | remarks |\n") {
			continue
		}
		if len(columns) != 3 || strings.TrimSpace(columns[1]+columns[2]) == "" {
			t.Errorf("no row of three columns with an answer: %s", line)
			continue
		}
		for _, span := range code.FindAllStringSubmatch(columns[1], -1) {
			if strings.HasPrefix(span[1], "crawlnode ") {
				commands++
				checkExample(t, parser, span[1])
				continue
			}
			options++
			checkOption(t, parser.Model.DefaultCmd, span[1])
		}
	}
	if options < 50 || commands < 15 {
		t.Errorf("%d options and %d commands were read", options, commands)
	}
}

// checkOption wants a flag of start, without a value if it takes none; of a flag that takes one of
// some words, the word must be one of them.
func checkOption(t *testing.T, start *kong.Node, option string) {
	t.Helper()
	name, value, valued := strings.Cut(option, " ")
	at := slices.IndexFunc(start.Flags,
		func(f *kong.Flag) bool { return "--"+f.Name == name && !f.Hidden })
	if at < 0 {
		t.Errorf("%s is no flag of start", option)
		return
	}
	flag := start.Flags[at]
	if flag.IsBool() && valued {
		t.Errorf("%s: it takes no value", option)
	}
	if words := strings.Split(flag.Tag.PlaceHolder, "|"); flag.Tag.PlaceHolder ==
		strings.ToLower(flag.Tag.PlaceHolder) && valued && !slices.Contains(words, value) {
		t.Errorf("%s: the value is one of %q", option, words)
	}
}
