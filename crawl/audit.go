package crawl

import (
	"context"
	"strconv"
	"time"
)

// AuditEntry is one change requested through the API.
type AuditEntry struct {
	At   time.Time `json:"at"`
	Node string    `json:"node"` // name of the node that got the request
	// id of the token; KeyCaller for the key's own, "" when none was needed
	Token  string `json:"token"`
	Role   string `json:"role"`   // of the caller
	From   string `json:"from"`   // IP address
	What   string `json:"what"`   // method and path
	Old    string `json:"old"`    // what was before, "" where nothing was
	New    string `json:"new"`    // the requested value
	Status int    `json:"status"` // HTTP status of the answer; 2xx and 303: the change was made
}

// AuditReport is the document of GET /api/v1/audit.
type AuditReport struct {
	Changes []AuditEntry `json:"changes"` // newest first
	// Unanswered names the members whose part is missing.
	Unanswered []string `json:"unanswered"`
}

// MaxAudit is the largest number of changes in a report.
const MaxAudit = 1000

// maxNoteBytes bounds how much of a value is noted.
const maxNoteBytes = 2 << 10

// ChangeNote describes a change for the audit. The code that makes the change fills it in.
type ChangeNote struct{ Old, New string }

// Set notes the old and the requested value, cut when they are long.
func (n *ChangeNote) Set(before, asked string) {
	cut := func(s string) string {
		if len(s) > maxNoteBytes {
			return s[:maxNoteBytes] + "..."
		}
		return s
	}
	n.Old, n.New = cut(before), cut(asked)
}

// SeedsRemoved is what the audit says of URLs that were to be removed from the queue.
func SeedsRemoved(
	count int,
	first string,
) string {
	return "removed of " + SeedsAdded(count, first)
}

// SeedsAdded is what the audit says of seeds, however they come: how many, and the first.
func SeedsAdded(count int, first string) string {
	if len(first) > maxSeedNoted {
		first = first[:maxSeedNoted] + "..."
	}
	if count == 1 {
		return "1 seed: " + first
	}
	return strconv.Itoa(count) + " seeds: " + first
}

// maxSeedNoted bounds what is noted of the first seed, in bytes.
const maxSeedNoted = 200

type noteKey struct{}

// WithNote attaches a note for changes under ctx.
func WithNote(ctx context.Context) (context.Context, *ChangeNote) {
	n := &ChangeNote{}
	return context.WithValue(ctx, noteKey{}, n), n
}

// NoteOf is the note attached to ctx, or an unused one when there is none.
func NoteOf(ctx context.Context) *ChangeNote {
	if n, ok := ctx.Value(noteKey{}).(*ChangeNote); ok {
		return n
	}
	return &ChangeNote{}
}
