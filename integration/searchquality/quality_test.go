package searchquality

import (
	"context"
	"flag"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"crawlnode/store/search"
	"crawlnode/web/maintext"
)

var pagesDir = flag.String("search.pages", "", "folder of web sites, one folder each: TestQuality searches their HTML files")

var noon = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// known is a question whose answer is known.
type known struct{ text, url string }

// pages reads the HTML files of all sites: the first folder is the host.
func pages(t *testing.T, dir string) []search.Document {
	t.Helper()
	var docs []search.Document
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || !strings.HasSuffix(path, ".html") {
			return err
		}
		body, err := os.ReadFile(path)
		if err != nil {
			return nil // a link to a file of another package
		}
		rel, _ := filepath.Rel(dir, path)
		host, rest, _ := strings.Cut(filepath.ToSlash(rel), "/")
		p := maintext.Extract(body, "text/html", "")
		docs = append(docs, search.Document{
			URL: "http://" + host + ".test/" + rest, Host: host + ".test", Title: p.Title, Headings: strings.Join(p.Headings, "\n"),
			Text: p.Text, Description: p.Description, Language: p.Language, FetchedAt: noon,
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return docs
}

// titles returns n questions that are titles which one page has only.
func titles(docs []search.Document, r *rand.Rand, n int) []known {
	count := map[string]int{}
	for _, d := range docs {
		count[strings.ToLower(d.Title)]++
	}
	var out []known
	for _, i := range r.Perm(len(docs)) {
		if d := docs[i]; len(out) < n && len(strings.Fields(d.Title)) >= 2 && count[strings.ToLower(d.Title)] == 1 {
			out = append(out, known{d.Title, d.URL})
		}
	}
	return out
}

// misspelt changes one letter of a long word of each question.
func misspelt(of []known, r *rand.Rand) []known {
	out := slices.Clone(of)
	for i, k := range out {
		words := strings.Fields(k.text)
		best := 0
		for j, w := range words {
			if len(w) > len(words[best]) {
				best = j
			}
		}
		w := []byte(words[best])
		at := r.IntN(max(1, len(w)-1))
		switch r.IntN(3) {
		case 0:
			w = slices.Delete(w, at, at+1)
		case 1:
			w[at] = byte('a' + r.IntN(26))
		case 2:
			if at+1 < len(w) {
				w[at], w[at+1] = w[at+1], w[at]
			}
		}
		words[best] = string(w)
		out[i].text = strings.Join(words, " ")
	}
	return out
}

// triples returns n questions of three words that stand within twelve of a text: with rare, the three that
// fewest pages have, else the first three of five letters at least.
func triples(docs []search.Document, r *rand.Rand, n int, rare map[string]int) []known {
	var out []known
	for _, i := range r.Perm(len(docs)) {
		words := wordsOf(docs[i].Text)
		if len(out) >= n || len(words) < 50 {
			continue
		}
		at := r.IntN(len(words) - 12)
		var near []string
		for _, w := range words[at : at+12] {
			if len(w) >= 5 && !slices.Contains(near, w) {
				near = append(near, w)
			}
		}
		if rare != nil {
			slices.SortStableFunc(near, func(a, b string) int { return rare[a] - rare[b] })
		}
		if len(near) >= 3 {
			out = append(out, known{strings.Join(near[:3], " "), docs[i].URL})
		}
	}
	return out
}

// wordsOf are the first words of a text.
func wordsOf(text string) []string {
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	return words[:min(len(words), 5000)]
}

// pagesWith counts the pages that have each word.
func pagesWith(docs []search.Document) map[string]int {
	count := map[string]int{}
	for _, d := range docs {
		seen := map[string]bool{}
		for _, w := range wordsOf(d.Text) {
			if !seen[w] {
				seen[w] = true
				count[w]++
			}
		}
	}
	return count
}

// TestQuality searches real pages for known items, and logs the mean reciprocal rank within the
// first ten.
func TestQuality(t *testing.T) {
	if *pagesDir == "" {
		t.Log("no -search.pages: nothing to search")
		return
	}
	began := time.Now()
	docs := pages(t, *pagesDir)
	read := time.Since(began)
	x, _, err := search.Open(t.TempDir(), search.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	began = time.Now()
	text := 0
	for chunk := range slices.Chunk(docs, 1000) {
		if err := x.Apply(context.Background(), search.Batch{Put: chunk}); err != nil {
			t.Fatal(err)
		}
	}
	for _, d := range docs {
		text += len(d.Text)
	}
	indexed := time.Since(began)
	t.Logf("%d pages, %d bytes of text: extracted in %v, indexed in %v, %+v", len(docs), text, read, indexed, x.Size())
	r := rand.New(rand.NewPCG(1, 2))
	sets := map[string][]known{"titles": titles(docs, r, 500), "triples, any words": triples(docs, r, 300, nil), "triples, rarest words": triples(docs, r, 300, pagesWith(docs))}
	sets["misspelt"] = misspelt(titles(docs, r, 300), r)
	for name, of := range sets {
		sum, found := 0.0, 0
		var took []time.Duration
		for _, k := range of {
			began := time.Now()
			p, err := search.Search(context.Background(), x, search.Request{Text: k.text, Page: 1, Size: 10, Now: noon})
			took = append(took, time.Since(began))
			if err != nil {
				t.Fatal(err)
			}
			at := slices.IndexFunc(p.Results, func(r search.Result) bool { return r.URL == k.url || slices.Contains(r.AlsoAt, k.url) })
			if at >= 0 {
				sum += 1 / float64(at+1)
				found++
			} else if testing.Verbose() {
				t.Logf("%s: %q does not find %s (%s)", name, k.text, k.url, p.Interpreted)
			}
		}
		slices.Sort(took)
		t.Logf("%s: %d questions, MRR@10 %.3f, found %d, p50 %v, p99 %v", name, len(of), sum/float64(len(of)), found, took[len(took)/2], took[len(took)*99/100])
	}
}
