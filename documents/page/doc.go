// Package page writes the page that a document becomes: HTML in UTF-8 that the readers of web pages
// understand. Whatever text it is given, the result is well-formed, has no scripts, and is at most
// as long as its limit; what does not fit is left out, and Truncated says so.
//
// A Writer is used by one goroutine. It does no I/O.
package page
