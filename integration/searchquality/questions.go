package searchquality

import (
	"math/rand/v2"
	"slices"
	"strings"
	"unicode"

	"crawlnode/store/search"
)

// Question is a text whose answer is known.
type Question struct {
	Text string
	URL  string
	// Same are further pages that hold, word for word, the passage that the question was made of: from the first of its
	// words to the last. Nothing in the question says which of them is meant.
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
func Sets(docs []search.Document) []Set {
	r := rand.New(rand.NewPCG(1, 2))
	sets := []Set{
		{"titles", 0.90, titles(docs, r, 500)},
		{"titles with an error", 0.80, nil},
		{"triples, the rarest words", 0.85, triples(docs, r, 300, pagesWith(docs))},
		{"triples, any words", 0.85, triples(docs, r, 300, nil)},
	}
	sets[1].Questions = misspelt(titles(docs, r, 300), r)
	return sets
}

// titles returns n questions that are titles which one page has only.
func titles(docs []search.Document, r *rand.Rand, n int) []Question {
	count := map[string]int{}
	for _, d := range docs {
		count[strings.ToLower(d.Title)]++
	}
	var out []Question
	for _, i := range r.Perm(len(docs)) {
		if d := docs[i]; len(out) < n && len(strings.Fields(d.Title)) >= 2 && count[strings.ToLower(d.Title)] == 1 {
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

// triples returns n questions of three words that stand within twelve of a text: with rare, the three that
// fewest pages have, else the first three of five letters at least.
func triples(docs []search.Document, r *rand.Rand, n int, rare map[string]int) []Question {
	var out []Question
	var passages [][]string
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
	same(docs, out, passages)
	return out
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

// span is the number of words of the shortest passage of a text that has all of the words, as they are written; 0 when
// it does not have them.
func span(text string, words []string) int {
	last := make([]int, len(words))
	best := 0
	for i, w := range wordsOf(text) {
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
func same(docs []search.Document, questions []Question, passages [][]string) {
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
