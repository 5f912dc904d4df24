package analyse

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxWord is the largest number of bytes of a word; what is longer is cut.
const MaxWord = 48

// Scanner walks over the words of a text.
type Scanner struct {
	text string
	at   int
	// run: at is within characters of a script without spaces; the next pair begins with the second
	// of the last pair.
	run bool

	word       []byte
	start, end int

	// What is written together with the word and is not in word: the articles before it, each with
	// its apostrophe, that end at headEnd; the ending after an apostrophe. A pair that goes on from
	// the one before has an apostrophe as its head.
	head    []byte
	headEnd int
	tail    string
	form    []byte
}

// NewScanner starts at the beginning of text, which may hold broken UTF-8.
func NewScanner(text string) *Scanner { return &Scanner{text: text} }

// Reset starts again with another text; the buffer is kept.
func (s *Scanner) Reset(text string) {
	*s = Scanner{text: text, word: s.word[:0], head: s.head[:0], form: s.form[:0]}
}

// Word is the word found by Next, folded; valid until the next call of Next.
func (s *Scanner) Word() []byte { return s.word }

// Form is the word found by Next as it is written: with what an apostrophe joins to it ("l'eau",
// "don't"), which Word leaves out, and with an apostrophe before a pair of characters that overlaps
// the pair before it. It is folded as Word is, and valid until the next call of Next.
func (s *Scanner) Form() []byte {
	if len(s.head) == 0 && s.tail == "" {
		return s.word
	}
	s.form = append(append(s.form[:0], s.head...), s.word...)
	if s.tail != "" {
		s.form = append(s.form, '\'')
		for i := range len(s.tail) {
			s.form = append(s.form, lower(s.tail[i]))
		}
	}
	return s.form
}

// Span is where the word stands in the text, as bytes from and to.
func (s *Scanner) Span() (from, to int) { return s.start, s.end }

// Next finds the next word.
func (s *Scanner) Next() bool {
	for s.at < len(s.text) {
		if c := s.text[s.at]; c < utf8.RuneSelf {
			if !alnum(c) {
				s.at++
				s.run = false
				continue
			}
		} else {
			r, n := utf8.DecodeRuneInString(s.text[s.at:])
			if unspaced(r) {
				if s.pair(r, n) {
					return true
				}
				continue
			}
			if !wordRune(r) {
				s.at += n
				s.run = false
				continue
			}
		}
		s.run = false
		if s.spaced() {
			return true
		}
	}
	return false
}

// pair takes the characters at s.at, r of n bytes, and the one after it. It is false for
// the last character of a run, which the pair before it has taken.
func (s *Scanner) pair(r rune, n int) bool {
	gap := invisible(s.text[s.at+n:])
	next, m := utf8.DecodeRuneInString(s.text[s.at+n+gap:])
	if m == 0 || !unspaced(next) {
		gap, m = 0, 0
	}
	inRun := s.run
	s.run = m > 0
	s.start, s.end = s.at, s.at+n+gap+m
	s.at += n + gap
	if m == 0 && inRun {
		return false
	}
	s.word, s.head, s.tail = utf8.AppendRune(s.word[:0], r), s.head[:0], ""
	if inRun {
		s.head = append(s.head, '\'')
	}
	if m > 0 {
		s.word = utf8.AppendRune(s.word, next)
	}
	return true
}

// spaced takes a word of letters and digits. It is false when nothing is left of it.
func (s *Scanner) spaced() bool {
	s.word, s.start, s.tail = s.word[:0], s.at, ""
	if s.headEnd != s.at {
		s.head = s.head[:0]
	}
	letters := 0
	for s.at < len(s.text) {
		c := s.text[s.at]
		if c < utf8.RuneSelf {
			if !alnum(c) {
				break
			}
			s.word = append(s.word, lower(c))
			s.at++
			letters++
			continue
		}
		gap := invisible(s.text[s.at:])
		r, n := utf8.DecodeRuneInString(s.text[s.at+gap:])
		if unspaced(r) || !wordRune(r) {
			break
		}
		if s.at += gap; gap > 0 {
			continue
		}
		s.word = appendFolded(s.word, r)
		s.at += n
		letters++
	}
	s.end = s.at
	s.signs()
	if s.apostrophe(letters) {
		return false
	}
	if len(s.word) > MaxWord {
		cut := MaxWord
		for cut > 0 && !utf8.RuneStart(s.word[cut]) {
			cut--
		}
		s.word = s.word[:cut]
	}
	return len(s.word) > 0
}

// signs takes the signs of names such as C++ and F#.
func (s *Scanner) signs() {
	rest := s.text[s.at:]
	if len(s.word) != 1 || s.word[0] < 'a' || s.word[0] > 'z' {
		return
	}
	n := 0
	switch {
	case len(rest) >= 2 && rest[:2] == "++":
		n = 2
	case len(rest) >= 1 && rest[0] == '#':
		n = 1
	}
	if n == 0 || len(rest) > n && alnum(rest[n]) {
		return
	}
	s.word = append(s.word, rest[:n]...)
	s.at += n
	s.end = s.at
}

// apostrophe leaves out what is written together with a word: the end of "it's" and the beginning
// of "l'eau". It is true when the word that was read is such a beginning.
func (s *Scanner) apostrophe(letters int) bool {
	rest := s.text[s.at:]
	var n int
	switch {
	case len(rest) > 1 && rest[0] == '\'':
		n = 1
	case len(rest) > 3 && rest[:3] == "’":
		n = 3
	default:
		return false
	}
	end := n
	for end < len(rest) && end < n+3 && alnum(rest[end]) {
		end++
	}
	if next, _ := utf8.DecodeRuneInString(rest[end:]); end < len(rest) && wordRune(next) {
		end = n // the part is longer: no ending
	}
	switch rest[n:end] {
	case "s", "t", "re", "ve", "ll", "d", "m", "S", "T":
		s.tail = rest[n:end]
		s.at += end
		return false
	}
	next, _ := utf8.DecodeRuneInString(rest[n:])
	if letters > 2 || !wordRune(next) {
		return false
	}
	if len(s.head) < MaxWord { // of a'b'c'd… the end
		s.head = append(append(s.head, s.word...), '\'')
	}
	s.headEnd = s.at + n
	return true
}

// Fits reports whether a form of Form is the one that is asked for in a phrase. At the ends of the
// phrase the form may have more that an apostrophe sets apart: "the server" is in "the server's
// port", "the server port" is not.
func Fits(form, asked string, first, last bool) bool {
	return form == asked || first && strings.HasSuffix(form, "'"+asked) ||
		last && strings.HasPrefix(form, asked+"'") ||
		first && last && strings.Contains(form, "'"+asked+"'")
}

// invisible is the length of the characters at the beginning of s that are part of the word around
// them and not seen: the soft hyphen, joiners and non-joiners, marks of direction (Unicode Standard
// Annex 29, rule WB4: characters of the category Format). A zero width space is none of them: words
// end there.
func invisible(s string) (length int) {
	for length < len(s) && s[length] >= utf8.RuneSelf {
		r, n := utf8.DecodeRuneInString(s[length:])
		if r == 0x200B || !unicode.Is(unicode.Cf, r) {
			break
		}
		length += n
	}
	return length
}

func alnum(c byte) bool {
	return c-'a' < 26 || c-'A' < 26 || c-'0' < 10
}

func lower(c byte) byte {
	if c-'A' < 26 {
		return c + 'a' - 'A'
	}
	return c
}

// wordRune reports whether r is part of a word: letters, digits and the marks upon them.
func wordRune(r rune) bool {
	return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsDigit(r))
}

// unspaced reports whether r belongs to a script that writes words without spaces.
func unspaced(r rune) bool {
	switch {
	case r < 0x0E00:
		return false
	case r <= 0x0EFF: // Thai, Lao
		return unicode.IsLetter(r) || unicode.IsMark(r)
	case r >= 0x1000 && r <= 0x109F, r >= 0x1780 && r <= 0x17D3: // Burmese, Khmer
		return unicode.IsLetter(r) || unicode.IsMark(r)
	case r < 0x2E80:
		return false
	case r >= 0x3040 && r <= 0x30FF: // Kana, but the dot between names
		return r != 0x30FB
	case r >= 0x3400 && r <= 0x4DBF, r >= 0x4E00 && r <= 0x9FFF, r >= 0xF900 && r <= 0xFAFF,
		r >= 0x20000 && r <= 0x3FFFF:
		return true
	case r >= 0xAC00 && r <= 0xD7A3, r >= 0xFF66 && r <= 0xFF9F, r == 0x3005, r == 0x3007:
		return true
	}
	return false
}
