// Package replay has the verb replay, which shows archived pages in a browser, as they were, from
// the archive alone.
//
//	verb.go    the command: where captures come from, the listener
//	sites.go   the front page: the sites of the archive
//	source.go  captures of a URL by time: WARC files of any origin, data directories, a cluster
//	server.go  the pages: which capture is shown, links rewritten, headers
//	seal.go    the body and the media type that are sent for a capture
//	memento.go times: Memento headers, time maps (RFC 7089)
//
// # Isolation
//
// Archived content is hostile. A replayed page can load only from this server:
//
//   - every URL in HTML and CSS is rewritten to lead here, also URLs that were not archived, which
//     get a page that says so;
//   - pages, and XML that browsers show, are serialised again (rewrite.Seal), in HTML and UTF-8:
//     what cannot be parsed, whatever opens a connection, and all scripts are left out;
//   - the Content-Security-Policy allows only this server, and no scripts, forms, connections,
//     foreign frames or base element;
//   - the page is sandboxed: it has an origin of its own, so it cannot read other pages or this
//     server's storage;
//   - of the archived headers only the media type is passed on, normalised so that all browsers
//     agree on it: no cookie, no Link, no Refresh.
//
// An element that asks for a name look-up names this server too.
//
// The listener is on loopback, and requests whose Host is a name are refused (DNS rebinding).
//
// # Bounds
//
// A capture is in memory while it is sent, decompressed to at most --max-body bytes; at most 4 at a
// time, others wait. A client that does not read for a minute is disconnected. WARC files without
// an index get one at the start, in a temporary folder. One goroutine counts sites, up to 100,000.
// Each request is a goroutine of net/http; the verb waits for them at its end.
package replay
