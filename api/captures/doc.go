// Package captures answers what is stored of a URL, a host or a domain in the words of the CDX
// server API, which archives of the web have and replay tools ask. It reads lines of a CDXJ index,
// which come sorted by key and time, and selects, shortens and prints them one at a time: its memory
// does not depend on the number of captures. Only with a negative limit are lines kept, at most
// MaxLast.
//
// The package does no I/O but to the writer that it is given. What a client sends is hostile:
// patterns are bounded, and match in linear time.
package captures
