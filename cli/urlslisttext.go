package cli

import (
	"bytes"
	"fmt"
	"io"
	"time"

	"crawlnode/api/plaintext"
	"crawlnode/crawl"
)

// textWriter returns what writes lines for people: columns in a row, the URL last, because it may
// be long, but for its referrer. On a terminal a header comes first.
func (v *urlsListVerb) textWriter(out io.Writer, header bool) func([]crawl.URLLine) error {
	var b bytes.Buffer
	return func(lines []crawl.URLLine) error {
		b.Reset()
		if header {
			header = false
			at, from := "TIME", ""
			if v.Changed {
				at = "CHANGED"
			}
			if v.Referrer {
				from = " REFERRER"
			}
			fmt.Fprintf(&b, "%-7s %6s %5s %-20s %-15s %s%s\n", "STATE", "STATUS", "DEPTH", at,
				"CAUSE", "URL", from)
		}
		for i := range lines {
			v.writeText(&b, &lines[i])
		}
		_, err := out.Write(b.Bytes())
		return err
	}
}

// writeText writes one line. The time is that of the last fetch, of a queued URL that of its next
// try, of a list of changes that of the change.
func (v *urlsListVerb) writeText(b *bytes.Buffer, l *crawl.URLLine) {
	status, at, cause := "-", "-", "-"
	if l.Status != nil {
		status = fmt.Sprint(*l.Status)
	}
	when := l.FetchedAt
	if l.State == crawl.ListQueued {
		when = l.NotBefore
	}
	if v.Changed {
		when = l.ChangedAt
	}
	if when != nil {
		at = when.UTC().Format(time.RFC3339)
	}
	if l.Cause != nil {
		cause = *l.Cause
	}
	from := ""
	if v.Referrer {
		from = " -"
		if l.Referrer != nil {
			from = " " + plaintext.Escape(*l.Referrer)
		}
	}
	fmt.Fprintf(b, "%-7s %6s %5d %-20s %-15s %s%s\n", plaintext.Escape(l.State), status, l.Depth, at,
		plaintext.Escape(cause), plaintext.Escape(l.URL), from)
}
