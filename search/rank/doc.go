// Package rank says how good a document is for a question. It is pure: numbers in, numbers out.
//
// # Words
//
// The measure is BM25 over fields (BM25F): how often a word is in each field counts by the field's
// weight, damped by the field's length, and saturates: Impact, from 0 to 255, is known when a
// document is indexed and is all that its score needs of it. Lengths are compared with fixed
// ordinary lengths, not with the averages of an index, so that the impact does not depend on where
// a document lives and need not be computed anew when averages move. What a word is worth
// (Weight, the inverse document frequency) depends on the sum of all statistics.
//
// # Other shares
//
// Words of the question that stand near each other (Closeness) add nearly as much as the words themselves: many pages have all
// words of a question somewhere, few in one passage. Importance and freshness add a small bounded share each: they order documents that the
// words find equally good.
package rank
