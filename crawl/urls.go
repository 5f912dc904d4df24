package crawl

import (
	"errors"
	"time"

	"crawlnode/web/preferences"
)

// ErrBadQuery is inside an error about a list that cannot be made as it was asked for. The API
// answers 400.
var ErrBadQuery = errors.New("the list cannot be made")

// The states of a URL in a list.
const (
	ListQueued  = "queued"  // it waits for a fetch
	ListDone    = "done"    // it was fetched, with whatever status
	ListFailed  = "failed"  // it was given up
	ListSkipped = "skipped" // robots.txt, a budget or a changed scope refused it in its turn
	// ListBroken is asked for, and is in no line: links that lead nowhere. Their URLs failed, or
	// are done and were answered with 4xx or 5xx.
	ListBroken = "broken"
)

// ListStates lists what URLQuery.State may be.
var ListStates = [...]string{ListQueued, ListDone, ListFailed, ListSkipped, ListBroken}

// MaxURLLines bounds a URLPage.
const MaxURLLines = 1000

// MaxURLFilter bounds the texts of a URLQuery, in bytes.
const MaxURLFilter = 1000

// URLQuery says which of the stored URLs a list has, and which page of it is wanted. Empty fields
// leave nothing out. It is sent to other nodes as JSON, so fields are only ever added.
type URLQuery struct {
	State    string `json:"state,omitempty"`    // ListQueued...
	Host     string `json:"host,omitempty"`     // of the URL, without port
	Contains string `json:"contains,omitempty"` // a part of the URL, in whatever case
	Match    string `json:"match,omitempty"`    // a pattern as those of --include
	Status   string `json:"status,omitempty"`   // 404, or 4xx
	// Changed wants pages only whose content was another one at a later visit than the first. Since,
	// if it is not the zero time, wants those only that changed then or later; it implies Changed.
	Changed bool      `json:"changed,omitempty"`
	Since   time.Time `json:"since,omitzero"`
	// Referrer fills URLLine.Referrer. ListFailed with it is ListBroken: so lists of broken links
	// were asked for before that was a word of its own.
	Referrer bool `json:"referrer,omitempty"`
	// Partition, if not nil, lists this one only.
	Partition *Partition `json:"partition,omitempty"`
	Limit     int        `json:"limit,omitempty"` // lines of a page, at most MaxURLLines; 0: as many
	// URLPage.Next of the page before; "": the first page
	After string `json:"after,omitempty"`
	// Reading is the time for reading a page, if it is less than what a page has anyway; 0: that.
	Reading time.Duration `json:"-"`
}

// URLPage is the document of GET /api/v1/urls without url=: a part of a list. Lines are in the
// order of the partitions, then of the hosts, then of the URLs' fingerprints. That order is the
// same on every node, so a list goes on behind its cursor also when another node holds the
// partition by then. A page may have fewer lines than its limit, or none, and still have a next
// one: the time for one page is bounded.
type URLPage struct {
	URLs []URLLine `json:"urls"`
	// Next is the cursor of the next page; null: this is the last one.
	Next *string `json:"next"`
	// Scanned counts the URLs and hosts that were read for the page.
	Scanned int64 `json:"scanned"`
	// Unread are the partitions that this page should have, and has not.
	Unread []UnreadPartition `json:"unread"`
}

// UnreadPartition is a partition that could not be read. Ask again for this partition, after the
// cursor.
type UnreadPartition struct {
	Partition Partition `json:"partition"`
	After     string    `json:"after"`
	Why       string    `json:"why"` // one sentence for a person
}

// URLLine is one URL in a list. Unknown values are null.
type URLLine struct {
	URL       string     `json:"url"` // canonical
	Host      Host       `json:"host"`
	Partition Partition  `json:"partition"`
	State     string     `json:"state"`  // ListQueued...
	Status    *int       `json:"status"` // of the last answer; null: there was none
	Depth     int        `json:"depth"`  // links from a seed
	Attempts  int        `json:"attempts"`
	FetchedAt *time.Time `json:"fetched_at"` // or last tried
	NotBefore *time.Time `json:"not_before"` // earliest next attempt of a queued URL; null: no limit
	// Cause is the error category of a failed URL, rate_limited, blocked, or the skip reason of a
	// skipped one; of a queued one the category of the last failed attempt.
	Cause *string `json:"cause"`
	// the same in a sentence, or a remark about the answer; behind a bot wall blocked
	Reason *string `json:"reason"`
	Wall   *string `json:"wall"` // the product of a bot wall; null: there was none
	// ChangedAt is the time of the newest visit that found other content than the one before it.
	ChangedAt *time.Time `json:"changed_at"`
	// Referrer is the page on which the URL was found first, a list with URLQuery.Referrer only.
	Referrer *string `json:"referrer"`
	// Preferences is what the owner said of the use of the page at the newest visit; null: there was
	// none.
	Preferences *preferences.PagePreferences `json:"preferences"`
}
