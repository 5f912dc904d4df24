// Package rank scores a document for a query. It is pure: numbers in, numbers out.
//
// # Words
//
// The measure is BM25 over fields (BM25F): the frequency of a word in each field counts by the
// field's weight, damped by the field's length, and saturates. The result is the word's Impact in
// the document, from 0 to 255, which is computed when the document is indexed. Lengths are compared
// with fixed typical lengths, not with the averages of an index, so that the impact does not depend
// on the node that indexes the document, and need not be recomputed when averages change. The
// weight of a word (Weight, the inverse document frequency) depends on the sum of all statistics.
//
// # Other terms of the score
//
// Words of the query that stand near each other (Closeness) add nearly as much as the words
// themselves: many pages have all words of a query somewhere, few in one passage. Importance and
// freshness add a small bounded amount each: they order documents that match equally well.
package rank
