// Package listing lists the URLs of a partition page by page, in an order that does not change when
// the partition moves.
//
//	position.go   positions in that order, and the cursors made from them
//	filter.go     which URLs are listed
//	page.go       one page: records and inline URLs, merged
//	rows.go       reads both tables in pieces, so that only one iterator is open at a time
//	line.go       a stored URL as a line of a list
//
// # The order
//
// URLs are ordered by host and, within a host, by fingerprint, as the keys of their records are. A
// URL that is stored inline in its host's entry has the position that its record will have. So
// neither a fetch, nor a move to another node, nor the change from inline to a record changes a
// URL's position: a list that continues after a Position repeats no URL, and misses none that was
// stored before the list began.
//
// # Cost
//
// A page reads one snapshot and ends when its Budget is used up: lines, bytes, rows read, or time.
// Nothing but the Position is kept between two pages. Memory: the lines of a page and two pieces of
// rows.
//
// The package changes nothing, reads no clock and starts no goroutine.
package listing
