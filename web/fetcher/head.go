package fetcher

import (
	"crypto/rand"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"crawlnode/web/botauth"
)

// accepted is sent as Accept-Encoding. deflate is decoded when it comes, but not asked for, because
// servers disagree on its meaning.
const accepted = "gzip, br, zstd"

// line is one header line of a request; without a value it is not sent.
type line struct {
	name, value string
	secret      bool // an archive does not have the value
}

// lines are the header lines of the request except Host and those of Request.Headers that it adds.
// A validator that cannot be sent back unchanged is left out.
func (x *exchange) lines() [10]line {
	l := [...]line{
		{"User-Agent", x.req.userAgent, false},
		{"Accept", "text/html,application/xhtml+xml,*/*;q=0.8", false},
		{"Accept-Encoding", accepted, false},
		{"If-None-Match", x.req.etag, false},
		{"If-Modified-Since", x.req.lastModified, false},
		{"Cookie", x.req.cookie, true},
		{"Authorization", x.authorization(), true},
		{"Signature-Agent", x.signed.Agent, false},
		{"Signature-Input", x.signed.Input, false},
		{"Signature", x.signed.Signature, false},
	}
	if l[0].value == "" {
		l[0].value = x.f.o.UserAgent
	}
	if !sendableTag(x.req.etag) {
		l[3].value = ""
	}
	if !sendableDate(x.req.lastModified) {
		l[4].value = ""
	}
	for _, h := range x.headers() {
		if i := ownLine(h.Name); i >= 0 {
			l[i].value, l[i].secret = h.Value, h.Secret
		}
	}
	for i := range l {
		if !plainValue(l[i].value) {
			l[i].value = ""
		}
	}
	return l
}

// ownLine is the place in lines of a header that Request.Headers may replace, or -1.
func ownLine(name string) int {
	switch {
	case strings.EqualFold(name, "User-Agent"):
		return 0
	case strings.EqualFold(name, "Accept"):
		return 1
	}
	return -1
}

// sign signs the request, if the Fetcher signs. The nonce is drawn here, once for each exchange:
// the same bytes go over a second connection only when the first has taken none.
func (x *exchange) sign() {
	if x.f.o.Signer == nil {
		return
	}
	var nonce [botauth.NonceSize]byte
	_, _ = rand.Read(nonce[:]) // it never fails: package crypto/rand
	x.signed = x.f.o.Signer.Sign(x.host(), time.Now(), nonce)
}

// host is the value of the Host header.
func (x *exchange) host() string { return authority(x.req.url.Scheme(), x.req.url.Origin()) }

// archivedHead is the request as the archive keeps it: credentials are nobody's to read.
func (x *exchange) archivedHead() []byte {
	if x.req.cookie == "" && x.req.special == nil {
		return x.head
	}
	return x.appendHead(make([]byte, 0, len(x.head)), true)
}

// requestHead writes the request.
func (x *exchange) requestHead() ([]byte, error) {
	u := x.req.url
	target := u.PathQuery()
	for i := range len(target) {
		if c := target[i]; c <= ' ' || c >= 0x7f {
			return nil, fmt.Errorf("byte 0x%02x in the path of %q", c, u.String())
		}
	}
	return x.appendHead(make([]byte, 0, 256+len(target)), false), nil
}

// appendHead appends the request to b; hide: without what is secret.
func (x *exchange) appendHead(b []byte, hide bool) []byte {
	b = append(b, "GET "...)
	absolute := x.absolute()
	if absolute {
		b = append(append(b, "http://"...), x.host()...)
	}
	b = append(b, x.req.url.PathQuery()...)
	b = append(b, " HTTP/1.1\r\nHost: "...)
	b = append(b, x.host()...)
	b = append(b, "\r\n"...)
	for _, l := range x.lines() {
		b = l.append(b, hide)
	}
	for _, h := range x.headers() {
		if ownLine(h.Name) < 0 {
			b = line{h.Name, h.Value, h.Secret}.append(b, hide)
		}
	}
	if absolute {
		b = line{"Proxy-Authorization", basic(x.req.special.login), true}.append(b, hide)
	}
	return append(b, "\r\n"...)
}

// append appends the line to b, if it has a value.
func (l line) append(b []byte, hide bool) []byte {
	if l.value == "" {
		return b
	}
	if hide && l.secret {
		l.value = redacted
	}
	b = append(b, l.name...)
	b = append(b, ": "...)
	b = append(b, l.value...)
	return append(b, "\r\n"...)
}

// authority is an origin without its scheme.
func authority(scheme, origin string) string { return origin[len(scheme)+len("://"):] }

func plainValue(v string) bool {
	for i := range len(v) {
		if c := v[i]; c < ' ' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return true
}

func equalName(name []byte, want string) bool {
	return len(name) == len(want) && strings.EqualFold(string(name), want)
}

// writtenHead writes an HTTP/2 answer's head as the equivalent HTTP/1.1 head, names in order.
func writtenHead(status int, h http.Header) []byte {
	b := make([]byte, 0, 512)
	b = append(b, "HTTP/1.1 "...)
	b = strconv.AppendInt(b, int64(status), 10)
	b = append(b, ' ')
	b = append(b, http.StatusText(status)...)
	b = append(b, "\r\n"...)
	names := make([]string, 0, len(h))
	for name := range h {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		for _, v := range h[name] {
			b = append(b, name...)
			b = append(b, ": "...)
			b = append(b, strings.Map(blankControls, v)...)
			b = append(b, "\r\n"...)
		}
	}
	return append(b, "\r\n"...)
}

func blankControls(r rune) rune {
	if r == '\r' || r == '\n' || r == 0 {
		return ' '
	}
	return r
}
