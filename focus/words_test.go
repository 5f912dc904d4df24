package focus

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// split returns the words of a text as their lower-case forms, and their hashes.
func split(text string) (list []string, hashes []uint64) {
	w := words{text: []byte(text)}
	for h := w.next(); h != 0; h = w.next() {
		list = append(list, string(bytes.ToLower(w.text[w.start:w.end])))
		hashes = append(hashes, h)
	}
	return list, hashes
}

func TestWords(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", ""},
		{"one", "one"},
		{"The CREATE INDEX statement, in version 9.4!", "the create index statement in version"},
		{"lang_createindex.html?x=utf8&n=12345678901", "lang createindex html x utf8 n"},
		{"incomprehensibilities 1234567890123 x1234567890123", "incomprehensibilities x1234567890123"},
		{"Größe ÉTÉ naïve", "größe été naïve"},
		{"Команда СОЗДАЁТ индекс", "команда создаёт индекс"},
		{"abcdefgh abcdefghi abcdefgé", "abcdefgh abcdefghi abcdefgé"},
		{"索引 INDEX主要", "索 引 index 主 要"},
		{"データベース 한국", "デ ー タ ベ ー ス 한 국"},
		{"a\xffb \xc3", "a b"},
		{"2nd 3 1a", "2nd 1a"},
		{"مرحبا بالعالم", "مرحبا بالعالم"},
	} {
		if got, _ := split(c.text); strings.Join(got, " ") != c.want {
			t.Errorf("%q: %q, want %q", c.text, got, c.want)
		}
	}
}

// A word has the same hash wherever it stands, however it is written, and whichever path reads it.
func TestWordsHaveOneHash(t *testing.T) {
	for _, word := range []string{"x", "index", "abcdefg", "abcdefgh", "abcdefghi", "abcdefghijklmnop",
		"abcdefghijklmnopqr", "größe", "индексированный", "索"} {
		seen := map[uint64]bool{}
		for _, text := range []string{word, " " + word, word + " ", strings.ToUpper(word),
			"            " + word + "            ", "é " + word + " é",
			strings.Repeat("y ", 9) + word + "."} {
			list, hashes := split(text)
			seen[hashes[slices.Index(list, word)]] = true
		}
		if len(seen) != 1 {
			t.Errorf("%q has %d hashes", word, len(seen))
		}
	}
	if a, b := one("aaaaaaaa"), one("aaaaaaaaa"); a == b {
		t.Error("two words have one hash")
	}
}

func one(text string) uint64 {
	_, hashes := split(text)
	return hashes[0]
}

// plainly is what words does, one character at a time.
func plainly(text string) (list []string) {
	word, letters := "", false
	end := func() {
		if letters {
			list = append(list, word)
		}
		word, letters = "", false
	}
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		kind := kindOf(r, size)
		switch i += size; kind {
		case between:
			end()
		case alone:
			end()
			list = append(list, string(r))
		default:
			word += string(unicode.ToLower(r))
			letters = letters || kind == letter
		}
	}
	end()
	return list
}

func FuzzWords(f *testing.F) {
	for _, s := range []string{"one two", "ÀÉ", "a索b", "12345678 abcdefghijkl", "Команда\xd1",
		"Ѐѿҁ Ё"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 1<<12 {
			return
		}
		_, got := split(text)
		var want []uint64
		for _, word := range plainly(text) {
			a := accumulator{}
			for i := range len(word) {
				a.addByte(word[i])
			}
			want = append(want, a.sum())
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q: %d words, want %d: %q", text, len(got), len(want), plainly(text))
		}
	})
}
