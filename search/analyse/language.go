package analyse

import (
	"strings"

	"github.com/blevesearch/snowballstem"
	"github.com/blevesearch/snowballstem/danish"
	"github.com/blevesearch/snowballstem/dutch"
	"github.com/blevesearch/snowballstem/english"
	"github.com/blevesearch/snowballstem/finnish"
	"github.com/blevesearch/snowballstem/french"
	"github.com/blevesearch/snowballstem/german"
	"github.com/blevesearch/snowballstem/hungarian"
	"github.com/blevesearch/snowballstem/italian"
	"github.com/blevesearch/snowballstem/norwegian"
	"github.com/blevesearch/snowballstem/portuguese"
	"github.com/blevesearch/snowballstem/romanian"
	"github.com/blevesearch/snowballstem/russian"
	"github.com/blevesearch/snowballstem/spanish"
	"github.com/blevesearch/snowballstem/swedish"
	"github.com/blevesearch/snowballstem/turkish"
)

// Language is a language with rules of its own. The letter stands in terms on disk: letters are
// never given another meaning.
type Language byte

// Other is every language without rules, and the language that is not known.
const Other Language = '_'

// rules are the languages that have any.
var rules = map[Language]struct {
	code string
	stem func(*snowballstem.Env) bool
	stop string
}{
	'A': {"en", english.Stem, stopEnglish},
	'B': {"de", german.Stem, stopGerman},
	'C': {"fr", french.Stem, stopFrench},
	'D': {"es", spanish.Stem, stopSpanish},
	'E': {"it", italian.Stem, stopItalian},
	'F': {"pt", portuguese.Stem, stopPortuguese},
	'G': {"nl", dutch.Stem, stopDutch},
	'H': {"sv", swedish.Stem, stopSwedish},
	'I': {"da", danish.Stem, stopDanish},
	'J': {"no", norwegian.Stem, stopDanish},
	'K': {"fi", finnish.Stem, ""},
	'L': {"hu", hungarian.Stem, ""},
	'M': {"ro", romanian.Stem, ""},
	'N': {"ru", russian.Stem, stopRussian},
	'O': {"tr", turkish.Stem, ""},
}

// LanguageOf is the language of a code such as "de" or "de-CH".
func LanguageOf(code string) Language {
	code = strings.ToLower(code)
	if i := strings.IndexAny(code, "-_"); i >= 0 {
		code = code[:i]
	}
	if code == "nb" || code == "nn" {
		code = "no"
	}
	for l, r := range rules {
		if r.code == code {
			return l
		}
	}
	return Other
}

// Term is the term under which the index has a stem.
func Term(l Language, stem string) string { return string(rune(l)) + stem }

// common stands in the terms of stop words in texts; no word has it.
const common = "\x01"

// Common is the term under which the index has a stop word of a language in texts: it serves
// phrases only, and is apart from the term of Term, which says what a document is about.
func Common(l Language, word string) string { return string(rune(l)) + common + word }

// Split takes a term of Term apart.
func Split(term string) (Language, string) {
	if term == "" {
		return Other, ""
	}
	return Language(term[0]), term[1:]
}

// maxStems bounds the words whose stems a Stemmer remembers, for each language.
const maxStems = 50_000

// Stemmer stems words and knows stop words. It remembers what it has stemmed.
type Stemmer struct {
	env   *snowballstem.Env
	stems map[Language]map[string]Stem
	stops map[Language]map[string]bool
}

// Stem is what a word becomes.
type Stem struct {
	Term string
	// Stop: the word is a stop word of the language.
	Stop bool
}

// NewStemmer makes a Stemmer that remembers nothing yet.
func NewStemmer() *Stemmer {
	return &Stemmer{
		env:   snowballstem.NewEnv(""),
		stems: map[Language]map[string]Stem{},
		stops: map[Language]map[string]bool{},
	}
}

// Stem is the term of a folded word in a language.
func (s *Stemmer) Stem(l Language, word []byte) Stem {
	if known, ok := s.stems[l][string(word)]; ok {
		return known
	}
	if len(s.stems[l]) >= maxStems || s.stems[l] == nil {
		s.stems[l] = map[string]Stem{}
	}
	w := string(word)
	made := Stem{Term: Term(l, s.stem(l, w)), Stop: s.stopWords(l)[w]}
	s.stems[l][w] = made
	return made
}

func (s *Stemmer) stopWords(l Language) map[string]bool {
	words, ok := s.stops[l]
	if !ok {
		words = map[string]bool{}
		for _, w := range strings.Fields(rules[l].stop) {
			words[w] = true
		}
		s.stops[l] = words
	}
	return words
}

func (s *Stemmer) stem(l Language, word string) string {
	r, ok := rules[l]
	if !ok || len(word) < 3 || strings.ContainsAny(word, "0123456789+#") {
		return word
	}
	s.env.SetCurrent(word)
	r.stem(s.env)
	if stem := s.env.Current(); stem != "" {
		return stem
	}
	return word
}
