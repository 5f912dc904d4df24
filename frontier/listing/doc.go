// Package listing reads the URLs of a partition in pages, in one order that no move changes.
//
//	position.go   places in that order, and cursors that are made of them
//	filter.go     which URLs are wanted
//	page.go       one page: records and inline URLs, merged
//	rows.go       both tables in pieces, so that only one iterator is open at a time
//	line.go       a stored URL as a line of a list
//
// # The order
//
// URLs are in the order of their hosts and, within a host, of their fingerprints: that of the keys
// of their records. A host's only URL that stands inline in the host's entry has the place which
// its record will have. So neither a fetch, nor a move to another node, nor the end of being inline
// changes a URL's place: a list that goes on behind a Position has no URL twice, and misses none that
// was stored before the list began.
//
// # Cost
//
// A page reads one snapshot and ends with its Budget: after so many lines, bytes or rows read, or
// when its time is over. Nothing is kept between two pages but the Position. Memory is that of the
// lines and of two pieces of rows.
//
// The package changes nothing, reads no clock and starts no goroutine.
package listing
