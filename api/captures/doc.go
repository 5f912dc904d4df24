// Package captures implements the CDX server API of web archives, which replay tools use to ask for
// the captures of a URL, a host or a domain. It reads lines of a CDXJ index, sorted by key and
// time, and filters, collapses and prints them one at a time: its memory does not depend on the
// number of captures. Only with a negative limit are lines kept, at most MaxLast.
//
// The package does no I/O but to the writer that it is given. What a client sends is hostile:
// patterns are bounded, and match in linear time.
package captures
