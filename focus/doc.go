// Package focus scores how well pages and links fit a topic that was learnt from examples, for a
// focused crawl (Chakrabarti, van den Berg, Dom 1999).
//
// # The model
//
// A Model is linear. A text is the set of its words and of its pairs of neighbouring words, each
// hashed to one of 2^18 features; a feature has a weight of one byte. The margin of a text is the
// sum of its weights over the square root of the size of the set, so that long pages do not score
// more extremely than short ones. A logistic curve maps a margin to a score from 0 to 1: 0.5 means
// that the page is equally like both sets, whatever their sizes. Page scores and link scores have a
// curve each, fitted to texts that were not used for the weights.
//
// No list of stop words is needed, and no language is preferred: a word that is equally frequent in
// both sets gets no weight. Words are runs of letters and digits in lower case; in scripts that are
// written without spaces (Chinese, Japanese, Korean, Thai and their kin) each character is a word,
// so that pairs of characters count. Digits alone do not count.
//
// # Training
//
// A Trainer takes pages of both sets and fits the weights by logistic regression with L2
// regularisation: dual coordinate descent (Yu, Huang, Lin 2011), which needs no learning rate. Both
// sets count the same, whatever their sizes. Five-fold cross-validation chooses the regularisation,
// fits the curves and measures how well the model separates pages that it was not trained on. The
// same pages, order and seed give the same model.
//
// # The files
//
//	words.go     a text becomes hashes of words
//	model.go     Model: scores of pages and links, and how both decide
//	file.go      the file format of models; it checks what it reads
//	trainer.go   Trainer: pages become sets of features
//	descent.go   the weights
//	validate.go  cross-validation, the curves, the measurements
//	train.go     Train: all of it in order, and the report
//
// # Use
//
// A Model does not change and is safe for concurrent use. Scoring allocates nothing and takes time
// in proportion to the text, of which MaxText bytes are read. A Trainer has one owner; its memory
// is bounded by MaxPages pages of each set.
//
// What the package does not do: it reads no files and no HTML, and it does not decide which links
// are followed. It is pure: no clock, no I/O, no goroutine; randomness comes from a seed.
package focus
