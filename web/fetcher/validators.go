package fetcher

import (
	"errors"
	"net/http"
	"strings"
)

const (
	// maxETag bounds an entity tag in bytes. Real ones have up to a hundred; a longer one is treated
	// as absent, because it would be stored with its page and sent at each visit.
	maxETag = 256
	// maxDate bounds a date as it is written.
	maxDate = 64
)

// Validators are the validators of an answer that can be sent back unchanged with a later request.
// "" stands for one that is absent, longer than any real one, or of a form that would say something
// else: see sendableTag. Only a whole answer with content has any (RFC 9110, 13.2.1), and a 304,
// which may bring new ones.
func Validators(r *Response) (etag, lastModified string) {
	whole := r.Status >= 200 && r.Status < 300 && r.Status != http.StatusPartialContent
	if !whole && r.Status != http.StatusNotModified {
		return "", ""
	}
	if tag := strings.TrimSpace(r.Header.Get("ETag")); sendableTag(tag) {
		etag = tag
	}
	if date := strings.TrimSpace(r.Header.Get("Last-Modified")); sendableDate(date) {
		lastModified = date
	}
	return etag, lastModified
}

// sendableTag reports whether If-None-Match with a tag asks for just that tag: an entity tag (RFC
// 9110, 8.8.3), strong or weak, or a word without its quotes, which some servers send and compare.
// A list and "*", which matches whatever there is, are not: a server that sends "*" would answer
// 304 for ever.
func sendableTag(tag string) bool {
	if tag == "" || len(tag) > maxETag {
		return false
	}
	inner, quoted := strings.CutPrefix(strings.TrimPrefix(tag, "W/"), `"`)
	if quoted {
		inner, quoted = strings.CutSuffix(inner, `"`)
		if !quoted {
			return false
		}
	}
	for i := range len(inner) {
		switch c := inner[i]; {
		case c <= ' ' || c == '"' || c == 0x7f:
			return false
		case !quoted && (c == ',' || c == '*' || c >= 0x80):
			return false
		}
	}
	return quoted || inner != ""
}

// sendableDate reports whether a date can be compared: a recipient ignores others (RFC 9110,
// 13.1.3).
func sendableDate(date string) bool {
	if date == "" || len(date) > maxDate { // to parse "" makes an error for each form of a date
		return false
	}
	_, err := http.ParseTime(date)
	return err == nil && plainValue(date)
}

// conditional reports whether the request is sent with a validator, so that a 304 answers it.
func (x *exchange) conditional() bool {
	for _, l := range x.lines() {
		if l.value != "" && (l.name == "If-None-Match" || l.name == "If-Modified-Since") {
			return true
		}
	}
	return false
}

// The errors of a 304 that says nothing.
var (
	errUnasked = errors.New("the server answered 304 Not Modified to a request without a condition")
	errPayload = errors.New("the server answered 304 Not Modified with a payload")
)

// unasked refuses a 304 that is no answer to the request: it would stand for a page that nobody
// has. Over HTTP/1 what follows its head is no part of it, and the connection is closed; over
// HTTP/2 it is.
func unasked(r *Response) *Error {
	switch {
	case r.Status != http.StatusNotModified:
		return nil
	case !r.Conditional:
		return &Error{Category: Protocol, Contacted: true, Err: errUnasked}
	case len(r.RawBody) > 0:
		return &Error{Category: Protocol, Contacted: true, Err: errPayload}
	}
	return nil
}
