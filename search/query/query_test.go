package query

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestParse(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", "nothing to look for"},
		{" !!! () ", "nothing to look for"},
		{"one Two", "one and two"},
		{"one one ONE", "one"},
		{`"the state of the art" now`, `"the state of the art" and now`},
		{`“curly quotes”`, `"curly quotes"`},
		{`"never closed`, `"never closed"`},
		{`"one"`, `"one"`},
		{`one "one" -"one"`, `one and "one", without "one"`},
		{`"Don’t" "don't"`, `"don't"`},
		{`"l'eau de l'ouest's"`, `"l'eau de l'ouest's"`},
		{`"東京都庁、大阪 x"`, `"東京都庁 大阪 x"`},
		{`title:"the end"`, `"the end" in the title`},
		{`"C++ e.g. a_b"`, `"c++ e g a b"`},
		{`a -b -"c d"`, `a, without b or "c d"`},
		{"-only", "everything, without only"},
		{"a - b", "a and b"},
		{"conf*", "conf*"},
		{"c*", "c"},
		{"*", "nothing to look for"},
		{"title:guide intitle:book", "guide in the title and book in the title"},
		{`title:"a guide"`, `"a guide" in the title`},
		{"site:https://Example.org/x host:a.b -site:c.d", "on site example.org and on host a.b, without on site c.d"},
		{"host:bücher.example site:Bücher.Example host:BÜCHER.example/x", "on host xn--bcher-kva.example and on site xn--bcher-kva.example"},
		{"host:xn--bcher-kva.example -site:XN--bcher-kva.example.", "on host xn--bcher-kva.example, without on site xn--bcher-kva.example"},
		{"site:*.bu\u0308cher.example host:b\u00fccher\u3002example", "on site xn--bcher-kva.example and on host xn--bcher-kva.example"},
		{"host:ПРИМЕР.испытание domain:https://例え.テスト/", "on host xn--e1afmkfd.xn--80akhbyknj4f and on site xn--r8jz45g.xn--zckzah"},
		{"site:ö", "on site xn--nda"},
		{"Donau\u00addampfer nami\u200ckhaham", "donaudampfer and namikhaham"},
		{"lang:de-CH filetype:.PDF", "in language de and of file type pdf"},
		{"x before:2024 after:2023-05-06", "x and fetched at 2023-05-06 or later and fetched before 2024-01-01"},
		{"before:yesterday", "before and yesterday"},
		{"unknown:word a:b:c", "unknown and word and a and b and c"},
		{"node.js pg_stat C++ C#", "node and js and pg and stat and c++ and c#"},
		{"it's l'eau", "it and eau"},
		{"Résumé ÜBER", "resume and uber"},
		{"東京都", `"東京 京都"`},
		{"京", "京"},
		{"a AND (b OR c)^2 ~d /e/", "a and and and b and or and c and 2 and d and e"},
	} {
		q := Parse(c.text)
		if got := q.String(); got != c.want {
			t.Errorf("%q is read as %q, want %q", c.text, got, c.want)
		}
	}
}

func TestLimits(t *testing.T) {
	q := Parse(strings.Repeat("word* ", 10) + strings.Repeat("x", 5000))
	if len(q.Text) > MaxBytes || !q.Cut {
		t.Errorf("%d bytes, cut %v", len(q.Text), q.Cut)
	}
	var many strings.Builder
	for i := range 100 {
		many.WriteString(string(rune('a'+i%26)) + strings.Repeat("b", i/26+1) + "* site:h" +
			string(rune('a'+i%26)) + " ")
	}
	q = Parse(many.String())
	prefixes := 0
	for _, c := range q.Clauses {
		if c.Kind == Prefix {
			prefixes++
		}
	}
	if len(q.Clauses) > MaxClauses || len(q.Filters) > MaxFilters || prefixes > MaxPrefixes || !q.Cut {
		t.Errorf("%d clauses, %d beginnings, %d filters, cut %v", len(q.Clauses), prefixes,
			len(q.Filters), q.Cut)
	}
}

// TestLongPhrases: a phrase may have more words than anybody types; what is cut off says so, and no
// word is looked for of which only the beginning was read.
func TestLongPhrases(t *testing.T) {
	for _, c := range []struct {
		text  string
		words int
		cut   bool
	}{
		{`"` + strings.Repeat("word ", 20) + `"`, 20, false},
		{`"` + strings.Repeat("w ", MaxPhrase) + `"`, MaxPhrase, false},
		{`"` + strings.Repeat("w ", MaxPhrase+1) + `"`, MaxPhrase, true},
		{`"` + strings.Repeat("sentences ", 300) + `"`, 204, true},
		{`"` + strings.Repeat("字", 200) + `"`, 199, false},
		{`"` + strings.Repeat("字", 900) + `"`, MaxPhrase, true},
	} {
		q := Parse(c.text)
		if len(q.Clauses) != 1 || len(q.Clauses[0].Words) != c.words || q.Cut != c.cut {
			t.Errorf("%.20s… of %d bytes: %+v", c.text, len(c.text), q)
			continue
		}
		if last := q.Clauses[0].Words[c.words-1]; last != q.Clauses[0].Words[0] && last != "字字" {
			t.Errorf("%.20s… ends with %q", c.text, last)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(`"a b" -c title:d* site:e "`)
	f.Add("before:2024-13-01 -- - : :x -: ““ 東京* \xff\xfe")
	f.Fuzz(func(t *testing.T, text string) {
		q := Parse(text)
		if len(q.Clauses) > MaxClauses || len(q.Filters) > MaxFilters || len(q.Text) > MaxBytes {
			t.Error("a limit was passed")
		}
		for _, c := range q.Clauses {
			if len(c.Words) == 0 || len(c.Words) > MaxPhrase || c.From > c.To || c.To > len(q.Text) ||
				c.Kind != Phrase && len(c.Words) != 1 ||
				c.Exact != (len(c.Forms) > 0) || c.Exact && len(c.Forms) != len(c.Words) {
				t.Errorf("%+v", c)
			}
			for _, w := range c.Words {
				if w == "" || !utf8.ValidString(w) {
					t.Errorf("word %q", w)
				}
			}
		}
		_ = q.String()
	})
}
