package index

import "time"

// Document is a page as it is indexed and shown.
type Document struct {
	URL       string // canonical: the key
	Host      string // lower-case, without port
	Partition uint32

	Title    string
	Headings string // one a line
	// Text is the main text, paragraphs by newline, with an empty line where something was left out;
	// at most MaxText bytes count.
	Text        string
	Description string
	Anchors     []string // texts of links to the page, one for each distinct host
	// Cut: the page has more text than Text. What is looked for in texts may be in the rest.
	Cut bool

	// Language is an ISO 639-1 code such as "de"; "" when it is not known.
	Language string
	// FetchedAt is the time of the capture: the version of the document, and its freshness.
	FetchedAt time.Time
	// Revision orders documents of the same capture, e.g. with more anchors.
	Revision uint32
	// Importance is the page's importance in units of the mean page: 1 is ordinary, 0 unknown.
	Importance float64
	// Fingerprint is the simhash of the text; 0 when it has none.
	Fingerprint uint64

	// File and Offset say where the archived copy is.
	File   string
	Offset int64
}

// Removal takes a document out if it was fetched at At or before. The zero time takes out every
// version.
type Removal struct {
	URL string
	At  time.Time
}

// Batch is what one Apply changes: first the removals, then the documents.
type Batch struct {
	Remove []Removal
	Put    []Document
}

// Limits of what is kept of a document; what is longer is cut, at a whole character.
const (
	MaxURL         = 2083
	MaxTitle       = 512
	MaxDescription = 1024
	MaxHeadings    = 8 << 10
	MaxText        = 960 << 10
	MaxAnchors     = 32
	MaxAnchor      = 256
)
