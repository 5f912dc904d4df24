package crawl

import (
	"net/netip"
	"time"

	"crawlnode/web/urlnorm"
)

// Capture is one HTTP exchange for the archive. The archive may read its byte slices until Put
// returns and must not keep or change them.
type Capture struct {
	URL       urlnorm.URL
	FetchedAt time.Time  // wall time at the start of the request
	Addr      netip.Addr // the address that answered
	Status    int        // HTTP status of the answer
	// RequestHead is the request as it was sent: request line and header
	// lines, each ended by CR LF, with the empty line that ends them. A GET
	// has no body.
	RequestHead []byte
	// ResponseHead is the head of the answer in the same form: status line, header lines, empty
	// line. It never has Transfer-Encoding, because Body has none; an HTTP/2 head is written as the
	// equivalent HTTP/1.1 one.
	ResponseHead []byte
	// Body is the payload as received: without transfer coding, with the content codings (gzip and
	// so on) that ResponseHead names.
	Body []byte
	// Coded says that Body has a content coding, so that it is compressed.
	Coded bool
	// ContentType is the media type without parameters, lower-case, from the answer's header or
	// sniffed; "" when unknown.
	ContentType string
	// Digest is the SHA-1 of Body: the WARC payload digest. With status 304 it is that of the payload
	// which has not changed, or zero.
	Digest [20]byte
	// Truncated is the WARC-Truncated reason: "length" when a limit of size cut the payload, on the
	// wire or while decoding it, "time" when a limit of time did, "disconnect" when the server did,
	// else "".
	Truncated string
	// Original is the earlier capture with the same payload, which is then not stored again; nil
	// when none is known. With status 304 it is the capture whose payload has not changed; without a
	// record id, when that is not known.
	Original *Original
	// Simhash and NearOf are those of the Outcome; the response record has them in the fields
	// Crawlnode-Simhash and Crawlnode-Near-Duplicate-Of.
	Simhash uint64
	NearOf  string
	// NoIndex is Outcome.NoIndex; the response record has it in the field Crawlnode-Robots.
	NoIndex bool
	// Wall is Outcome.Wall by name; the response record has it in the field Crawlnode-Wall. "": the
	// answer is no bot wall.
	Wall string
	// Preferences is Outcome.Preferences; the response record has it in the fields
	// Crawlnode-Preferences and Crawlnode-Preferences-From, and the index in preferences.
	Preferences string
	// RobotsAgent is the product token that robots directives were read for, when it is not
	// DefaultAgent; the response record has it in the field Crawlnode-Robots-Agent.
	RobotsAgent string
	// Certificate is why the server's certificate does not verify, when the page was fetched all
	// the same (Settings.TLSRecord); else "". The response record has it in the field
	// Crawlnode-Certificate-Error.
	Certificate string
	// Resources are made of the answer, such as the page as a browser shows it. Each is a resource
	// record that refers to the response.
	Resources []Resource
}

// Resource is content that no server has sent in this form.
type Resource struct {
	At          time.Time
	ContentType string // with parameters
	Body        []byte
	// Conversion: it is the content of the answer in another format (WARC 1.1, section 6.8), such as
	// the text of a PDF, and its record is of that type.
	Conversion bool
}
