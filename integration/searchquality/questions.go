package searchquality

import (
	"math/rand/v2"
	"slices"
	"strings"
	"unicode"

	"crawlnode/search/index"
)

// Question is a text whose answer is known.
type Question struct {
	Text string
	URL  string
	// Same are further pages that hold, word for word, the passage that the question was made of: from
	// the first of its words to the last. Nothing in the question says which of them is meant.
	Same []string
}

// Set is a set of questions, and the mean reciprocal rank that the project promises for it.
type Set struct {
	Name      string
	Aim       float64
	Questions []Question
}

// window is the number of words of a passage that the words of a triple are taken from.
const window = 12

// Sets makes the questions about pages; the same for the same pages.
func Sets(docs []index.Document) []Set {
	r := rand.New(rand.NewPCG(1, 2))
	sets := []Set{
		{"titles", 0.90, titles(docs, r, 500)},
		{"titles with an error", 0.80, nil},
		{"triples, the rarest words", 0.85, triples(docs, r, 300, pagesWith(docs))},
		{"triples, any words", 0.85, triples(docs, r, 300, nil)},
	}
	sets = append(sets, knownItems(docs, 300)...)
	sets[1].Questions = misspelt(titles(docs, r, 300), r)
	return sets
}

// titles returns n questions that are titles which one page has only.
func titles(docs []index.Document, r *rand.Rand, n int) []Question {
	count := map[string]int{}
	for _, d := range docs {
		count[strings.ToLower(d.Title)]++
	}
	var out []Question
	for _, i := range r.Perm(len(docs)) {
		if d := docs[i]; len(out) < n && len(strings.Fields(d.Title)) >= 2 &&
			count[strings.ToLower(d.Title)] == 1 {
			out = append(out, Question{Text: d.Title, URL: d.URL})
		}
	}
	return out
}

// misspelt changes one letter of a long word of each question.
func misspelt(of []Question, r *rand.Rand) []Question {
	out := slices.Clone(of)
	for i, k := range out {
		words := strings.Fields(k.Text)
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
		out[i].Text = strings.Join(words, " ")
	}
	return out
}

// triples returns n questions of three words that stand within twelve of a text: with rare, the
// three that fewest pages have, else the first three of five letters at least.
func triples(docs []index.Document, r *rand.Rand, n int, rare map[string]int) []Question {
	out, passages := drawTriples(docs, r, n, rare)
	same(docs, out, passages)
	return out
}

// drawTriples returns the questions, without the pages of the same passage, and the passage of
// each.
func drawTriples(
	docs []index.Document,
	r *rand.Rand,
	n int,
	rare map[string]int,
) (out []Question, passages [][]string) {
	for _, i := range r.Perm(len(docs)) {
		words := wordsOf(docs[i].Text)
		if len(out) >= n || len(words) < 50 {
			continue
		}
		at := r.IntN(len(words) - window)
		passage := words[at : at+window]
		var near []string
		for _, w := range passage {
			if len(w) >= 5 && !slices.Contains(near, w) {
				near = append(near, w)
			}
		}
		if rare != nil {
			slices.SortStableFunc(near, func(a, b string) int { return rare[a] - rare[b] })
		}
		if len(near) >= 3 {
			out = append(out, Question{Text: strings.Join(near[:3], " "), URL: docs[i].URL})
			passages = append(passages, shortest(passage, near[:3]))
		}
	}
	return out, passages
}

// knownItems are triples that have one answer: no other page has the three words in a passage as
// short as the shortest one of the wanted page, so that the question says which page is meant. Most
// texts of a manual are in several of its pages.
func knownItems(docs []index.Document, n int) []Set {
	r := rand.New(rand.NewPCG(3, 4))
	pages := pagesOf(docs)
	only := func(name string, rare map[string]int) Set {
		s := Set{Name: name, Aim: 0.85}
		for len(s.Questions) < n {
			drawn, _ := drawTriples(docs, r, n, rare)
			for _, q := range drawn {
				if len(s.Questions) < n && pages.only(q) {
					s.Questions = append(s.Questions, q)
				}
			}
			if len(drawn) < n {
				break // there are not so many pages
			}
		}
		return s
	}
	return []Set{only("known items by triples, the rarest words", pagesWith(docs)),
		only("known items by triples, any words", nil)}
}

// wordPages are pages as numbers of words, and the pages of each word.
type wordPages struct {
	urls  []string
	texts [][]uint32
	of    map[string]*pagesOfWord
}

type pagesOfWord struct {
	id    uint32
	pages []int
}

func pagesOf(docs []index.Document) *wordPages {
	p := &wordPages{of: map[string]*pagesOfWord{}}
	for i := range docs {
		var text []uint32
		for _, word := range wordsOf(docs[i].Text) {
			w := p.of[word]
			if w == nil {
				w = &pagesOfWord{id: uint32(len(p.of))}
				p.of[word] = w
			}
			if n := len(w.pages); n == 0 || w.pages[n-1] != i {
				w.pages = append(w.pages, i)
			}
			text = append(text, w.id)
		}
		p.urls, p.texts = append(p.urls, docs[i].URL), append(p.texts, text)
	}
	return p
}

// only reports whether the wanted page alone has the words of a question as near each other as it
// has them.
func (p *wordPages) only(q Question) bool {
	var ids []uint32
	var pages []int
	for k, word := range strings.Fields(q.Text) {
		w := p.of[word]
		ids = append(ids, w.id)
		if k == 0 {
			pages = w.pages
			continue
		}
		pages = slices.DeleteFunc(slices.Clone(pages),
			func(i int) bool { _, has := slices.BinarySearch(w.pages, i); return !has })
	}
	own, best := 0, 0
	for _, i := range pages {
		n := span(p.texts[i], ids)
		if p.urls[i] == q.URL {
			own = n
		} else if best == 0 || n < best {
			best = n
		}
	}
	return best == 0 || own < best
}

// shortest is the shortest part of a passage that has all of the words.
func shortest(passage, words []string) []string {
	best := passage
	for from := range passage {
		for to := from + len(words); to <= len(passage) && to-from < len(best); to++ {
			part := passage[from:to]
			if !slices.ContainsFunc(words, func(w string) bool { return !slices.Contains(part, w) }) {
				best = part
			}
		}
	}
	return best
}

// span is the number of words of the shortest passage of a text that has all of the words, as they
// are written; 0 when it does not have them.
func span[W comparable](text, words []W) int {
	last := make([]int, len(words))
	best := 0
	for i, w := range text {
		if k := slices.Index(words, w); k >= 0 {
			last[k] = i + 1
			if from := slices.Min(last); from > 0 && (best == 0 || i+2-from < best) {
				best = i + 2 - from
			}
		}
	}
	return best
}

// same finds the pages that have the passages of the questions.
func same(docs []index.Document, questions []Question, passages [][]string) {
	of := map[string][]int{} // by first word
	for i, p := range passages {
		of[p[0]] = append(of[p[0]], i)
	}
	for _, d := range docs {
		words := wordsOf(d.Text)
		found := map[int]bool{}
		for at, w := range words {
			for _, i := range of[w] {
				if p := passages[i]; at+len(p) <= len(words) && slices.Equal(words[at:at+len(p)], p) {
					found[i] = true
				}
			}
		}
		for i := range found {
			if questions[i].URL != d.URL {
				questions[i].Same = append(questions[i].Same, d.URL)
			}
		}
	}
}

// wordsOf are the first words of a text.
func wordsOf(text string) []string {
	words := strings.FieldsFunc(strings.ToLower(text),
		func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	return words[:min(len(words), 5000)]
}

// pagesWith counts the pages that have each word.
func pagesWith(docs []index.Document) map[string]int {
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
