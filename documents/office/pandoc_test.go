package office

import (
	"bytes"
	"context"
	"flag"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"

	"golang.org/x/net/html"
)

var pandocDir = flag.String("pandoc", "",
	"folder of docx, odt, epub and rtf files whose words are compared with pandoc's")

// TestAsPandoc compares the words of files with those that pandoc finds in them, as a multiset, and
// their order. At the median, 98 of 100 of pandoc's words have to be found.
func TestAsPandoc(t *testing.T) {
	if *pandocDir == "" {
		t.Skip("on request: words of a folder of files against pandoc's; -pandoc DIR")
	}
	var shares []float64
	err := filepath.WalkDir(*pandocDir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		format := strings.TrimPrefix(filepath.Ext(path), ".")
		if !slices.Contains([]string{"docx", "odt", "epub", "rtf"}, format) {
			return nil
		}
		body, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		kind := KindOf(body, "")
		page, _, err := Read(context.Background(), body, kind, Limits{HTML: 64 << 20, Unpacked: 1 << 30})
		if err != nil {
			t.Logf("%s: %v", path, err)
		}
		plain, err := exec.CommandContext(t.Context(), "pandoc", "-f", format, "-t", "html",
			"--wrap=none", path).Output()
		if err != nil {
			t.Logf("%s: pandoc: %v", path, err)
			return nil
		}
		ours, theirs := words(page), words(plain)
		if len(theirs) == 0 {
			return nil
		}
		found, lost := common(ours, theirs)
		extra := len(ours) - found
		share := float64(found) / float64(len(theirs))
		shares = append(shares, share)
		t.Logf("%-6s %6d words of pandoc, found %5.1f %%, in order %5.1f %%, beside them %d; %s; lost %q",
			kind, len(theirs),
			100*share, 100*inOrder(ours, theirs), extra, filepath.Base(path), lost[:min(len(lost), 8)])
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(shares) == 0 {
		t.Fatal("there is no file to compare")
	}
	slices.Sort(shares)
	t.Logf("%d files: median %.4f, least %.4f", len(shares), shares[len(shares)/2], shares[0])
	if shares[len(shares)/2] < 0.98 {
		t.Errorf("at the median, only %.4f of pandoc's words are found", shares[len(shares)/2])
	}
}

// words are the words of a page's body: letters and digits in a row. Pandoc marks notes with links,
// which are no words of the file.
func words(page []byte) []string {
	var b strings.Builder
	z := html.NewTokenizer(bytes.NewReader(page))
	skip := false
	for {
		switch z.Next() {
		case html.ErrorToken:
			return strings.FieldsFunc(b.String(), func(r rune) bool {
				return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r)
			})
		case html.TextToken:
			if !skip {
				b.Write(z.Text())
			}
		case html.StartTagToken:
			name, more := z.TagName()
			skip = slices.Contains([]string{"title", "style", "script"}, string(name)) ||
				skip && string(name) == "sup"
			for more {
				var value []byte
				_, value, more = z.TagAttr()
				skip = skip || string(value) == "doc-noteref" || string(value) == "doc-backlink"
			}
			if !slices.Contains([]string{"a", "span", "em", "strong", "sup", "sub", "u", "del", "code"},
				string(name)) {
				b.WriteByte(' ')
			}
		case html.EndTagToken:
			name, _ := z.TagName()
			skip = skip && string(name) == "sup" // within a mark
			if !slices.Contains([]string{"a", "span", "em", "strong", "sup", "sub", "u", "del", "code"},
				string(name)) {
				b.WriteByte(' ')
			}
		case html.SelfClosingTagToken:
			b.WriteByte(' ')
		}
	}
}

// common is the number of theirs that are among ours, each counted as often as it occurs, and the
// others.
func common(ours, theirs []string) (n int, lost []string) {
	have := map[string]int{}
	for _, w := range ours {
		have[w]++
	}
	for _, w := range theirs {
		if have[w] > 0 {
			have[w]--
			n++
		} else {
			lost = append(lost, w)
		}
	}
	return n, lost
}

// inOrder is the share of pairs of neighbours of theirs that are neighbours in ours.
func inOrder(ours, theirs []string) float64 {
	pairs := func(w []string) (out []string) {
		for i := 1; i < len(w); i++ {
			out = append(out, w[i-1]+" "+w[i])
		}
		return out
	}
	all := pairs(theirs)
	if len(all) == 0 {
		return 1
	}
	n, _ := common(pairs(ours), all)
	return float64(n) / float64(len(all))
}

// BenchmarkRead reads a file of each kind with some 10,000 paragraphs, items or cells.
func BenchmarkRead(b *testing.B) {
	const n = 10_000
	const s = "some words of text that stand in a paragraph"
	bodies := map[Kind][]byte{
		Word: docx(b, strings.Repeat(p(s), n)),
		Sheet: xlsx(b, `<sheetData>`+
			strings.Repeat(`<row><c><v>12.5</v></c><c t="s"><v>1</v></c><c s="1"><v>45418</v></c></row>`,
				n/3)+
			`</sheetData>`),
		Slides: pptx(b, strings.Repeat(shape("", par("", s)), n)),
		ODFText: opendocument(b, "text", "",
			strings.Repeat(`<text:p text:style-name="P1">`+s+`</text:p>`, n)),
		EPUB: epub(b, "", strings.Repeat("<p>"+s+"</p>", n)),
		RTF:  []byte(`{\rtf1\ansi ` + strings.Repeat(`\pard\plain\fs24 `+s+`\par`+"\n", n) + `}`),
	}
	for kind := Word; kind <= RTF; kind++ {
		body, ok := bodies[kind]
		if !ok {
			continue
		}
		b.Run(kind.String(), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := Read(context.Background(), body, kind, Limits{
					Unpacked: 1 << 30,
					Ratio:    1 << 20,
				}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
