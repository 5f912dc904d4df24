package integration

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// This file binds what a document says to what shows that it holds. Each sentence of a document
// that is listed in claimed stands word by word in testdata/claims, with one line or more below it:
//
//	> check NAME                 a function of checks, when the reader of TestDocuments is there
//	> check NAME after COMMAND   the same, after the next command that begins so
//	> test DIR.TestNAME ...      tests that fail when the sentence is not true
//	> none REASON                nothing can be false: a definition, advice, a label
//
// A sentence that is new or has changed fails TestClaimsAreBound until somebody has thought about
// it.

// claimed are the documents whose sentences are bound.
var claimed = []string{"README.md", "docs/tutorial.md", "docs/getting-started.md"}

// item is a part of a document: a sentence, or a command.
type item struct {
	where    string // file:line
	sentence string
	command  *command
}

// proof is one line below a sentence.
type proof struct {
	check, after string   // a function of checks, and the command that it waits for
	tests        []string // as integration.TestDocuments
	none         string
}

// readDocument splits a document into sentences and the commands of console blocks, in their order.
// A row of a table is one sentence, as is the comment behind a command. Headings and pictures are
// none.
func readDocument(t *testing.T, path string) (items []item) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Base(path)
	var words []string
	began := 0
	flush := func() {
		for _, s := range sentences(strings.Join(words, " ")) {
			items = append(items, item{where: fmt.Sprintf("%s:%d", name, began), sentence: s})
		}
		words = nil
	}
	lines := strings.Split(string(text), "\n")
	fence := ""
	for i, line := range lines {
		where := fmt.Sprintf("%s:%d", name, i+1)
		trimmed := strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "```"):
			flush()
			if fence == "" {
				fence = line
			} else {
				fence = ""
			}
		case fence == "```console" && strings.HasPrefix(line, "$ "):
			text, says := splitComment(line[2:])
			items = append(items, item{where: where, command: &command{where: where, text: text}})
			if says != "" {
				items = append(items, item{where: where, sentence: says})
			}
		case fence == "```console":
			for j := len(items) - 1; j >= 0; j-- {
				if c := items[j].command; c != nil {
					c.out = append(c.out, line)
					break
				}
			}
		case fence != "":
		case trimmed == "", strings.HasPrefix(line, "#"), strings.HasPrefix(line, "!["):
			flush()
		case strings.HasPrefix(line, "|"):
			flush()
			if head := i+1 < len(lines) && strings.HasPrefix(lines[i+1], "|--"); head ||
				strings.HasPrefix(line, "|--") {
				continue
			}
			row := strings.Join(strings.Fields(strings.Trim(trimmed, "|")), " ")
			items = append(items, item{where: where, sentence: row})
		default:
			if entry, ok := strings.CutPrefix(trimmed, "- "); ok {
				flush()
				trimmed = entry
			}
			if len(words) == 0 {
				began = i + 1
			}
			words = append(words, strings.Fields(trimmed)...)
		}
	}
	flush()
	return items
}

var trailingComment = regexp.MustCompile(`\s+# (.*)$`)

// splitComment separates a command from what is said behind it.
func splitComment(line string) (text, says string) {
	if m := trailingComment.FindStringSubmatch(line); m != nil {
		return strings.TrimSuffix(line, m[0]), m[1]
	}
	return line, ""
}

// sentences splits a paragraph behind each full stop that a new beginning follows.
func sentences(paragraph string) (out []string) {
	start := 0
	runes := []rune(paragraph)
	for i, r := range runes {
		if !strings.ContainsRune(".!?", r) {
			continue
		}
		end := i + 1
		for end < len(runes) && strings.ContainsRune(`*")`, runes[end]) {
			end++
		}
		if end+1 < len(runes) && runes[end] == ' ' &&
			(unicode.IsUpper(runes[end+1]) || strings.ContainsRune("`[*(\"", runes[end+1])) {
			out = append(out, string(runes[start:end]))
			start = end + 1
		}
	}
	if start < len(runes) {
		out = append(out, string(runes[start:]))
	}
	return out
}

func TestSentences(t *testing.T) {
	for text, want := range map[string][]string{
		"":                        nil,
		"One.":                    {"One."},
		"One. Two":                {"One.", "Two"},
		"It has Go 1.26. `x` is.": {"It has Go 1.26.", "`x` is."},
		"**Lost.** A page (RFC 9309) ends. [It](a.md) is so:": {"**Lost.**",
			"A page (RFC 9309) ends.", "[It](a.md) is so:"},
		"Run x; y. then no new one": {"Run x; y. then no new one"},
	} {
		if got := sentences(text); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// claimsPath is where the sentences of a document are bound.
func claimsPath(document string) string {
	name := strings.TrimSuffix(filepath.Base(document), ".md")
	return filepath.Join("testdata", "claims", name+".txt")
}

// readClaims reads the sentences of a document with their proofs.
func readClaims(t *testing.T, document string) map[string][]proof {
	t.Helper()
	path := claimsPath(document)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	claims := map[string][]proof{}
	for block := range strings.SplitSeq(string(text), "\n\n") {
		var words []string
		var proofs []proof
		for line := range strings.Lines(block) {
			line = strings.TrimRight(line, "\n")
			kind, rest, _ := strings.Cut(strings.TrimPrefix(line, "> "), " ")
			switch {
			case line == "" || strings.HasPrefix(line, "# "):
			case !strings.HasPrefix(line, "> "):
				words = append(words, strings.Fields(line)...)
			case kind == "check":
				name, after, _ := strings.Cut(rest, " after ")
				proofs = append(proofs, proof{check: name, after: after})
			case kind == "test":
				proofs = append(proofs, proof{tests: strings.Fields(rest)})
			case kind == "none":
				proofs = append(proofs, proof{none: rest})
			default:
				t.Errorf("%s: %q is no check, test or none", path, line)
			}
		}
		says := strings.Join(words, " ")
		switch _, twice := claims[says]; {
		case says == "" && len(proofs) == 0:
		case says == "" || len(proofs) == 0:
			t.Errorf("%s: a sentence without a proof, or a proof without a sentence:\n%s", path, block)
		case twice:
			t.Errorf("%s: twice: %s", path, says)
		default:
			claims[says] = proofs
		}
	}
	return claims
}

// testNames are all test functions of the project, as integration.TestDocuments.
func testNames(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	function := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, m := range function.FindAllSubmatch(text, -1) {
			dir := strings.TrimPrefix(filepath.ToSlash(filepath.Dir(path)), "..")
			names[strings.TrimPrefix(dir, "/")+"."+string(m[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// TestClaimsAreBound: each sentence of the first documents is bound to what shows that it holds,
// and nothing is bound that no document says.
func TestClaimsAreBound(t *testing.T) {
	t.Parallel()
	tests := testNames(t)
	called := map[string]bool{}
	for _, document := range claimed {
		claims := readClaims(t, document)
		open := maps.Clone(claims)
		var commands []string
		for _, it := range readDocument(t, "../"+document) {
			if it.command != nil {
				commands = append(commands, it.command.text)
				continue
			}
			if _, ok := claims[it.sentence]; !ok {
				t.Errorf("%s: nothing in %s shows that this holds: %s",
					it.where, claimsPath(document), it.sentence)
			}
			delete(open, it.sentence)
		}
		for says := range open {
			t.Errorf("%s has a sentence that %s does not: %s", claimsPath(document), document, says)
		}
		for says, proofs := range claims {
			for _, p := range proofs {
				called[p.check] = true
				switch _, ok := checks[p.check]; {
				case p.none == "" && p.check == "" && len(p.tests) == 0:
					t.Errorf("no reason: %s", says)
				case p.check != "" && !ok:
					t.Errorf("no check is called %q: %s", p.check, says)
				case p.after != "" && !slices.ContainsFunc(commands,
					func(c string) bool { return strings.HasPrefix(c, p.after) }):
					t.Errorf("%s has no command %q: %s", document, p.after, says)
				}
				for _, name := range p.tests {
					if !tests[name] {
						t.Errorf("there is no test %s: %s", name, says)
					}
				}
			}
		}
	}
	for name := range checks {
		if !called[name] {
			t.Errorf("no sentence calls the check %q", name)
		}
	}
}

// walk reads a document from its top: it obeys the commands, but those that are excused, and checks
// the sentences where they stand.
func (r *reader) walk(document string, excused map[string]string) {
	r.t.Helper()
	claims := readClaims(r.t, document)
	waiting := map[string][]string{} // checks by the command that they follow
	for _, it := range readDocument(r.t, "../"+document) {
		if it.command != nil {
			r.timed([]command{*it.command}, excused)
			for _, after := range slices.Sorted(maps.Keys(waiting)) {
				if strings.HasPrefix(it.command.text, after) {
					for _, name := range waiting[after] {
						r.check(it.where, name)
					}
					delete(waiting, after)
				}
			}
			continue
		}
		for _, p := range claims[it.sentence] {
			switch {
			case p.check == "":
			case p.after == "":
				r.reading = it.sentence
				r.check(it.where+": "+it.sentence, p.check)
			default:
				waiting[p.after] = append(waiting[p.after], p.check)
			}
		}
	}
	for after, names := range waiting {
		r.t.Errorf("%s has no command %q behind the sentence of %q", document, after, names)
	}
}

func (r *reader) check(where, name string) {
	r.t.Helper()
	if wrong := checks[name](r); wrong != "" {
		r.t.Errorf("%s\n%s: %s", where, name, wrong)
	}
}
