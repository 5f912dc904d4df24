// Package analyse makes terms of text: the same for documents and for questions.
//
//	text ─ Scanner ─► words ─ Stemmer.Stem ─► stems ─ Term ─► terms of the index
//
// A Scanner finds the words: runs of letters and digits, in lower case and without accents, as
// bytes of UTF-8. Characters that are not seen, such as soft hyphens and joiners, do not end a word,
// but a zero width space does. Scripts that write no spaces (Han, Kana, Hangul, Thai, Lao, Khmer, Burmese) give
// overlapping pairs of characters. What joins words in names (a_b, a.b, a-b) separates them here; a
// question with such a name has the same parts, near each other.
//
// Words that have one term may be written differently. What tells them apart, in a phrase that is
// looked for as it is written, is the form (Form, Fits): the whole word, with what an apostrophe
// joins to it. Two pairs of characters that stand next to each other are one run of text only if
// the form of the second says so: 東京、京都 is not 東京都.
//
// A word is stemmed in the language of its document, and the term is marked with the language: so a
// word of a question finds documents of all languages, in each by the rules of that language. A
// language without rules (Other) keeps its words as they are.
//
// Stop words are those that are so common in a language that they say nothing. In a text they have
// terms of their own (Common), for phrases. Which texts those are is decided above.
//
// The package does no I/O and starts no goroutine. A Scanner and a Stemmer have one user.
package analyse
