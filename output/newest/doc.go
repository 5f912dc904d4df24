// Package newest walks over an index of captures and selects one capture for each URL: the newest
// one that says something of the page. A response that says nothing (429, 5xx, 304 without the
// capture that it refers to) does not replace one that does.
//
// The lines of one key are adjacent in an index, so memory depends on the number of URLs that share
// a key, not on the size of the archive. The package does no I/O but to read the given index.
package newest
