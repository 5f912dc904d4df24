// Package focus holds the verbs about topic models: focus train makes one from two sets of pages, and focus score shows
// what one thinks of pages. What a model is and how it is learnt is the part of the package focus above; here are
// the files that pages are read from, the flags and what is printed.
//
// A set of pages is read from folders of HTML and text files and from WARC files, in an order that depends
// on their names only, so that the same files make the same model. The verbs need no node and start no
// goroutine but the one that waits for a signal.
package focus
