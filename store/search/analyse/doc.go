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
// A word is stemmed in the language of its document, and the term is marked with the language: so a
// word of a question finds documents of all languages, in each by the rules of that language. A
// language without rules (Other) keeps its words as they are.
//
// Stop words are those that are so common in a language that they say nothing. Which texts leave
// them out is decided above.
//
// The package does no I/O and starts no goroutine. A Scanner and a Stemmer have one user.
package analyse
