// Package replay has the verb replay: archived pages in a browser, as they were, from the archive alone.
//
//	verb.go    the command: where captures come from, the listener
//	source.go  captures of a URL by time: WARC files of whatever origin, data directories, a running cluster
//	server.go  the pages: which capture is shown, links rewritten, headers
//	memento.go times: Memento headers, time maps (RFC 7089)
//
// # Walls
//
// What a page sent is hostile. A replayed page loads nothing but from this server:
//
//   - every address in HTML and CSS is rewritten to lead here, also those of what was not archived, which get a page that says so;
//   - the content policy allows this server only, and no scripts, forms, connections, frames of others or base;
//   - the page is sandboxed: its origin is its own, so it reads nothing of other pages, and nothing of this server's;
//   - no header of the archived answer is passed on but its media type, so no cookie, no Link, no refresh.
//
// A name look-up that an element could ask for leads here too, as its address does.
//
// The listener is on loopback, and requests whose Host is a name are refused (DNS rebinding).
//
// # Bounds
//
// A page is in memory while it is sent, at most MaxContent bytes. Indexes of WARC files without one are made at the start, in a
// temporary folder. Each request is a goroutine of net/http; the verb waits for them at its end.
package replay
