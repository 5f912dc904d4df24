// Package replay has the verb replay: archived pages in a browser, as they were, from the archive alone.
//
//	verb.go    the command: where captures come from, the listener
//	sites.go   the front page: the sites of the archive
//	source.go  captures of a URL by time: WARC files of whatever origin, data directories, a running cluster
//	server.go  the pages: which capture is shown, links rewritten, headers
//	seal.go    what is sent of a capture, and as what
//	memento.go times: Memento headers, time maps (RFC 7089)
//
// # Walls
//
// What a page sent is hostile. A replayed page loads nothing but from this server:
//
//   - every address in HTML and CSS is rewritten to lead here, also those of what was not archived, which get a page that says so;
//   - pages, and XML that browsers show, are written anew (rewrite.Seal), in HTML and UTF-8: what the reader cannot read, whatever
//     asks for a connection, and all scripts are left out;
//   - the content policy allows this server only, and no scripts, forms, connections, frames of others or base;
//   - the page is sandboxed: its origin is its own, so it reads nothing of other pages, and nothing of this server's;
//   - no header of the archived answer is passed on but its media type, in a form that browsers read alike, so no cookie, no Link,
//     no refresh.
//
// A name look-up that an element could ask for leads here too, as its address does.
//
// The listener is on loopback, and requests whose Host is a name are refused (DNS rebinding).
//
// # Bounds
//
// A capture is in memory while it is sent, unpacked to at most --max-body bytes; at most 4 are, others wait. A client
// that does not read its answer for a minute is dropped. Indexes of WARC files without one are made at the start, in a
// temporary folder. Sites are counted in a goroutine of its own, up to 100,000. Each request is a
// goroutine of net/http; the verb waits for them at its end.
package replay
