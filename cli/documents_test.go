package cli

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

// eachDocument calls f with the documents that people read, without results, which tell what was
// true on their day, and without cli.md, which is made of the help texts that TestHelp reads.
func eachDocument(t *testing.T, f func(path, text string)) {
	t.Helper()
	read := func(path string) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		f(strings.TrimPrefix(path, "../"), string(text))
	}
	for _, path := range []string{"../README.md", "../CONTRIBUTING.md", "../SECURITY.md"} {
		read(path)
	}
	err := filepath.WalkDir("../docs", func(path string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() && d.Name() == "results" {
			return fs.SkipDir
		}
		if err == nil && filepath.Ext(path) == ".md" && d.Name() != "cli.md" {
			read(path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

var (
	docSpan    = regexp.MustCompile("`([^`\n]+)`")
	docComment = regexp.MustCompile(`\s+# .*$`)
	docFlag    = regexp.MustCompile(`^--[a-z][a-z0-9-]*`)
	docEnv     = regexp.MustCompile(`\bCRAWLNODE_[A-Z0-9_]+\b`)
)

// codeOf lists what a document sets as code: the spans of its text and the lines of its blocks.
func codeOf(text string) (spans, lines []string) {
	inside := false
	for line := range strings.Lines(text) {
		trimmed := strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(trimmed, "```"):
			inside = !inside
		case inside:
			command := docComment.ReplaceAllString(strings.TrimPrefix(trimmed, "$ "), "")
			lines = append(lines, command)
		default:
			for _, m := range docSpan.FindAllStringSubmatch(line, -1) {
				spans = append(spans, m[1])
			}
		}
	}
	return spans, lines
}

// flagNames are the flags of all verbs, with the other forms of those that can be negated.
func flagNames(parser *kong.Kong) map[string]bool {
	names := map[string]bool{}
	for _, n := range everyNode(parser.Model.Node) {
		for _, f := range n.Flags {
			names["--"+f.Name] = true
			if f.Tag.Negatable != "" {
				names["--no-"+f.Name] = true
			}
		}
	}
	return names
}

// verbOf finds the verb of a command line, and whether each of its words is one, so that "crawlnode
// nodes" and "crawlnode rotate" differ.
func verbOf(model *kong.Node, words []string) (verb *kong.Node, rest []string) {
	verb = model
	for i, w := range words {
		next := (*kong.Node)(nil)
		for _, child := range verb.Children {
			if child.Name == w {
				next = child
			}
		}
		if next == nil {
			return verb, words[i:]
		}
		verb = next
	}
	return verb, nil
}

// checkNamed wants a verb and flags that exist. A command of a sentence may be short of its
// arguments: it names, and is not typed.
func checkNamed(parser *kong.Kong, words []string) error {
	verb, rest := verbOf(parser.Model.Node, words)
	if len(rest) > 0 && len(verb.Positional) == 0 && !strings.HasPrefix(rest[0], "-") &&
		rest[0] != strings.ToUpper(rest[0]) { // in capitals: any
		return fmt.Errorf("%q is no verb of %q", rest[0], verb.Path())
	}
	known := map[string]bool{"--help": true, "-h": true}
	flags := verb.Flags
	if verb == parser.Model.Node {
		flags = append(flags, parser.Model.DefaultCmd.Flags...)
	}
	for n := verb; n != nil; n = n.Parent {
		flags = append(flags, n.Flags...)
	}
	for _, f := range flags {
		known["--"+f.Name] = true
		if f.Tag.Negatable != "" {
			known["--no-"+f.Name] = true
		}
	}
	for _, w := range rest {
		if name := docFlag.FindString(w); name != "" && !known[name] {
			return fmt.Errorf("%q has no flag %s", verb.Path(), name)
		}
	}
	return nil
}

// TestDocumentedCommands: each command of this program in a block of a document parses, and each
// that a sentence names has a verb and flags that exist.
func TestDocumentedCommands(t *testing.T) {
	t.Parallel()
	parser := testParser(t)
	typed, named := 0, 0
	eachDocument(t, func(path, text string) {
		spans, lines := codeOf(text)
		for _, line := range lines {
			line = strings.TrimSpace(strings.TrimSuffix(line, "\\"))
			if strings.HasPrefix(line, "crawlnode ") && !strings.HasPrefix(line, "crawlnode devel") {
				typed++
				line = strings.TrimSuffix(line, " ...") // and what else a node needs
				t.Run(path, func(t *testing.T) { checkExample(t, testParser(t), line) })
			}
		}
		for _, span := range spans {
			words := strings.Fields(span)
			if len(words) < 2 || words[0] != "crawlnode" {
				continue
			}
			named++
			if err := checkNamed(parser, words[1:]); err != nil {
				t.Errorf("%s: `%s`: %v", path, span, err)
			}
		}
	})
	if typed < 60 || named < 60 {
		t.Errorf("%d commands of blocks and %d of sentences were read", typed, named)
	}
}

// foreignFlags are flags of other programs that documents name without the program.
var foreignFlags = map[string]string{
	"--dump-dom":       "Chromium's, in rendering.md",
	"--single-process": "Chromium's, in decision 0240",
	"--upload-ca":      "refused, in decision 0256",
}

// foreignVariables are variables of tests.
var foreignVariables = map[string]string{
	"CRAWLNODE_TEST_SEED": "decision 0331",
}

// TestDocumentedFlags: each flag and each variable that a document names exists.
func TestDocumentedFlags(t *testing.T) {
	t.Parallel()
	parser := testParser(t)
	names := flagNames(parser)
	read := 0
	eachDocument(t, func(path, text string) {
		spans, _ := codeOf(text)
		if path == "docs/coming-from.md" { // half of it are flags of others: TestComingFrom
			spans = nil
		}
		for _, span := range spans {
			for word := range strings.FieldsSeq(span) {
				name := docFlag.FindString(word)
				if name == "" || !strings.HasPrefix(span, "--") {
					continue
				}
				read++
				if names[name] || foreignFlags[name] != "" {
					continue
				}
				// --render-* and --index... stand for several.
				if rest := span[len(name):]; strings.HasSuffix(name, "-") || strings.HasPrefix(rest, "*") {
					continue
				}
				t.Errorf("%s: `%s`: no verb has a flag %s", path, span, name)
			}
		}
		for _, variable := range docEnv.FindAllString(text, -1) {
			flag := "--" + strings.ReplaceAll(strings.ToLower(
				strings.TrimPrefix(variable, "CRAWLNODE_")), "_", "-")
			if !names[flag] && foreignVariables[variable] == "" {
				t.Errorf("%s: there is no %s, so no %s", path, flag, variable)
			}
		}
	})
	if read < 300 {
		t.Errorf("%d flags were read", read)
	}
}
