package pdf

import (
	"context"
	"flag"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"golang.org/x/net/html"
)

var (
	pdfs      = flag.String("pdfs", "", "folder of files to compare with pdftotext")
	showPages = flag.Bool("pdfs.show", false, "with -pdfs: print missing words and pages")
)

// TestRealFiles reads real files, those below the folder of -pdfs, and compares their words with
// those that poppler's pdftotext finds: how many of them are there, counting repeated ones, and
// how many of those that occur once are in the same order. The median has to be 98 %.
//
//	go test ./documents/pdf -run TestRealFiles -v -pdfs /usr/share/doc
func TestRealFiles(t *testing.T) {
	if *pdfs == "" {
		t.Skip("on request: it needs files and pdftotext; see the comment")
	}
	before := time.Now()
	if err := shared.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Logf("start without a cache: %v", time.Since(before))
	again := New(Options{CacheDir: cacheDir})
	before = time.Now()
	if err := again.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Logf("start with a cache: %v", time.Since(before))
	defer again.Close()

	var found, ordered []float64
	t.Logf("%-44s %6s %6s %7s %7s %7s %6s %5s", "file", "kB", "pages", "words", "found", "order",
		"ms/pg", "MiB")
	err := filepath.WalkDir(*pdfs, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.EqualFold(filepath.Ext(path), ".pdf") || !d.Type().IsRegular() {
			return err
		}
		body, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		poppler := exec.CommandContext(t.Context(), "pdftotext", "-enc", "UTF-8", path, "-")
		text, err := poppler.Output()
		if err != nil {
			t.Logf("%s: pdftotext: %v", path, err)
			return nil
		}
		pages := max(strings.Count(string(text), "\f"), 1)
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		defer cancel()
		began := time.Now()
		page, _, err := again.Read(ctx, body, Limits{HTML: 64 << 20})
		took := time.Since(began)
		if err != nil {
			t.Logf("%s: %v", path, err)
			return nil
		}
		if *showPages {
			t.Logf("%s", page)
		}
		want, got := words(string(text)), words(visible(string(page)))
		all, missing := recall(want, got)
		order := inOrder(want, got)
		found, ordered = append(found, all), append(ordered, order)
		t.Logf("%-44s %6d %6d %7d %6.2f%% %6.2f%% %6.1f %5d", filepath.Base(path), len(body)>>10,
			pages, len(want), 100*all, 100*order,
			float64(took.Microseconds())/1000/float64(pages), again.lastMemory()>>20)
		if *showPages {
			t.Logf("missing: %q", missing)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(found) == 0 {
		t.Fatalf("no file of %s could be compared", *pdfs)
	}
	slices.Sort(found)
	slices.Sort(ordered)
	median := found[len(found)/2]
	t.Logf("%d files: words found %.2f%% at the median, %.2f%% at least; in order %.2f%%, %.2f%%",
		len(found), 100*median, 100*found[0], 100*ordered[len(ordered)/2], 100*ordered[0])
	if median < 0.98 {
		t.Error("the median is less than 98 %")
	}
}

// words are a text's words: runs of letters and digits. Ligatures are taken apart.
func words(s string) []string {
	s = strings.NewReplacer("ﬀ", "ff", "ﬁ", "fi", "ﬂ", "fl", "ﬃ", "ffi", "ﬄ", "ffl").Replace(s)
	return strings.FieldsFunc(strings.ToLower(s), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
}

// visible is the text of a page; elements other than links are separated.
func visible(page string) string {
	var b strings.Builder
	z := html.NewTokenizer(strings.NewReader(inBody(page)))
	for {
		switch z.Next() {
		case html.ErrorToken:
			return b.String()
		case html.TextToken:
			b.Write(z.Text())
		case html.StartTagToken, html.EndTagToken:
			if name, _ := z.TagName(); string(name) != "a" {
				b.WriteByte('\n')
			}
		}
	}
}

// recall is the share of the wanted words that were got, each as often as it is wanted.
func recall(want, got []string) (share float64, missing []string) {
	count := map[string]int{}
	for _, w := range got {
		count[w]++
	}
	for _, w := range want {
		if count[w]--; count[w] < 0 {
			missing = append(missing, w)
		}
	}
	return 1 - float64(len(missing))/float64(max(len(want), 1)), missing
}

// inOrder is the share of words that occur once in both that can stand where they do without one
// being before another that it is after in the other text: their longest increasing subsequence.
func inOrder(want, got []string) float64 {
	once := func(ws []string) map[string]int {
		at := map[string]int{}
		for i, w := range ws {
			if _, again := at[w]; again {
				at[w] = -1
			} else {
				at[w] = i
			}
		}
		return at
	}
	a, b := once(want), once(got)
	var tails []int
	n := 0
	for _, w := range want {
		at, ok := b[w]
		if !ok || at < 0 || a[w] < 0 {
			continue
		}
		n++
		if i, _ := slices.BinarySearch(tails, at); i == len(tails) {
			tails = append(tails, at)
		} else {
			tails[i] = at
		}
	}
	return float64(len(tails)) / float64(max(n, 1))
}

func TestInOrder(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		want, got string
		share     float64
	}{
		{"a b c d", "a b c d", 1},
		{"a b c d", "a x c b d", 0.75},
		{"a a b c", "b a c a", 1},
		{"a b c d", "d c b a", 0.25},
	} {
		if got := inOrder(strings.Fields(c.want), strings.Fields(c.got)); got != c.share {
			t.Errorf("%q, %q: %v", c.want, c.got, got)
		}
	}
}
