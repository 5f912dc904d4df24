// Package fetcher makes one HTTP GET, within limits that no server can break.
//
// A Fetcher is given a canonical URL and the address that its host was
// resolved to; it never resolves a name itself. The life of a fetch:
//
//	check the address    only public ones, or those that Options.Allowed names
//	choose a proxy       of Request.Proxies in turn, if there are any (proxies.go)
//	take or dial         a kept connection to exactly that host and address, by the same proxy and from
//	                     the same local address, else a new one
//	sign                 with Options.Signer, the host and a nonce (package botauth)
//	ask                  Request.BeforeWrite: may the request still be sent?
//	send                 one GET; no further request follows by itself
//	read                 head, then payload, each with its own limits of time and size
//	decode               gzip, deflate, br, zstd, stacked; limited by what comes out
//	keep or close        the connection goes back to the pool if it is clean
//
// The package implements HTTP/1 itself and reads heads as browsers do: a malformed line costs that
// line and the reuse of the connection, not the response (lenient.go). A payload that ends early,
// for whatever reason, is kept and marked as truncated; one without a single byte is an error
// (payload.go). When TLS negotiates HTTP/2, net/http's ClientConn speaks it. Neither repeats a
// request. http.Transport silently sends a GET a second time when a kept connection closes without
// a response, and the server then sees two requests without the politeness gap between them. Here a
// request is sent a second time only when not one byte of the first was written. A kept connection
// is checked before it is used, so one that the server has closed costs nothing. The head of a
// response is kept as received, which an archive needs and http.Transport does not give, and a kept
// connection costs no goroutine. The frames that an HTTP/2 server sends are counted below net/http
// (flood.go): more PING, SETTINGS, RST_STREAM, empty DATA, interim responses and the like than
// responses need close the connection. A server that closes kept connections without a response, or
// demands HTTP/1.1 for a request over HTTP/2, is remembered for an hour (quirks.go).
//
// A request reaches the server soon after BeforeWrite was called, or never. It
// must be written within two seconds, and on Linux the operating system closes a
// connection when nothing was acknowledged for that long (deliver.go).
//
// Limits (Options): connecting, TLS handshake, waiting for the head, the whole
// fetch; a minimum rate for the payload; bytes of the head; bytes of the payload,
// both as received and decoded; the ratio between them; disk and memory of
// all large payloads together; connections kept.
//
// Payloads beyond 256 KiB are spooled to a file without a name in
// Options.SpoolDir. The file is mapped into memory and grows with the received bytes, so a
// server that announces much and sends little takes little space and blocks no other fetch.
// The system can evict the pages of such files, the garbage collector ignores them, and readers see
// ordinary bytes. After Response.Release they must not be read.
//
// Up to eight payloads at a time between 256 KiB and 1 MiB, fewer with little LargeBodyMemory, use
// pooled buffers in place of a file.
//
// Queues: the pool of kept connections is filled by finished fetches, and emptied
// by the next fetch of the same host and by time. When it is full, the connection
// that has been idle longest is closed. Payloads beyond 256 KiB for which the disk has no
// space wait for a share of Options.LargeBodyMemory; the wait does not count
// against the time limits of the fetch.
//
// Which proxies, headers and credentials a request has is the caller's choice. The address rules
// hold behind a proxy: the server's address is resolved and judged here, and https, and everything
// over SOCKS, is connected to exactly that address. Plain HTTP over an HTTP proxy has the whole URL
// in the request, and the proxy resolves the name once more: its own rules must keep it from
// addresses that the crawl must not reach.
//
// What it does not do: follow redirects, keep cookies, choose proxies or credentials, resolve
// names, obey robots.txt, wait between requests. The callers do this where it is needed.
package fetcher
