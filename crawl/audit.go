package crawl

import (
	"context"
	"time"
)

// AuditEntry is one change that somebody asked for through the API.
type AuditEntry struct {
	At     time.Time `json:"at"`
	Node   string    `json:"node"`   // name of the node that was asked
	Token  string    `json:"token"`  // id of the token; KeyAsker for the key's own, "" when none was needed
	Role   string    `json:"role"`   // of the asker
	From   string    `json:"from"`   // IP address
	What   string    `json:"what"`   // method and path
	Old    string    `json:"old"`    // what was before, "" where nothing was
	New    string    `json:"new"`    // what was asked for
	Status int       `json:"status"` // HTTP status of the answer; 2xx and 303: it was done
}

// AuditReport is the document of GET /api/v1/audit.
type AuditReport struct {
	Changes []AuditEntry `json:"changes"` // newest first
	// Unanswered names the members whose part is missing.
	Unanswered []string `json:"unanswered"`
}

// MaxAudit is how many changes a report has at the most.
const MaxAudit = 1000

// maxNoteBytes bounds what is noted of a value.
const maxNoteBytes = 2 << 10

// ChangeNote is what a change was, for the audit. Whoever makes the change fills it in.
type ChangeNote struct{ Old, New string }

// Set notes what was and what was asked for, cut when it is long.
func (n *ChangeNote) Set(before, asked string) {
	cut := func(s string) string {
		if len(s) > maxNoteBytes {
			return s[:maxNoteBytes] + "..."
		}
		return s
	}
	n.Old, n.New = cut(before), cut(asked)
}

type noteKey struct{}

// WithNote has changes under ctx noted.
func WithNote(ctx context.Context) (context.Context, *ChangeNote) {
	n := &ChangeNote{}
	return context.WithValue(ctx, noteKey{}, n), n
}

// NoteOf is where the change under ctx is noted; nobody reads it when none was made.
func NoteOf(ctx context.Context) *ChangeNote {
	if n, ok := ctx.Value(noteKey{}).(*ChangeNote); ok {
		return n
	}
	return &ChangeNote{}
}
