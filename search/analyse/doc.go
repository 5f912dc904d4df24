// Package analyse turns text into the terms of the index, in the same way for documents and
// queries.
//
//	text ─ Scanner ─► words ─ Stemmer.Stem ─► stems ─ Term ─► terms of the index
//
// A Scanner finds the words: runs of letters and digits, in lower case and without accents, as
// bytes of UTF-8. Invisible characters, such as soft hyphens and joiners, do not end a word, but a
// zero width space does. Han, Kana, Hangul, Thai, Lao, Khmer and Burmese are split into overlapping
// pairs of characters. Characters that join words in names (a_b, a.b, a-b) separate words here; a
// query with such a name has the same parts, next to each other.
//
// Words with the same term may be written differently. Their form (Form, Fits) distinguishes them
// in an exact phrase: the whole word, including a part that an apostrophe joins to it. Two adjacent
// pairs of characters are one run of text only if the form of the second says so: 東京、京都 is not 東京都.
//
// A word is stemmed in the language of its document, and the term is marked with the language: so a
// word of a query finds documents of all languages, in each by the rules of that language. The
// words of a language without rules (Other) are not stemmed.
//
// Stop words are so common in a language that they say nothing. In a text they have
// terms of their own (Common), for phrases. The caller decides in which texts they are indexed.
//
// The package does no I/O and starts no goroutine. One goroutine uses a Scanner or a Stemmer.
package analyse
