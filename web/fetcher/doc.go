// Package fetcher makes one HTTP GET, within limits that no server can break.
//
// A Fetcher is given a canonical URL and the address that its host was
// resolved to; it never resolves a name itself. The life of a fetch:
//
//	check the address    only public ones, or those that Options.Allowed names
//	take or dial         a kept connection to exactly that host and address, else a new one
//	ask                  Request.BeforeWrite: may it be sent still?
//	send                 one GET; nothing else ever follows on its own account
//	read                 head, then payload, each with its own limits of time and size
//	decode               gzip, deflate, br, zstd, stacked; limited by what comes out
//	keep or close        the connection goes back to the pool when it is clean
//
// HTTP/1 is spoken by this package itself, with the parser of net/http
// (http.ReadResponse); HTTP/2, when TLS agrees on it, by net/http's ClientConn.
// Neither repeats a request. That is the reason: http.Transport silently sends
// a GET a second time when a kept connection closes without an answer, and the
// server has then seen two requests without the gap that politeness owes it.
// Here a request is sent a second time only when not one byte of the first was
// written. A kept connection is looked at before it is used, so one that
// the server closed meanwhile costs nothing. The head of an answer is kept as
// it came, which an archive needs and http.Transport cannot give, and a kept
// connection costs no goroutine. The frames that an HTTP/2 server sends are counted below
// net/http (flood.go): PING, SETTINGS, RST_STREAM, empty DATA, interim answers and the like
// beyond what answers take close the connection.
//
// A request reaches the server soon after BeforeWrite was asked, or never: it
// must be written within two seconds, and on Linux the operating system gives a
// connection up on which nothing was acknowledged for so long (deliver.go).
//
// Limits (Options): connecting, TLS handshake, waiting for the head, the whole
// fetch; a least rate for the payload; bytes of the head; bytes of the payload,
// both as received and decoded; the ratio between them; disk and memory of
// all large payloads together; connections kept.
//
// Payloads beyond 256 KiB are spooled: they lie in a file without a name in
// Options.SpoolDir that is mapped into memory and grows with what was received, so a
// server that promises much and sends little holds little, and keeps nobody waiting.
// The system can take their pages back, they leave no garbage, and those who read them
// see bytes as before; after Response.Release there is nothing to be read any more.
//
// Queues: the pool of kept connections is filled by finished fetches, emptied
// by the next fetch of the same host and by time; when full, the connection
// that has been idle longest is closed. Payloads beyond 256 KiB that find no place
// on the disk wait for a share of Options.LargeBodyMemory; the wait does not count
// against their time.
//
// What it does not do: follow redirects, keep cookies, use proxies, send
// credentials, resolve names, obey robots.txt, wait between requests. Those
// who call it do what of that is wanted.
package fetcher
