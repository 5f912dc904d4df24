package crawlnode

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// proseFiles are the texts that people read: README and its neighbours, docs and deploy. Left out
// are results, which tell what was true on their day, and what is generated from elsewhere.
func proseFiles(t *testing.T) []string {
	t.Helper()
	paths, err := filepath.Glob("*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"docs", "deploy", "examples"} {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err == nil && filepath.Ext(path) == ".md" {
				paths = append(paths, path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return slices.DeleteFunc(paths, func(path string) bool {
		return strings.HasPrefix(path, "docs/results/")
	})
}

var (
	fencedBlock = regexp.MustCompile("(?ms)^[ \t]*```.*?^[ \t]*```[ \t]*$")
	codeSpan    = regexp.MustCompile("`[^`\n]+`")
	inlineLink  = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	headingLine = regexp.MustCompile(`(?m)^#{1,6} +(.+?) *$`)
	namedPlace  = regexp.MustCompile(`<a (?:id|name)="([^"]+)">`)
	linkText    = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
)

// anchors are the fragments of a document's headings, as GitHub makes them: small letters, without
// punctuation, with hyphens for spaces, and -1, -2 behind what is there already; and places with a
// name.
func anchors(text string) map[string]bool {
	found := map[string]bool{}
	for _, m := range headingLine.FindAllStringSubmatch(fencedBlock.ReplaceAllString(text, ""), -1) {
		heading := linkText.ReplaceAllString(m[1], "$1")
		var b strings.Builder
		for _, r := range strings.ToLower(heading) {
			switch {
			case r == ' ':
				b.WriteByte('-')
			case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
				b.WriteRune(r)
			}
		}
		name := b.String()
		for n := 1; found[name]; n++ {
			name = b.String() + "-" + string(rune('0'+n))
		}
		found[name] = true
	}
	for _, m := range namedPlace.FindAllStringSubmatch(text, -1) {
		found[m[1]] = true
	}
	return found
}

func TestAnchors(t *testing.T) {
	t.Parallel()
	text := "# One `--flag`, two!\n## A\n```\n# no heading\n```\n## A\n### [Link](x.md) & more\n" +
		"| <a id=\"low_disk\"></a> |\n"
	got := anchors(text)
	for _, want := range []string{"one---flag-two", "a", "a-1", "link--more", "low_disk"} {
		if !got[want] {
			t.Errorf("no %s in %v", want, got)
		}
	}
	if len(got) != 5 {
		t.Errorf("%v", got)
	}
}

// brokenLinks are the links of a text that lead to no file and no heading. Links to the web are not
// followed.
func brokenLinks(path, text string, read func(path string) (string, error)) (broken []string) {
	plain := codeSpan.ReplaceAllString(fencedBlock.ReplaceAllString(text, ""), "")
	for _, m := range inlineLink.FindAllStringSubmatch(plain, -1) {
		target, fragment, _ := strings.Cut(m[1], "#")
		if strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
			continue
		}
		to := path
		if target != "" {
			to = filepath.Join(filepath.Dir(path), target)
		}
		there, err := read(to)
		if err != nil || fragment != "" && !anchors(there)[fragment] {
			broken = append(broken, m[1])
		}
	}
	return broken
}

func TestBrokenLinks(t *testing.T) {
	t.Parallel()
	files := map[string]string{"docs/a.md": "# Here\n", "docs": "", "b.md": "## There\n"}
	read := func(path string) (string, error) {
		if text, ok := files[path]; ok {
			return text, nil
		}
		return "", fs.ErrNotExist
	}
	for text, want := range map[string]string{
		"[a](docs/a.md) [b](docs/a.md#here) [c](docs) [d](https://a.test/x) [e](#there)": "",
		"[a](docs/c.md)":       "docs/c.md",
		"[a](docs/a.md#there)": "docs/a.md#there",
		"[a](#here)":           "#here",
		"`[a](x.md)`\n```\n[b](y.md)\n```\n![p](z)": "z",
	} {
		if got := strings.Join(brokenLinks("b.md", text+"\n## There\n", read), " "); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// TestDocumentLinks: each link of a document leads to a file and a heading that exist.
func TestDocumentLinks(t *testing.T) {
	t.Parallel()
	read := func(path string) (string, error) {
		info, err := os.Stat(path)
		if err != nil || info.IsDir() {
			return "", err
		}
		text, err := os.ReadFile(path)
		return string(text), err
	}
	links := 0
	for _, path := range proseFiles(t) {
		text, err := read(path)
		if err != nil {
			t.Fatal(err)
		}
		links += len(inlineLink.FindAllString(text, -1))
		for _, target := range brokenLinks(path, text, read) {
			t.Errorf("%s: nothing at %s", path, target)
		}
	}
	if links < 150 {
		t.Errorf("%d links were read", links)
	}
}

// goneFromTree are paths that documents name although the tree has no such file.
var goneFromTree = map[string]string{
	"store/deflate":    "given up, says decision 0332",
	"frontier/RESERVE": "a file of the data directory",
}

var treePath = regexp.MustCompile(`^([a-z]+)(?:/[a-z0-9_]+)+(?:\.go|/\.\.\.)?$`)

// missingPaths are the code spans of a text that look like folders or files of the tree, below one
// of the folders of tops, and are none; named counts all of them.
func missingPaths(text string, tops map[string]bool, exists func(string) bool) (missing []string,
	named int) {
	for _, span := range codeSpan.FindAllString(fencedBlock.ReplaceAllString(text, ""), -1) {
		path := strings.Trim(span, "`")
		m := treePath.FindStringSubmatch(path)
		if m == nil || !tops[m[1]] || goneFromTree[path] != "" {
			continue
		}
		named++
		if !exists(strings.TrimSuffix(path, "/...")) {
			missing = append(missing, path)
		}
	}
	return missing, named
}

func TestMissingPaths(t *testing.T) {
	t.Parallel()
	tops := map[string]bool{"node": true, "store": true}
	exists := func(path string) bool { return path == "node/links" || path == "node/doc.go" }
	text := "`node/links`, `node/links/...`, `node/doc.go`, `warc/none`, `store/deflate`, " +
		"node/none\n" +
		"```\n`node/none`\n```\n`node/gone`, `node/gone.go`, `store/x/...`, `node/None`, `node`"
	want := "node/gone node/gone.go store/x/..."
	missing, named := missingPaths(text, tops, exists)
	if got := strings.Join(missing, " "); got != want || named != 6 {
		t.Errorf("%q of %d, want %q of 6", got, named, want)
	}
}

// TestDocumentPaths: each folder or file with Go code that a document names is in the tree, so a
// package that moves takes the documents along.
func TestDocumentPaths(t *testing.T) {
	t.Parallel()
	tops := map[string]bool{}
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.IsDir() && e.Name() != "docs" && !strings.HasPrefix(e.Name(), ".") {
			tops[e.Name()] = true
		}
	}
	exists := func(path string) bool {
		_, err := os.Stat(path)
		return err == nil
	}
	found := 0
	for _, path := range proseFiles(t) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		missing, named := missingPaths(string(text), tops, exists)
		found += named
		for _, m := range missing {
			t.Errorf("%s: there is no %s", path, m)
		}
	}
	if found < 100 {
		t.Errorf("%d paths were found", found)
	}
}
