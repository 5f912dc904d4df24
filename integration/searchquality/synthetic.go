package searchquality

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"crawlnode/search/index"
)

// Synthetic makes pages of words that are as common as those of other pages are.
type Synthetic struct {
	words []string
	below []int // the number of drawings that give this word or one before
}

// NewSynthetic counts the words of pages.
func NewSynthetic(docs []index.Document) *Synthetic {
	count := map[string]int{}
	for i := range docs {
		for _, w := range wordsOf(docs[i].Text) {
			count[w]++
		}
	}
	return newSynthetic(count)
}

// NewZipf takes n words of which the k-th commonest is as common as 1/k.
func NewZipf(n int) *Synthetic {
	count := map[string]int{}
	for k := range n {
		count[spelled(k)] = 1 + 10*n/(k+1)
	}
	return newSynthetic(count)
}

// spelled is a word for a number: syllables.
func spelled(k int) string {
	var w strings.Builder
	for k += 17; k > 0; k /= 60 {
		w.WriteByte("bdfgklmnprst"[k%12])
		w.WriteByte("aeiou"[k/12%5])
	}
	return w.String()
}

func newSynthetic(count map[string]int) *Synthetic {
	s := &Synthetic{}
	for w := range count {
		s.words = append(s.words, w)
	}
	slices.SortFunc(s.words, func(a, b string) int {
		if count[a] != count[b] {
			return count[b] - count[a]
		}
		return strings.Compare(a, b)
	})
	sum := 0
	for _, w := range s.words {
		sum += count[w]
		s.below = append(s.below, sum)
	}
	return s
}

func (s *Synthetic) word(r *rand.Rand) string {
	i, _ := slices.BinarySearch(s.below, 1+r.IntN(s.below[len(s.below)-1]))
	return s.words[i]
}

// Document is page i, with about as many words in its text. The same i gives the same page.
func (s *Synthetic) Document(i, words int) index.Document {
	r := rand.New(rand.NewPCG(uint64(i), 99))
	draw := func(n int) string {
		out := make([]string, n)
		for j := range out {
			out[j] = s.word(r)
		}
		return strings.Join(out, " ")
	}
	host := fmt.Sprintf("h%d.test", r.IntN(1000))
	return index.Document{
		URL: fmt.Sprintf("http://%s/%d", host, i), Host: host, Partition: uint32(r.IntN(1024)),
		Title: draw(2 + r.IntN(6)), Headings: draw(r.IntN(10)),
		Text: draw(words/2 + r.IntN(words)), Language: "en", FetchedAt: Noon, Fingerprint: r.Uint64(),
		Importance: r.ExpFloat64(),
	}
}

// Question is one to four words of one page, as somebody would ask who looks for it.
func (s *Synthetic) Question(r *rand.Rand, pages, words int) string {
	of := strings.Fields(s.Document(r.IntN(pages), words).Text)
	at := r.IntN(max(1, len(of)-4))
	return strings.Join(of[at:min(len(of), at+1+r.IntN(4))], " ")
}

// pieces are what hostile questions are made of: the syntaxes of other engines, ends of other
// grammars, bytes that are no text.
var pieces = []string{
	`"`, `'`, "`", "-", "+", "*", "?", "**", "a*", "*a", "(", ")", "((((((((", "[1 TO 5]", "{a TO z}",
	"^2.5", "~2", "\"a b\"~5", "/.*(a+)+$/", "&&", "||", "AND", "OR", "NOT", "NEAR/3",
	"title:", "site:", "host:", "lang:", "filetype:", "before:", "after:", "inurl:", "intitle:",
	"cache:", "_exists_:", "text:(a OR b)", "title:\"", "-title:", "-site:*", "before:0000-99-99",
	"after:9999999999",
	"site:" + strings.Repeat("a.", 120), "host:[::1]", "<script>alert(1)</script>",
	"'; DROP TABLE page; --", "{\"query\":{\"match_all\":{}}}", "%00", "\x00", "\xff\xfe", "\u202e",
	"𝕬𝖇", "e\u0301\u0301\u0301\u0301",
	"東京都", "ああああああああ", "ไทย", "العربية", "עברית", "ß", "ſ", "İı", "the", "of", "a", "C++", "C#",
	"2024", "1", "…", "“", "”", "«", "\t", "\n", "\u2028", strings.Repeat("x", 300),
	strings.Repeat("e", 48),
	"zzyzzx", "qqqqqqqqqq", "elemnet", "pagge", "fukntion",
}

// Hostile is a question that nobody would ask: drawn pieces and words, up to more than an index
// takes.
func (s *Synthetic) Hostile(r *rand.Rand) string {
	var q strings.Builder
	for range 1 + r.IntN(1+r.IntN(60)) {
		switch r.IntN(4) {
		case 0:
			w := []byte(s.word(r))
			w[r.IntN(len(w))] = byte(r.IntN(256)) // mostly a word that no page has
			q.Write(w)
		case 1:
			q.WriteString(s.words[len(s.words)-1-r.IntN(len(s.words))])
		default:
			q.WriteString(pieces[r.IntN(len(pieces))])
		}
		if r.IntN(3) > 0 {
			q.WriteByte(' ')
		}
	}
	return q.String()
}
