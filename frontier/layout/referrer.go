package layout

import (
	"strings"

	"crawlnode/crawl"
)

// Referrer is the page on which a URL was found first. Most links lead to the page's own host: its
// record is named by a few bytes of its fingerprint then, which cost eight bytes a URL in all. Else
// it is the page's URL.
//
//	00, 6 bytes of the fingerprint      a page of the URL's own host
//	01 or 02, host and what is behind   http or https
//
// Six bytes lead to a wrong page of a host with ten million URLs once in thirty million look-ups.
type Referrer []byte

const (
	referrerHere = iota
	referrerHTTP
	referrerHTTPS

	referrerPrint = 6
	// maxReferrer bounds the URL of another host's page; a longer one is left out.
	maxReferrer = 512
)

// ReferrerOf is a page, "" or canonical, as the store keeps it for a URL of a host; nil: none.
func ReferrerOf(page string, host crawl.Host) Referrer {
	scheme, rest, ok := strings.Cut(page, "://")
	if !ok {
		return nil
	}
	if h := len(host); len(rest) > h && rest[:h] == string(host) &&
		(rest[h] == '/' || rest[h] == ':') {
		fp := FingerprintOf(page)
		return append(Referrer{referrerHere}, fp[:referrerPrint]...)
	}
	if len(rest) > maxReferrer {
		return nil
	}
	kind := byte(referrerHTTP)
	if scheme == "https" {
		kind = referrerHTTPS
	}
	return append(append(make(Referrer, 0, 1+len(rest)), kind), rest...)
}

// URL is the page's URL, when it stands in r.
func (r Referrer) URL() (page string, ok bool) {
	if len(r) == 0 || r[0] == referrerHere {
		return "", false
	}
	return schemeOf(r[0] == referrerHTTPS) + "://" + string(r[1:]), true
}

// KeyPrefix is what the key of the page's record begins with, when the page is of the host.
func (r Referrer) KeyPrefix(host crawl.Host) (rel []byte, ok bool) {
	if len(r) != 1+referrerPrint || r[0] != referrerHere {
		return nil, false
	}
	return append(append(AppendHost(nil, TableRecords, host), 0), r[1:]...), true
}

// referrer reads a Referrer, which points into the value.
func (r *decoder) referrer() Referrer {
	ref := Referrer(r.take(r.u()))
	if len(ref) < 2 || ref[0] > referrerHTTPS ||
		ref[0] == referrerHere && len(ref) != 1+referrerPrint || len(ref) > 1+maxReferrer {
		r.fail()
		return nil
	}
	return ref
}
