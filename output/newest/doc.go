// Package newest walks an index of captures and finds, for each URL, the capture that counts: the newest one that says
// something of the page. An answer that says nothing (429, 5xx, 304 without what it stands for) does not replace one that
// does.
//
// The lines of one key stand together in an index, so memory depends on the URLs that share a key, not on the archive. The
// package does no I/O but to read the index that it is given.
package newest
