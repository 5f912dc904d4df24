// Package focus has the verbs for topic models: focus train trains one on two sets of pages, and
// focus score prints the scores that one gives to pages. The top-level package focus has the models
// and their training; this package reads the files with the pages, parses the flags and prints.
//
// A set of pages is read from folders of HTML and text files and from WARC files, in an order that
// depends only on their names, so that the same files make the same model. The verbs need no node
// and start no goroutine but the one that waits for a signal.
package focus
