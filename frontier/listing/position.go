package listing

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"strings"

	"crawlnode/crawl"
	"crawlnode/frontier/layout"
)

// Position is a place in the order of a partition's URLs: behind the URL with this host and
// fingerprint. It is what stands behind the table's letter in the key of the URL's record. "" is
// the start.
type Position string

const (
	fingerprintLen = len(layout.Fingerprint{})
	// maxHost is longer than any host name.
	maxHost = 300
)

// endOf is the place behind all URLs of a host.
func endOf(h crawl.Host) Position {
	return Position(h) + "\x00" + Position(strings.Repeat("\xff", fingerprintLen))
}

// positionOf is the place of a URL by its fingerprint.
func positionOf(h crawl.Host, fp layout.Fingerprint) Position {
	return Position(h) + "\x00" + Position(fp[:])
}

// host is the host of the URL before the place; "" at the start.
func (p Position) host() crawl.Host {
	if len(p) <= fingerprintLen {
		return ""
	}
	return crawl.Host(p[:len(p)-fingerprintLen-1])
}

// valid reports whether p can be a place.
func (p Position) valid() bool {
	if p == "" {
		return true
	}
	zero := strings.IndexByte(string(p), 0)
	return zero > 0 && zero <= maxHost && len(p) == zero+1+fingerprintLen
}

// cursorVersion begins each cursor; another one is that of another release.
const cursorVersion = 1

// Cursor is a place in a list of many partitions, as text for people and programs.
func Cursor(p crawl.Partition, at Position) string {
	b := binary.BigEndian.AppendUint16([]byte{cursorVersion}, uint16(p))
	return base64.RawURLEncoding.EncodeToString(append(b, at...))
}

// CursorOf is the place behind a line.
func CursorOf(l *crawl.URLLine) string {
	return Cursor(l.Partition, positionOf(l.Host, layout.FingerprintOf(l.URL)))
}

// ParseCursor reads a cursor. "" is the start. The error wraps crawl.ErrBadQuery.
func ParseCursor(text string) (crawl.Partition, Position, error) {
	if text == "" {
		return 0, "", nil
	}
	wrong := fmt.Errorf("%w: after is no cursor of a list: give the next of a page, unchanged",
		crawl.ErrBadQuery)
	if len(text) > 2*maxHost || strings.ContainsAny(text, "\r\n") { // which the decoder skips
		return 0, "", wrong
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(b) < 3 || b[0] != cursorVersion {
		return 0, "", wrong
	}
	p, at := crawl.Partition(binary.BigEndian.Uint16(b[1:])), Position(b[3:])
	if !at.valid() || p > layout.MaxPartition {
		return 0, "", wrong
	}
	return p, at, nil
}
