package fetcher

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/textproto"
	"slices"
	"strconv"
	"strings"
)

// This file reads the head of an HTTP/1 answer as browsers and curl do: a line that is none is
// skipped, and the rest is used. Whatever is nonconforming costs the connection, never the answer,
// but for two cases in which nobody could know what the payload is: no status line, and lengths
// that contradict each other (RFC 9112, section 6.3).

var (
	errNotHTTP    = errors.New("the server does not answer in HTTP/1")
	errTwoLengths = errors.New("the answer names different lengths of its payload")
)

const (
	// maxJunk is how many bytes before the status line are passed over, as in Chromium.
	maxJunk = 4
	// firstBytes are enough of an answer to see that it has no status line.
	firstBytes = maxJunk + len("HTTP/1.1")
)

// framing says where a payload ends.
type framing uint8

const (
	noPayload  framing = iota
	byLength           // after head.length bytes
	byChunks           // with the last chunk
	untilClose         // with the connection
)

// head is the head of an answer.
type head struct {
	status  int
	proto   string // "HTTP/1.0" or "HTTP/1.1"
	header  http.Header
	archive []byte // Response.ResponseHead
	framing framing
	length  int64 // with byLength; else -1
	keep    bool  // the connection may be used again after the payload

	nonconforming bool   // something in it is not as RFC 9112 wants it
	name          string // of the field that is being read; "": none, or one that is skipped
	value         []byte // its value so far
	lengthAt      int    // where in archive the first Content-Length line belongs; 0: none
}

// parseHead reads a head: from its first byte to the empty line, or less.
func parseHead(raw []byte) (*head, error) {
	h := &head{header: make(http.Header, 16), archive: make([]byte, 0, len(raw)+32), length: -1}
	raw = bytes.TrimLeft(raw, "\r\n")
	first, rest, _ := bytes.Cut(raw, []byte("\n"))
	if err := h.statusLine(bytes.TrimRight(first, "\r")); err != nil {
		return nil, err
	}
	for line := range bytes.Lines(rest) {
		line = bytes.TrimRight(line, "\r\n")
		if len(line) == 0 {
			break
		}
		h.line(line)
	}
	h.field()
	if err := h.frame(); err != nil {
		return nil, err
	}
	h.archive = append(h.archive, "\r\n"...)
	return h, nil
}

// statusStart is where the status line starts in the first bytes of an answer, or -1.
func statusStart(b []byte) int {
	for i := 0; i <= maxJunk && i+len("HTTP/") <= len(b); i++ {
		if equalName(b[i:i+len("HTTP/")], "HTTP/") {
			return i
		}
	}
	return -1
}

// statusLine reads "HTTP/1.1 200 OK". The reason may be absent, and there may be more blanks.
func (h *head) statusLine(line []byte) error {
	at := statusStart(line)
	if at < 0 {
		return fmt.Errorf("%w: its first line is %.40q", errNotHTTP, line)
	}
	h.nonconforming = at > 0
	end := bytes.IndexAny(line, " \t")
	if end < at {
		return fmt.Errorf("no status in the line %.60q", line)
	}
	switch version := string(line[at+len("HTTP/") : end]); {
	case version == "1.1":
		h.proto = "HTTP/1.1"
	case version == "1.0":
		h.proto = "HTTP/1.0"
	case version > "1.1":
		h.proto, h.nonconforming = "HTTP/1.1", true
	default:
		h.proto, h.nonconforming = "HTTP/1.0", true
	}
	rest := bytes.TrimLeft(line[end:], " \t")
	digits := 0
	for digits < len(rest) && '0' <= rest[digits] && rest[digits] <= '9' {
		digits++
	}
	if digits != 3 || rest[0] == '0' {
		return fmt.Errorf("no status in the line %.60q", line)
	}
	h.status, _ = strconv.Atoi(string(rest[:digits]))
	h.archive = append(h.archive, h.proto...)
	h.archive = append(append(h.archive, ' '), rest[:digits]...)
	h.archive = append(h.archive, ' ')
	h.archive = appendPlain(h.archive, bytes.Trim(rest[digits:], " \t"))
	h.archive = append(h.archive, "\r\n"...)
	return nil
}

// line reads one line behind the status line.
func (h *head) line(line []byte) {
	if line[0] == ' ' || line[0] == '\t' { // goes on with the line before it
		h.nonconforming = true
		if h.name != "" {
			h.value = append(append(h.value, ' '), bytes.Trim(line, " \t")...)
			if !h.framingName() {
				h.archive = append(appendPlain(h.archive, line), "\r\n"...)
			}
		}
		return
	}
	h.field()
	given, value, colon := bytes.Cut(line, []byte(":"))
	name := bytes.TrimRight(given, " \t")
	if !colon || !isToken(name) {
		h.nonconforming = true
		return
	}
	if len(name) != len(given) {
		h.nonconforming = true
	}
	h.name = textproto.CanonicalMIMEHeaderKey(string(name))
	h.value = append(h.value[:0], bytes.Trim(value, " \t")...)
	switch {
	case !h.framingName():
		h.archive = append(append(h.archive, name...), ':')
		h.archive = append(appendPlain(h.archive, value), "\r\n"...)
	case h.lengthAt == 0 && h.name == "Content-Length":
		h.lengthAt = len(h.archive)
	}
}

// framingName reports whether the current field is one that frame writes.
func (h *head) framingName() bool {
	return h.name == "Content-Length" || h.name == "Transfer-Encoding"
}

// field ends the current field. CR and NUL cannot be in a value: a blank stands for each.
func (h *head) field() {
	if h.name == "" {
		return
	}
	for i, c := range h.value {
		if c == '\r' || c == 0 {
			h.value[i], h.nonconforming = ' ', true
		}
	}
	h.header[h.name] = append(h.header[h.name], string(h.value))
	h.name = ""
}

// frame finds where the payload ends (RFC 9112, section 6.3), and whether the connection can be
// kept. It takes Transfer-Encoding out of the header and the archive's head, since the payload is
// kept without, and leaves there only a Content-Length that counts.
//
//	chunked, last                 chunks; codings below it become content codings
//	another known coding, last    until the connection closes
//	identity and unknown ones     nothing, as in browsers
//	HTTP/1.0                      has no transfer codings
//	Content-Length                its number, if that is one; repeated equal ones are one
//	none, or none that is valid   until the connection closes
func (h *head) frame() error {
	transfer := words(h.header["Transfer-Encoding"])
	coded := len(h.header["Transfer-Encoding"]) > 0
	delete(h.header, "Transfer-Encoding")
	length, valid, err := lengthOf(h.header["Content-Length"])
	if err != nil {
		return err
	}
	given := len(h.header["Content-Length"])
	delete(h.header, "Content-Length")
	h.framing = untilClose
	var codings []string
	if coded && h.proto != "HTTP/1.0" {
		for i, coding := range transfer {
			switch coding {
			case "chunked":
				h.framing = byChunks
				h.nonconforming = h.nonconforming || i != len(transfer)-1
			case "gzip", "x-gzip", "deflate":
				codings, h.framing, h.nonconforming = append(codings, coding), untilClose, true
			default:
				h.nonconforming = true
			}
		}
	} else if coded {
		h.nonconforming = true
	}
	overruled := h.framing == byChunks || len(codings) > 0
	switch {
	case overruled:
		h.nonconforming = h.nonconforming || given > 0
	case valid:
		h.framing, h.length = byLength, length
		h.nonconforming = h.nonconforming || given > 1
		text := strconv.FormatInt(length, 10)
		h.header["Content-Length"] = []string{text}
		h.archive = slices.Insert(h.archive, h.lengthAt, []byte("Content-Length: "+text+"\r\n")...)
	}
	for _, c := range codings {
		h.header.Add("Content-Encoding", c)
		h.archive = append(h.archive, "Content-Encoding: "+c+"\r\n"...)
	}
	if h.status == http.StatusNoContent || h.status == http.StatusNotModified {
		h.framing, h.length = noPayload, -1
	}
	connection := words(h.header["Connection"])
	open := h.proto == "HTTP/1.1" || slices.Contains(connection, "keep-alive")
	h.keep = open && !h.nonconforming && h.framing != untilClose &&
		!slices.Contains(connection, "close")
	return nil
}

// lengthOf reads the values of Content-Length. Several equal ones are one. One that is no number
// counts as absent; numbers that differ are an error.
func lengthOf(values []string) (length int64, valid bool, err error) {
	length = -1
	for _, text := range words(values) {
		n, err := strconv.ParseUint(text, 10, 63)
		if err != nil || text[0] == '+' {
			return -1, false, nil
		}
		if length >= 0 && int64(n) != length {
			return -1, false, fmt.Errorf("%w: %d and %d", errTwoLengths, length, n)
		}
		length = int64(n)
	}
	return length, length >= 0, nil
}

// words are the elements of a list that may be spread over several fields, in lower case and
// without empty ones.
func words(values []string) []string {
	var out []string
	for _, v := range values {
		for w := range strings.SplitSeq(v, ",") {
			if w = strings.ToLower(strings.Trim(w, " \t")); w != "" {
				out = append(out, w)
			}
		}
	}
	return out
}

// appendPlain appends a value in which blanks stand for control characters, so that it can forge no
// line and every reader takes it.
func appendPlain(out, value []byte) []byte {
	from := len(out)
	out = append(out, value...)
	for i, c := range out[from:] {
		if c < ' ' && c != '\t' || c == 0x7f {
			out[from+i] = ' '
		}
	}
	return out
}

// isToken reports whether b is a token (RFC 9110, section 5.6.2), as names of fields are.
func isToken(b []byte) bool {
	for _, c := range b {
		letter := 'a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9'
		if !letter && strings.IndexByte("!#$%&'*+-.^_`|~", c) < 0 {
			return false
		}
	}
	return len(b) > 0
}
