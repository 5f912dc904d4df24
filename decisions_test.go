package crawlnode

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const decisionsDir = "docs/decisions"

var (
	decisionFile  = regexp.MustCompile(`^(0\d{3})-[a-z0-9-]+\.md$`)
	decisionEntry = regexp.MustCompile(`(?m)^- \[(0\d{3})\]\((0\d{3}-[a-z0-9-]+\.md)\): `)
	decisionMoved = regexp.MustCompile(`(?m)^- (0\d{3}): \[(0\d{3})\]\((0\d{3}-[a-z0-9-]+\.md)\)$`)

	// A reference is the path of a page, or the word with one or several numbers. It may be
	// broken over two lines, of a comment as well.
	decisionPath = regexp.MustCompile(`decisions/(0\d{3})\b`)
	decisionWord = regexp.MustCompile(
		`(?i)\bdecisions?\s+(?://\s+)?(0\d{3}(?:(?:,| and| or|, and)\s+(?://\s+)?0\d{3})*)\b`)
	decisionLink   = regexp.MustCompile(`\[(0\d{3})\]\((?:[\w./-]*/)?(0\d{3})-[a-z0-9-]+\.md`)
	decisionNumber = regexp.MustCompile(`0\d{3}`)
)

// decisionPages are the files of decisions by number, and the pages to which others were merged.
func decisionPages(t *testing.T) (pages, moved map[string]string, index string) {
	t.Helper()
	entries, err := os.ReadDir(decisionsDir)
	if err != nil {
		t.Fatal(err)
	}
	pages, moved = map[string]string{}, map[string]string{}
	for _, e := range entries {
		m := decisionFile.FindStringSubmatch(e.Name())
		switch {
		case m == nil && e.Name() != "README.md":
			t.Errorf("%s/%s has no number", decisionsDir, e.Name())
		case m != nil && pages[m[1]] != "":
			t.Errorf("%s and %s have one number", pages[m[1]], e.Name())
		case m != nil:
			pages[m[1]] = e.Name()
		}
	}
	text, err := os.ReadFile(filepath.Join(decisionsDir, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range decisionMoved.FindAllStringSubmatch(string(text), -1) {
		moved[m[1]] = m[2]
	}
	return pages, moved, string(text)
}

// TestDecisionIndex: the index lists each page of a decision once, under its own number, and leads
// each number whose page is gone to a page that exists.
func TestDecisionIndex(t *testing.T) {
	t.Parallel()
	pages, moved, index := decisionPages(t)
	listed := map[string]int{}
	for _, m := range decisionEntry.FindAllStringSubmatch(index, -1) {
		if listed[m[1]]++; pages[m[1]] != m[2] {
			t.Errorf("the index lists %s as %s", m[1], m[2])
		}
	}
	for number, file := range pages {
		if listed[number] != 1 {
			t.Errorf("the index lists %s %d times", file, listed[number])
		}
		text, err := os.ReadFile(filepath.Join(decisionsDir, file))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(string(text), "# "+number+": ") {
			t.Errorf("%s does not begin with its number and title", file)
		}
	}
	for _, m := range decisionMoved.FindAllStringSubmatch(index, -1) {
		if pages[m[1]] != "" || pages[m[2]] != m[3] {
			t.Errorf("the index leads from %s to %s", m[1], m[3])
		}
	}
	if len(pages) < 50 || len(moved) < 50 {
		t.Errorf("%d pages and %d merged ones were found", len(pages), len(moved))
	}
}

// decisionReferences are the numbers of decisions that a text names. A page of a decision may name
// another one by the bare number.
func decisionReferences(path, text string) (numbers []string) {
	bare := filepath.ToSlash(filepath.Dir(path)) == decisionsDir
	for line := range strings.Lines(text) {
		if bare && !strings.HasPrefix(line, "Replaces ") {
			for _, m := range bareNumber.FindAllStringSubmatch(line, -1) {
				numbers = append(numbers, m[1])
			}
		}
	}
	for _, m := range decisionPath.FindAllStringSubmatch(text, -1) {
		numbers = append(numbers, m[1])
	}
	for _, m := range decisionWord.FindAllStringSubmatch(text, -1) {
		numbers = append(numbers, decisionNumber.FindAllString(m[1], -1)...)
	}
	return numbers
}

// bareNumber is none of a date, a fraction or the mode of a file, which are longer or begin higher.
var bareNumber = regexp.MustCompile(`(?:^|[\s(\[*])(0[0-4]\d{2})(?:[\s)\],;:*]|\.\s|\.?$)`)

func TestDecisionReferencesAreFound(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"// (docs/decisions/0140-versions.md).":                  "0140",
		"see docs/decisions/0140.":                               "0140",
		"// decisions 0210, 0218 and 0001).":                     "0210 0218 0001",
		"// the rule of decision\n// 0210 holds, Decision 0211.": "0210 0211",
		"it was 0644, or 10:0300, of 0123 pages":                 "",
	} {
		if got := strings.Join(decisionReferences("node/doc.go", text), " "); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	text := "as 0140 says (0141), [0142](x) and 0143.\nReplaces 0144.\nmode 0700, 10:0300, 0.0145"
	want := "0140 0141 0142 0143"
	if got := strings.Join(decisionReferences(decisionsDir+"/0001-a.md", text), " "); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestDecisionReferences: what names a decision, in code, documents and scripts, names a page that
// exists, so nobody has to go by the table of merged pages. Results tell what was true on their
// day; they may name a merged page.
func TestDecisionReferences(t *testing.T) {
	t.Parallel()
	pages, moved, _ := decisionPages(t)
	found := 0
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() {
			if path != "." && strings.HasPrefix(name, ".") && name != ".ci" ||
				slices.Contains([]string{"testdata", "node_modules", "bin"}, name) {
				return fs.SkipDir
			}
			return nil
		}
		path = filepath.ToSlash(path)
		kinds := []string{".go", ".md", ".txt", ".proto", ".yml", ".yaml", ".sh", ".html", ".js"}
		if !slices.Contains(kinds, filepath.Ext(name)) && name != "Makefile" &&
			filepath.Dir(path) != ".ci" ||
			path == decisionsDir+"/README.md" || path == "decisions_test.go" {
			return nil
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		text := string(content)
		for _, number := range decisionReferences(path, text) {
			found++
			switch {
			case pages[number] != "":
			case moved[number] == "":
				t.Errorf("%s: there is no decision %s", path, number)
			case !strings.HasPrefix(path, "docs/results/"):
				t.Errorf("%s: decision %s is a part of %s now", path, number, moved[number])
			}
		}
		for _, m := range decisionLink.FindAllStringSubmatch(text, -1) {
			if m[1] != m[2] {
				t.Errorf("%s: the link %s leads to %s", path, m[1], m[2])
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if found < 200 {
		t.Errorf("%d references were found", found)
	}
}
