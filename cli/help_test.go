package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"crawlnode/cli/command"
	"crawlnode/cli/help"
	"crawlnode/config"
)

// testParser is the parser of a command line without a terminal.
func testParser(t *testing.T) *kong.Kong {
	t.Helper()
	return newParser(&Env{Stdout: &bytes.Buffer{}, Stderr: &bytes.Buffer{}}, func(int) {})
}

// everyNode lists the whole, the verbs with verbs below them, and the verbs.
func everyNode(n *kong.Node) []*kong.Node {
	all := []*kong.Node{n}
	for _, child := range n.Children {
		all = append(all, everyNode(child)...)
	}
	return all
}

// TestHelp checks that each help opens with two examples that parse, and that each
// flag stands in a group.
func TestHelp(t *testing.T) {
	t.Parallel()
	parser := testParser(t)
	for _, n := range everyNode(parser.Model.Node) {
		args := strings.Fields(n.Path())
		r := run(t, "", append(args, "--help")...)
		r.want(t, command.ExitOK, "Usage: crawlnode", "")
		if !strings.HasPrefix(r.out, "Examples:\n\n    ") {
			t.Errorf("%q does not open with its examples:\n%s", n.Path(), r.out)
		}
		lines, _ := help.SplitDetail(n.Detail)
		if len(lines) < 2 {
			t.Errorf("%q has %d examples, want two", n.Path(), len(lines))
		}
		for _, line := range lines {
			checkExample(t, parser, line)
			if !strings.Contains(r.out, "    "+line+"\n") {
				t.Errorf("%q does not show %q:\n%s", n.Path(), line, r.out)
			}
		}
		for _, f := range n.Flags {
			if !f.Hidden && !n.Hidden && f.Group == nil && f.Name != "help" {
				t.Errorf("--%s of %q stands in no group", f.Name, n.Path())
			}
		}
	}
}

// checkExample parses the part of a line of the shell that is this program's.
func checkExample(t *testing.T, parser *kong.Kong, line string) {
	t.Helper()
	for part := range strings.SplitSeq(strings.NewReplacer("source <(", "", ")", "").Replace(line),
		"|") {
		words := strings.Fields(strings.ReplaceAll(part, "'", ""))
		if len(words) == 0 || words[0] != "crawlnode" {
			continue
		}
		for i, w := range words {
			if w == "<" || w == "&&" || strings.HasPrefix(w, ">") {
				words = words[:i]
				break
			}
		}
		if _, err := parser.Parse(words[1:]); err != nil {
			t.Errorf("the example %q does not parse: %v", line, err)
		}
	}
}

// TestHelpOfTheWhole lists the verbs that are not hidden.
func TestHelpOfTheWhole(t *testing.T) {
	t.Parallel()
	r := run(t, "", "--help")
	for _, verb := range []string{"start", "crawl", "demo", "status", "seeds add", "nodes list",
		"nodes drain", "nodes forget", "nodes rotate-key", "urls why", "hosts show",
		"pause", "resume", "scope test", "keygen", "doctor", "config print", "completion", "simweb",
		"man", "version"} {
		r.want(t, command.ExitOK, "  "+verb+" ", "")
	}
	for _, hidden := range []string{"  bench", "  reference"} {
		if strings.Contains(r.out, hidden) {
			t.Errorf("help lists %s", hidden)
		}
	}
	if run(t, "", "help").out != r.out ||
		run(t, "", "help", "seeds", "add").out != run(t, "", "seeds", "add", "--help").out {
		t.Error("help shows something else than --help")
	}
	r = run(t, "", "start", "--help")
	last := 0
	for _, group := range []string{"Node:", "Cluster:", "Scope", "Politeness", "Output:", "Limits:"} {
		at := strings.Index(r.out, "\n"+group)
		if at < last {
			t.Errorf("help of start lacks %q, or has it out of order:\n%s", group, r.out)
		}
		last = at
	}
	r.want(t, command.ExitOK, "127.0.0.1:27295)", "")
}

// TestReferences holds that docs/cli.md and docs/configuration.md are what the
// code makes.
func TestReferences(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	run(t, "", "reference", dir).want(t, command.ExitOK, "", "")
	for _, name := range []string{"cli.md", "configuration.md"} {
		want, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		have, err := os.ReadFile(filepath.Join("..", "docs", name))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(have, want) {
			t.Errorf("docs/%s is not what the code says: run make generate", name)
		}
	}
	text, err := os.ReadFile(filepath.Join(dir, "configuration.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range config.Names() {
		if !bytes.Contains(text, []byte("| `--"+name+"` | `"+config.EnvName(name)+"` |")) {
			t.Errorf("configuration.md lacks --%s", name)
		}
	}
}
