package fetcher

import (
	"bytes"
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
type line struct{ name, value string }

// lines are the header lines of the request except Host. A validator that cannot be sent back
// unchanged is left out.
func (x *exchange) lines() [9]line {
	l := [...]line{
		{"User-Agent", x.req.UserAgent},
		{"Accept", "text/html,application/xhtml+xml,*/*;q=0.8"},
		{"Accept-Encoding", accepted},
		{"If-None-Match", x.req.ETag},
		{"If-Modified-Since", x.req.LastModified},
		{"Cookie", x.req.Cookie},
		{"Signature-Agent", x.signed.Agent},
		{"Signature-Input", x.signed.Input},
		{"Signature", x.signed.Signature},
	}
	if l[0].value == "" {
		l[0].value = x.f.o.UserAgent
	}
	if !sendableTag(x.req.ETag) {
		l[3].value = ""
	}
	if !sendableDate(x.req.LastModified) {
		l[4].value = ""
	}
	for i := range l {
		if !plainValue(l[i].value) {
			l[i].value = ""
		}
	}
	return l
}

// sign signs the request, if the Fetcher signs. The nonce is drawn here, once for each exchange: the
// same bytes go over a second connection only when the first has taken none.
func (x *exchange) sign() {
	if x.f.o.Signer == nil {
		return
	}
	var nonce [botauth.NonceSize]byte
	_, _ = rand.Read(nonce[:]) // it never fails: package crypto/rand
	x.signed = x.f.o.Signer.Sign(x.host(), time.Now(), nonce)
}

// host is the value of the Host header.
func (x *exchange) host() string { return authority(x.req.URL.Scheme(), x.req.URL.Origin()) }

// archivedHead is the request as the archive keeps it: what the cookies say is nobody's to read.
func (x *exchange) archivedHead() []byte {
	if x.req.Cookie == "" {
		return x.head
	}
	return bytes.Replace(x.head, []byte("\r\nCookie: "+x.req.Cookie+"\r\n"), []byte("\r\nCookie: <redacted>\r\n"), 1)
}

// requestHead writes the request.
func (x *exchange) requestHead() ([]byte, error) {
	u := x.req.URL
	target := u.PathQuery()
	for i := range len(target) {
		if c := target[i]; c <= ' ' || c >= 0x7f {
			return nil, fmt.Errorf("byte 0x%02x in the path of %q", c, u.String())
		}
	}
	b := make([]byte, 0, 256+len(target))
	b = append(b, "GET "...)
	b = append(b, target...)
	b = append(b, " HTTP/1.1\r\nHost: "...)
	b = append(b, x.host()...)
	b = append(b, "\r\n"...)
	for _, l := range x.lines() {
		if l.value == "" {
			continue
		}
		b = append(b, l.name...)
		b = append(b, ": "...)
		b = append(b, l.value...)
		b = append(b, "\r\n"...)
	}
	return append(b, "\r\n"...), nil
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
