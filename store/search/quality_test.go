package search

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

	"crawlnode/store/search/analyse"
	"crawlnode/web/maintext"
)

var pagesDir = flag.String("search.pages", "", "folder of web sites, one folder each: TestQuality searches their HTML files")

// known is a question whose answer is known.
type known struct{ text, url string }

// pages reads the HTML files of all sites: the first folder is the host.
func pages(t *testing.T, dir string) []Document {
	t.Helper()
	var docs []Document
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
		docs = append(docs, Document{
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
func titles(docs []Document, r *rand.Rand, n int) []known {
	count := map[string]int{}
	for _, d := range docs {
		count[analyse.Fold(d.Title)]++
	}
	var out []known
	for _, i := range r.Perm(len(docs)) {
		if d := docs[i]; len(out) < n && len(strings.Fields(d.Title)) >= 2 && count[analyse.Fold(d.Title)] == 1 {
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

// triples returns n questions of three words, at least five letters each, that follow each other within eight.
func triples(docs []Document, r *rand.Rand, n int) []known {
	var out []known
	for _, i := range r.Perm(len(docs)) {
		var words []string
		for s := analyse.NewScanner(docs[i].Text); s.Next() && len(words) < 5000; {
			words = append(words, string(s.Word()))
		}
		if len(out) >= n || len(words) < 50 {
			continue
		}
		at := r.IntN(len(words) - 8)
		var three []string
		for _, w := range words[at : at+8] {
			if len(w) >= 5 && len(three) < 3 && !slices.Contains(three, w) {
				three = append(three, w)
			}
		}
		if len(three) == 3 {
			out = append(out, known{strings.Join(three, " "), docs[i].URL})
		}
	}
	return out
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
	x := open(t, t.TempDir())
	began = time.Now()
	text := 0
	for chunk := range slices.Chunk(docs, 1000) {
		apply(t, x, Batch{Put: chunk})
	}
	for _, d := range docs {
		text += len(d.Text)
	}
	indexed := time.Since(began)
	t.Logf("%d pages, %d bytes of text: extracted in %v, indexed in %v, %+v", len(docs), text, read, indexed, x.Size())
	r := rand.New(rand.NewPCG(1, 2))
	sets := map[string][]known{"titles": titles(docs, r, 500), "triples": triples(docs, r, 300)}
	sets["misspelt"] = misspelt(titles(docs, r, 300), r)
	for name, of := range sets {
		sum, found := 0.0, 0
		var took []time.Duration
		for _, k := range of {
			began := time.Now()
			p, err := Search(context.Background(), x, Request{Text: k.text, Page: 1, Size: 10, Now: noon})
			took = append(took, time.Since(began))
			if err != nil {
				t.Fatal(err)
			}
			at := slices.IndexFunc(p.Results, func(r Result) bool { return r.URL == k.url || slices.Contains(r.AlsoAt, k.url) })
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
