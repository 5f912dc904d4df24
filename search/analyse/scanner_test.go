package analyse

import (
	"strings"
	"testing"
)

// TestInvisible has characters that are within words and not seen (Unicode Standard Annex 29, rules
// WB3a to WB4), and the one of them that ends words.
func TestInvisible(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"Donau\u00addampfer":                   "donaudampfer",
		"Do\u00adnau\u00ad\u00addamp\u00adfer": "donaudampfer",
		"\u00adDonau\u00ad fährt\u00ad.":       "donau fahrt",
		"نمی\u200cخواهم":                       "نمیخواهم",
		"क्\u200dष":                            "क्ष",
		"word\u2060joiner":                     "wordjoiner",
		"zero\ufeffwidth":                      "zerowidth",
		"left\u200eto\u202aright\u202c":        "lefttoright",
		"two\u200bwords":                       "two words",
		"two\u00ad\u200bwords":                 "two words",
		"a\u00ad-b":                            "a b",
		"漢\u200d字":                             "漢字",
		"漢\u200b字":                             "漢 字",
		"日\u2060本\u2060語":                      "日本 本語",
		"x漢\u00adx":                            "x 漢 x",
		"über\u00admut C\u00ad++":              "ubermut c",
		"broken\xad\xffbytes":                  "broken bytes",
		"\u00ad\u200d":                         "",
	} {
		var got []string
		for s := NewScanner(text); s.Next(); {
			got = append(got, string(s.Word()))
			from, to := s.Span()
			if strings.Trim(text[from:to], "\u00ad\u200b\u200c\u200d\u2060 ") != text[from:to] {
				t.Errorf("%+q: the word %s stands at %+q", text, s.Word(), text[from:to])
			}
		}
		if g := strings.Join(got, " "); g != want {
			t.Errorf("%+q: %q, want %q", text, g, want)
		}
	}
}

// TestForm has words with what an apostrophe joins to them, and pairs that go on from others.
func TestForm(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"The server's port":   "the server's port",
		"don’t Don't DON'T":   "don't don't don't",
		"l'eau d’Ouest qu'il": "l'eau d'ouest qu'il",
		"d'l'eau's x":         "d'l'eau's x",
		"o'clock O'Brien's":   "o'clock o'brien's",
		"rock'n'roll":         "rock n'roll",
		"'quoted' words'":     "quoted words",
		"l' eau":              "l eau",
		"l'\u00e9t\u00e9":     "l'ete",
		"東京都、京都":              "東京 '京都 京都",
		"x東京y京":               "x 東京 y 京",
		"C++'s c#":            "c++'s c#",
		"":                    "",
	} {
		var got []string
		for s := NewScanner(text); s.Next(); {
			got = append(got, string(s.Form()))
		}
		if g := strings.Join(got, " "); g != want {
			t.Errorf("%+q: %q, want %q", text, g, want)
		}
	}
}

// TestFits: more than what is asked for may stand before or after an apostrophe, at the ends only.
func TestFits(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		form, asked string
		fits        string // of: within, first, last, alone
	}{
		{"server", "server", "wfla"},
		{"server's", "server", "la"},
		{"l'eau", "eau", "fa"},
		{"l'eau's", "eau", "a"},
		{"server's", "server's", "wfla"},
		{"server", "server's", ""},
		{"l'eau", "l'", ""},
		{"'京都", "京都", "fa"},
		{"京都", "'京都", ""},
		{"servers", "server", ""},
		{"observers", "servers", ""},
	} {
		got := ""
		for i, where := range []string{"w", "f", "l", "a"} {
			if Fits(c.form, c.asked, i&1 == 1, i&2 == 2) {
				got += where
			}
		}
		if got != c.fits {
			t.Errorf("%q where %q is asked for: %q, want %q", c.form, c.asked, got, c.fits)
		}
	}
}

// FuzzInvisible checks that soft hyphens change no word, wherever in it they stand.
func FuzzInvisible(f *testing.F) {
	f.Add("Donaudampfer 漢字 l'eau C++ it's", uint8(3))
	f.Fuzz(func(t *testing.T, text string, at uint8) {
		words := func(s string) (all []string) {
			for w := NewScanner(s); w.Next(); {
				all = append(all, string(w.Word()))
			}
			return all
		}
		runes := []rune(text)
		i := int(at)
		if i == 0 || i >= len(runes) || !wordRune(runes[i-1]) || !wordRune(runes[i]) ||
			strings.ContainsAny(text, "'’+#") {
			return
		}
		hyphenated := string(runes[:i]) + "\u00ad" + string(runes[i:])
		if got, want := strings.Join(words(hyphenated), " "),
			strings.Join(words(string(runes)), " "); got != want {
			t.Errorf("%+q: %q, without %q", hyphenated, got, want)
		}
	})
}
