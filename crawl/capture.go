package crawl

import (
	"net/netip"
	"time"

	"crawlnode/web/urlnorm"
)

// Capture is one HTTP exchange on its way into the archive. The archive may
// read its byte slices until Put returns and must not keep or change them.
type Capture struct {
	URL       urlnorm.URL
	FetchedAt time.Time  // wall time at the start of the request
	Addr      netip.Addr // the address that answered
	Status    int        // HTTP status of the answer
	// RequestHead is the request as it was sent: request line and header
	// lines, each ended by CR LF, with the empty line that ends them. A GET
	// has no body.
	RequestHead []byte
	// ResponseHead is the head of the answer in the same form: status line,
	// header lines, empty line. It never says Transfer-Encoding, because Body
	// has none; an HTTP/2 head is written as the HTTP/1.1 one that it means.
	ResponseHead []byte
	// Body is the payload as it was received: transfer coding removed,
	// content codings (gzip and so on) kept, as ResponseHead says.
	Body []byte
	// ContentType is the media type without parameters, lower-case; "" when
	// nothing names it. It is made of the answer's header or sniffed.
	ContentType string
	// Digest is the SHA-1 of Body: the WARC payload digest.
	Digest [20]byte
	// Truncated is the WARC-Truncated reason: "length" when a limit cut the
	// payload, on the wire or while decoding it, else "".
	Truncated string
	// Original is the capture that has the same payload, which is then not stored
	// again; nil: none is known.
	Original *Original
	// Simhash and NearOf are the Outcome's; the response record has them in fields of
	// its own, Crawlnode-Simhash and Crawlnode-Near-Duplicate-Of.
	Simhash uint64
	NearOf  string
	// NoIndex is Outcome.NoIndex; the response record has it in a field of its own,
	// Crawlnode-Robots.
	NoIndex bool
	// Certificate says why the server's certificate does not verify, when the
	// page was fetched all the same (Settings.TLSRecord); else "". The response
	// record has it in a field of its own, Crawlnode-Certificate-Error.
	Certificate string
}
