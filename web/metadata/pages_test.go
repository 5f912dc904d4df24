package metadata

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// testPage is a page of testdata with what it says of itself.
type testPage struct {
	name, address, contentType, headerLanguage, html string
	want                                             map[string]string
}

// readPages reads the files of testdata: pages after a line "== name", with lines of what the
// server says, the page, and after "-- want" the fields. Bytes that are no UTF-8 are written as
// \xfc.
func readPages(t *testing.T) (all []testPage) {
	t.Helper()
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file) //nolint:gosec // testdata
		if err != nil {
			t.Fatal(err)
		}
		for part := range strings.SplitSeq("\n"+string(text), "\n== ") {
			if strings.TrimSpace(part) == "" {
				continue
			}
			page, fields, ok := strings.Cut(part, "\n-- want")
			name, page, named := strings.Cut(page, "\n")
			if !ok || !named {
				t.Fatalf("%s: %.60q has no page or no fields", file, part)
			}
			p := testPage{name: name, contentType: "text/html; charset=utf-8", want: map[string]string{}}
			for key, into := range map[string]*string{
				"address": &p.address, "content-type": &p.contentType, "header-language": &p.headerLanguage,
			} {
				for line := range strings.SplitSeq(page, "\n") {
					if value, ok := strings.CutPrefix(line, key+": "); ok {
						*into = value
						page = strings.Replace(page, line+"\n", "", 1)
					}
				}
			}
			p.html = strings.ReplaceAll(page, `\xfc`, "\xfc")
			for line := range strings.SplitSeq(strings.TrimSpace(fields), "\n") {
				if key, value, ok := strings.Cut(line, ": "); ok {
					p.want[key] = value
				} else if line != "" {
					t.Fatalf("%s: %s: no field: %q", file, name, line)
				}
			}
			all = append(all, p)
		}
	}
	return all
}

// TestPages reads pages in the shapes of the examples of schema.org and of publishing systems. With
// -v it prints what was expected and found.
func TestPages(t *testing.T) {
	t.Parallel()
	pages := readPages(t)
	if len(pages) < 60 {
		t.Errorf("%d pages, want 60 at least", len(pages))
	}
	right, total := 0, 0
	for _, p := range pages {
		r := Read([]byte(p.html), p.contentType, mustURL(t, p.address),
			Options{HeaderLanguage: p.headerLanguage})
		found := map[string]string{
			"title": r.Title, "author": strings.Join(r.Author, " | "), "published_at": r.PublishedAt,
			"modified_at": r.ModifiedAt, "type": r.Type, "site": r.Site, "image": r.Image,
			"licence": r.Licence, "language": r.Language,
		}
		for key := range p.want {
			if _, known := found[key]; !known {
				t.Errorf("%s: there is no field %s", p.name, key)
			}
		}
		for _, key := range []string{
			"title", "author", "published_at", "modified_at", "type", "site", "image", "licence", "language",
		} {
			mark := "ok"
			if total++; found[key] != p.want[key] {
				mark = "WRONG"
				t.Errorf("%s: %s is %q, want %q", p.name, key, found[key], p.want[key])
			} else {
				right++
			}
			if testing.Verbose() && (found[key] != "" || p.want[key] != "") {
				fmt.Printf("%-60.60s %-12s %-5s %-50.50s %.50s\n", p.name, key, mark, p.want[key], found[key])
			}
		}
		if n := len(r.JSON()); n > MaxBytes {
			t.Errorf("%s: %d bytes", p.name, n)
		}
	}
	t.Logf("%d pages, %d of %d fields as expected", len(pages), right, total)
}
