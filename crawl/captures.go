package crawl

import "time"

// MaxCaptures bounds the captures of one URL in a report; they are the newest ones.
const MaxCaptures = 10_000

// CapturesReport lists what the members have stored of one URL, the oldest capture first.
type CapturesReport struct {
	URL      string          `json:"url"` // canonical
	Captures []CaptureReport `json:"captures"`
}

// CaptureReport is one visit whose answer was stored.
type CaptureReport struct {
	At     time.Time `json:"at"` // to the second
	Status int       `json:"status"`
	// MIME is the media type; null: it is not known, as with every revisit.
	MIME    *string `json:"mime"`
	Revisit bool    `json:"revisit"` // the payload is that of an earlier capture
	File    string  `json:"file"`    // name of the WARC file
	Offset  int64   `json:"offset"`
	Length  int64   `json:"length"`
	// Digest is that of the payload, "sha1:..."; null with a 304 whose payload is not known.
	Digest *string `json:"digest"`
	Node   string  `json:"node"` // name of the member that has stored it
	// Preferences is what the owner said of the use of the page when it was captured, such as
	// "search=y, ai-train=n"; null: nothing that is known.
	Preferences *string `json:"preferences"`
}

// IndexRange selects lines of a capture index by their bytes: From <= line < To. An empty To has no
// end, so the zero value is all. A key is followed by a space, which sorts before every byte of a
// key.
type IndexRange struct {
	From string `json:"from,omitempty"`
	To   string `json:"to,omitempty"`
	// URL is the canonical URL whose captures are wanted; "": of every URL. Several URLs may have
	// one key. A member of an earlier release does not know the field: it sends the others too.
	URL string `json:"url,omitempty"`
}
