// Package rewrite rewrites the references of a saved page or style sheet, so that it can be read
// from disk: a reference to a URL that was saved leads to the saved file, every other one to the
// web.
//
// The page is read with the tokenizer of golang.org/x/net/html, and only the values of attributes
// that are references are replaced: all other bytes, the encoding too, stay as they are. A
// reference that is no http or https URL (mailto:, javascript:, data:, a fragment of the page
// itself) stays. So does an absolute one whose target was not saved. A base element loses its href,
// since every reference that depended on it is replaced. Where a reference leads to a saved file,
// the attributes integrity and crossorigin are removed: a browser applies neither to files.
//
// Scripts are not analysed: URLs that they build lead where they led before.
//
// The package has no state and does no I/O.
package rewrite
