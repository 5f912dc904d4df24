package analyse

import (
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// tableEnd bounds the characters whose folded forms are kept in a table: the scripts with case and
// accents, Latin, Greek and Cyrillic, are below it.
const tableEnd = 0x2000

// letters that do not decompose, and those that are letters of their own in spite of a mark.
var letters = map[rune]string{
	'ß': "ss", 'æ': "ae", 'œ': "oe", 'ø': "o", 'ł': "l", 'đ': "d", 'ð': "d", 'þ': "th", 'ħ': "h",
	'ı': "i", 'ŋ': "n",
	'й': "й", 'ё': "е", 'ї': "ї", 'ў': "ў", 'ς': "σ",
}

// table is made when the first character beyond ASCII is met.
var table = sync.OnceValue(func() *[tableEnd]string {
	t := new([tableEnd]string)
	for r := rune(utf8.RuneSelf); r < tableEnd; r++ {
		t[r] = fold(r)
	}
	return t
})

// appendFolded appends r in lower case and without accents.
func appendFolded(dst []byte, r rune) []byte {
	if r < tableEnd {
		return append(dst, table()[r]...)
	}
	return append(dst, fold(r)...)
}

func fold(r rune) string {
	l := unicode.ToLower(r)
	if s, ok := letters[l]; ok {
		return s
	}
	if diacritic(l) {
		return ""
	}
	var out []byte
	for _, d := range norm.NFKD.String(string(l)) {
		switch s, ok := letters[unicode.ToLower(d)]; {
		case ok:
			out = append(out, s...)
		case !diacritic(d) && (unicode.IsLetter(d) || unicode.IsMark(d) || unicode.IsDigit(d)):
			out = utf8.AppendRune(out, unicode.ToLower(d))
		}
	}
	return string(out)
}

// diacritic reports whether r is a mark that folding removes: those of Latin, Greek and Cyrillic,
// and the points of Arabic and Hebrew, which say vowels and are mostly not written (decision 0231).
// Hamza and madda are part of their letter. The vowel signs of other scripts are kept.
func diacritic(r rune) bool {
	switch {
	case r >= 0x0300 && r <= 0x036F:
		return true
	case r >= 0x0591 && r <= 0x05C7: // Hebrew
		return unicode.IsMark(r)
	}
	// Arabic; tatweel only makes a word longer
	return r >= 0x064B && r <= 0x0652 || r == 0x0670 || r == 0x0640
}

// Fold is a text as the Scanner folds its letters; everything else is kept.
func Fold(s string) string {
	out := make([]byte, 0, len(s))
	for _, r := range s {
		switch {
		case r < utf8.RuneSelf:
			out = append(out, lower(byte(r)))
		case wordRune(r):
			out = appendFolded(out, r)
		default:
			out = utf8.AppendRune(out, r)
		}
	}
	return string(out)
}
