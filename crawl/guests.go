package crawl

import (
	"errors"
	"strings"
	"time"
	"unicode/utf8"
)

// A guest is a URL of another crawl than the cluster's own: a client of the URLFrontier protocol
// puts it, gets it back when its host may be requested, and says when it wants it again. The
// cluster keeps it, and keeps politeness by host over all crawls.

const (
	// MaxMetadata bounds the metadata of one URL: the bytes of its keys and values.
	MaxMetadata = 4 << 10
	// MaxMetadataParts bounds its keys and values: an empty one takes none of these bytes.
	MaxMetadataParts = 2 * MaxMetadata
	// MaxCrawlID bounds the id of a crawl, in bytes.
	MaxCrawlID = 128
	// OwnCrawl names the cluster's own crawl, as the empty id does.
	OwnCrawl = "DEFAULT"
	// OtherCrawls stands for all crawls but that in questions. It is no id of a crawl.
	OtherCrawls = "\x00"
)

// ValidCrawl reports whether an id may name a crawl of guests.
func ValidCrawl(id string) bool {
	return id != "" && id != OwnCrawl && len(id) <= MaxCrawlID && utf8.ValidString(id) &&
		!strings.ContainsFunc(id,
			func(r rune) bool { return r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 })
}

// ErrManyCrawls says that there are as many crawls as there may be.
var ErrManyCrawls = errors.New(
	"there are as many crawls as a partition may have: delete some of them (DeleteCrawl)")

// Metadata is what a client has said of a URL, by key. The values keep their order.
type Metadata map[string][]string

// Size is the sum of the bytes of keys and values.
func (m Metadata) Size() (n int) {
	for k, vs := range m {
		n += len(k)
		for _, v := range vs {
			n += len(v)
		}
	}
	return n
}

// GuestPut is a URL that a client puts.
type GuestPut struct {
	Crawl    string   `json:"crawl"`
	URL      string   `json:"url"` // canonical
	Known    bool     `json:"known,omitempty"`
	Metadata Metadata `json:"metadata,omitempty"`
	// Refetch is when a known URL is wanted again, in seconds since 1970; 0: never.
	Refetch int64 `json:"refetch,omitempty"`
	// Lease is the lease under which the client had it; "": it does not say.
	Lease string `json:"lease,omitempty"`
	// Result is how the fetch went, for the politeness of its host.
	Result *WorkerResult `json:"result,omitempty"`
}

// GuestAnswer says what became of a GuestPut.
type GuestAnswer uint8

// The answers.
const (
	GuestStored  GuestAnswer = iota
	GuestRefused             // it must not be sent again as it is
	GuestLater               // it may be sent again
)

// GuestURL is what is stored of a guest.
type GuestURL struct {
	Crawl    string   `json:"crawl"`
	URL      string   `json:"url"`
	Host     Host     `json:"host"`
	Known    bool     `json:"known,omitempty"`  // a client has reported on it
	Active   bool     `json:"active,omitempty"` // it is to be fetched, now or at a date
	Refetch  int64    `json:"refetch,omitempty"`
	Created  int64    `json:"created,omitempty"` // seconds since 1970
	Metadata Metadata `json:"metadata,omitempty"`
}

// Note is what clients of the URLFrontier protocol have said of a URL of the cluster's own crawl.
type Note struct {
	URL      string   `json:"url"` // canonical
	Metadata Metadata `json:"metadata,omitempty"`
	// when it was first put, in seconds since 1970; 0: not by a client
	Created int64 `json:"created,omitempty"`
	// when it is wanted again, in seconds since 1970; 0: at no date
	Refetch int64 `json:"refetch,omitempty"`
}

// GuestSums are the figures of a crawl, or of one of its queues.
type GuestSums struct {
	Queues       int64 `json:"queues"`
	ActiveQueues int64 `json:"active_queues"`
	URLs         int64 `json:"urls"`
	Active       int64 `json:"active"`
	InProcess    int64 `json:"in_process"`
}

// Add adds the figures of another part.
func (s *GuestSums) Add(o GuestSums) {
	s.Queues += o.Queues
	s.ActiveQueues += o.ActiveQueues
	s.URLs += o.URLs
	s.Active += o.Active
	s.InProcess += o.InProcess
}

// GuestQueue is a queue: what a crawl has of one host.
type GuestQueue struct {
	Host    Host          `json:"host"`
	URLs    int64         `json:"urls"`
	Active  int64         `json:"active"`
	Blocked time.Duration `json:"blocked,omitempty"` // for how long it is blocked yet
}

// NoteLine is what a client says of a URL of the cluster's own crawl. A discovered one is said
// before the URL itself, and counts only if that is not known.
type NoteLine struct {
	URL      string   `json:"url"` // canonical
	Metadata Metadata `json:"metadata,omitempty"`
	Known    bool     `json:"known,omitempty"` // it takes the place of what was said before
	Refetch  int64    `json:"refetch,omitempty"`
	Drop     bool     `json:"drop,omitempty"` // the URL was not admitted
}

// GuestList says which URLs of another crawl are listed.
type GuestList struct {
	Crawl      string
	Host       Host // "": of any
	Contains   string
	IgnoreCase bool
}

// GuestRule is what is set for a queue of another crawl, or for all its queues. Nil: it stays.
type GuestRule struct {
	Block *time.Duration // for how long; 0: not any more
	Delay *time.Duration
	Limit *int64
}

// ManyParts reports whether m has more parts than are stored.
func (m Metadata) ManyParts() bool {
	n := len(m)
	for _, vs := range m {
		n += len(vs)
	}
	return n > MaxMetadataParts
}

// LateState is what stands in the way of a result that comes when no visit of its URL is open.
type LateState uint8

// The states.
const (
	LateOpen    LateState = iota // nothing: the visit is to be completed with the result
	LateTaken                    // somebody fetches the URL now
	LateOver                     // it does not wait any more: its result is there
	LateUnknown                  // it was never admitted
)
