package archive

import (
	"crypto/sha1" //nolint:gosec // WARC digests are SHA-1; nothing here relies on it against an adversary
	"encoding/base32"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"io"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/klauspost/compress/gzip"

	"crawlnode/crawl"
	"crawlnode/web/preferences"
)

const (
	// warcDate is the form of WARC-Date; WARC 1.1 allows the fraction.
	warcDate = "2006-01-02T15:04:05.000Z"
	// revisitProfile: same payload digest as an earlier record (WARC 1.1 section 6.7.2).
	revisitProfile = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
	// notModifiedProfile: the server said that nothing has changed (section 6.7.3).
	notModifiedProfile = "http://netpreserve.org/warc/1.1/revisit/server-not-modified"
)

// recordID is the UUID of a WARC-Record-ID.
type recordID [16]byte

// newRecordID makes a random UUID (RFC 9562, version 4).
func newRecordID(random io.Reader) (u recordID, err error) {
	if _, err := io.ReadFull(random, u[:]); err != nil {
		return u, fmt.Errorf("make a record id: %w", err)
	}
	u[6], u[8] = u[6]&0x0f|0x40, u[8]&0x3f|0x80
	return u, nil
}

// String is the id as a field has it, with its brackets.
func (u recordID) String() string {
	var b [47]byte
	return string(u.append(b[:0]))
}

// append appends what String returns.
func (u recordID) append(b []byte) []byte {
	b = append(b, "<urn:uuid:"...)
	for i, part := range [...][]byte{u[:4], u[4:6], u[6:8], u[8:10], u[10:]} {
		if i > 0 {
			b = append(b, '-')
		}
		b = hex.AppendEncode(b, part)
	}
	return append(b, '>')
}

// encoder turns captures into compressed members. One goroutine at a time uses it; it is reused.
type encoder struct {
	random io.Reader
	z      compressor
	stored compressor // makes gzip members of blocks as they are; nil with zstd
	dense  bool       // the block of the record being made is compressed already
	sum    hash.Hash
	digest [20]byte // of the block
	head   []byte   // of the record being made

	// The result of the last capture: its members, the response's first.
	out         []byte
	responseLen int // bytes of the first member
	responseID  recordID
	revisit     bool
}

func newEncoder(random io.Reader, c Compression) *encoder {
	e := &encoder{random: random, sum: sha1.New(), z: newCompressor(c)}
	if c == Gzip {
		e.stored = newGzip(gzip.NoCompression)
	}
	return e
}

// Write takes the compressor's output.
func (e *encoder) Write(p []byte) (int, error) {
	e.out = append(e.out, p...)
	return len(p), nil
}

// capture makes the records of c: a response, or a revisit when its payload is already stored or
// was not sent, the request, and the resources.
func (e *encoder) capture(c *crawl.Capture) (err error) {
	e.out, e.revisit = e.out[:0], c.Original != nil || c.Status == http.StatusNotModified
	if e.responseID, err = newRecordID(e.random); err != nil {
		return err
	}
	if len(c.Body) > keepBytes {
		// Growing step by step would leave five times as much garbage. Untouched memory costs
		// nothing.
		e.out = slices.Grow(e.out,
			len(c.Body)+len(c.Body)/64+len(c.ResponseHead)+len(c.RequestHead)+keepBytes)
	}
	if err := e.response(c); err != nil {
		return err
	}
	e.responseLen = len(e.out)
	if len(c.RequestHead) > 0 {
		if err := e.request(c); err != nil {
			return err
		}
	}
	for i := range c.Resources {
		if err := e.resource(c, &c.Resources[i]); err != nil {
			return err
		}
	}
	return nil
}

// request makes the record of c's request.
func (e *encoder) request(c *crawl.Capture) error {
	id, err := newRecordID(e.random)
	if err != nil {
		return err
	}
	e.begin("request", id, c.FetchedAt)
	e.field("WARC-Target-URI", c.URL.String())
	e.address(c.Addr)
	e.field("WARC-Concurrent-To", e.responseID.String())
	e.field("Content-Type", "application/http;msgtype=request")
	return e.end(c.RequestHead, nil)
}

// resource makes a record of what was made of c's response. Its block is the payload (sections 6.4
// and 6.8).
func (e *encoder) resource(c *crawl.Capture, r *crawl.Resource) error {
	id, err := newRecordID(e.random)
	if err != nil {
		return err
	}
	kind := "resource"
	if r.Conversion {
		kind = "conversion"
	}
	e.begin(kind, id, r.At)
	e.field("WARC-Target-URI", resourceURI(c, r))
	e.field("WARC-Refers-To", e.responseID.String())
	e.field("Content-Type", r.ContentType)
	return e.end(r.Body, nil)
}

// ViewURI begins the target URI of a picture of a page, before the page's URL, as other crawlers
// with a browser name it. A picture under the URL itself would be the page for whoever indexes the
// file.
const ViewURI = "urn:view:"

// resourceURI names a resource: another form of the page has the page's URL, a picture a name of
// its own. Files of earlier releases have pictures under the page's URL.
func resourceURI(c *crawl.Capture, r *crawl.Resource) string {
	if strings.HasPrefix(r.ContentType, "image/") {
		return ViewURI + c.URL.String()
	}
	return c.URL.String()
}

// response makes the first record of c.
func (e *encoder) response(c *crawl.Capture) error {
	kind, body := "response", c.Body
	if e.revisit {
		kind, body = "revisit", nil
	}
	e.begin(kind, e.responseID, c.FetchedAt)
	e.field("WARC-Target-URI", c.URL.String())
	e.address(c.Addr)
	if d := payloadDigest(c); d != "" {
		e.field("WARC-Payload-Digest", d)
	}
	if c.ContentType != "" {
		e.field("WARC-Identified-Payload-Type", c.ContentType)
	}
	if c.Truncated != "" {
		e.field("WARC-Truncated", c.Truncated)
	}
	if c.RobotsAgent != "" {
		e.field("Crawlnode-Robots-Agent", c.RobotsAgent)
	}
	if c.NoIndex {
		e.field("Crawlnode-Robots", "noindex")
	}
	e.preferences(c)
	if c.Wall != "" {
		e.field("Crawlnode-Wall", c.Wall)
	}
	if c.Certificate != "" {
		e.field("Crawlnode-Certificate-Error", c.Certificate)
	}
	if c.Simhash != 0 {
		e.field("Crawlnode-Simhash", fmt.Sprintf("%016x", c.Simhash))
	}
	if c.NearOf != "" {
		e.field("Crawlnode-Near-Duplicate-Of", c.NearOf)
	}
	if e.revisit {
		e.refer(c)
	}
	e.field("Content-Type", "application/http;msgtype=response")
	e.dense = len(body) >= denseBytes && isDense(c)
	defer func() { e.dense = false }()
	return e.end(c.ResponseHead, body)
}

// The fields of a record about the use of the page: the answers, and the statements behind them.
const (
	FieldPreferences     = "Crawlnode-Preferences"
	FieldPreferencesFrom = "Crawlnode-Preferences-From"
)

// preferences adds what the owner said of the use of the page when it was captured: the site's word
// is nowhere else in the record.
func (e *encoder) preferences(c *crawl.Capture) {
	if c.Preferences == "" {
		return
	}
	if answers := answersOf(c); answers != "" {
		e.field(FieldPreferences, answers)
	}
	r, _ := preferences.Decode(c.Preferences) // it was read just now
	if len(r.Statements) == 0 {
		return
	}
	from, err := json.Marshal(r.From())
	if err != nil {
		panic("BUG: strings cannot be written as JSON: " + err.Error())
	}
	e.field(FieldPreferencesFrom, string(from))
}

// payloadDigest is the digest of the payload of c as fields and indexes have it. The payload of a
// 304 is that of the capture whose validators were sent, not its empty body (WARC 1.1 section
// 6.7.3); "": it is not known.
func payloadDigest(c *crawl.Capture) string {
	if c.Status == http.StatusNotModified && c.Digest == [20]byte{} {
		return ""
	}
	return digest(c.Digest)
}

// refer names the profile of a revisit, and as much as is known of the capture that has its
// payload.
func (e *encoder) refer(c *crawl.Capture) {
	first := c.Original
	if c.Status == http.StatusNotModified {
		e.field("WARC-Profile", notModifiedProfile)
		if first == nil {
			e.field("WARC-Refers-To-Target-URI", c.URL.String())
			return
		}
	} else {
		e.field("WARC-Profile", revisitProfile)
	}
	if first.Record != [16]byte{} {
		e.field("WARC-Refers-To", recordID(first.Record).String())
	}
	e.field("WARC-Refers-To-Target-URI", first.URL)
	e.field("WARC-Refers-To-Date", first.FetchedAt.UTC().Format(warcDate))
}

// address names the server, when it is known.
func (e *encoder) address(a netip.Addr) {
	if a.IsValid() {
		e.field("WARC-IP-Address", a.Unmap().WithZone("").String())
	}
}

// begin starts the header of a record.
func (e *encoder) begin(kind string, id recordID, date time.Time) {
	e.head = append(e.head[:0], "WARC/1.1\r\n"...)
	e.field("WARC-Type", kind)
	e.head = append(id.append(append(e.head, "WARC-Record-ID: "...)), "\r\n"...)
	e.head = append(date.UTC().AppendFormat(append(e.head, "WARC-Date: "...), warcDate), "\r\n"...)
}

// field adds a header line. Control bytes are percent-encoded, so that a value can never start a
// second field.
func (e *encoder) field(name, value string) {
	e.head = append(append(e.head, name...), ": "...)
	e.head = append(appendClean(e.head, value), "\r\n"...)
}

// appendClean appends s with its control bytes percent-encoded.
func appendClean(b []byte, s string) []byte {
	const digits = "0123456789ABCDEF"
	for i := range len(s) {
		if c := s[i]; c < ' ' || c == 0x7f {
			b = append(b, '%', digits[c>>4], digits[c&15])
		} else {
			b = append(b, c)
		}
	}
	return b
}

// end completes the record with its block, given in two parts, and appends it
// to out as one member.
func (e *encoder) end(block, more []byte) error {
	e.sum.Reset()
	e.sum.Write(block)
	e.sum.Write(more)
	e.digest = [20]byte(e.sum.Sum(e.digest[:0]))
	e.head = append(appendDigest(append(e.head, "WARC-Block-Digest: "...), e.digest), "\r\n"...)
	e.head = strconv.AppendInt(append(e.head, "Content-Length: "...), int64(len(block)+len(more)), 10)
	e.head = append(e.head, "\r\n\r\n"...)
	parts := [...][]byte{e.head, block, more, []byte("\r\n\r\n")}
	size := len(e.head) + len(block) + len(more) + len(parts[3])
	z := e.z
	if e.stored != nil && (e.dense || size < plainBytes) { // zstd is fast with small input anyway
		z = e.stored
	}
	z.Reset(e)
	for _, part := range parts {
		if _, err := z.Write(part); err != nil {
			return fmt.Errorf("compress: %w", err)
		}
	}
	if err := z.Close(); err != nil {
		return fmt.Errorf("compress: %w", err)
	}
	return nil
}

// digest formats a SHA-1 as in WARC files.
func digest(sum [20]byte) string {
	var b [37]byte
	return string(appendDigest(b[:0], sum))
}

// appendDigest appends what digest returns.
func appendDigest(b []byte, sum [20]byte) []byte {
	return base32.StdEncoding.AppendEncode(append(b, "sha1:"...), sum[:])
}
