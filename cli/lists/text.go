package lists

import (
	"bytes"
	"fmt"
	"io"
	"time"

	"crawlnode/api/plaintext"
	"crawlnode/crawl"
)

// textWriter returns what writes lines for people: columns in a row, the URL last, because it may
// be long. On a terminal a header comes first.
func textWriter(out io.Writer, header bool) func([]crawl.URLLine) error {
	var b bytes.Buffer
	return func(lines []crawl.URLLine) error {
		b.Reset()
		if header {
			header = false
			fmt.Fprintf(&b, "%-7s %6s %5s %-20s %-15s %s\n", "STATE", "STATUS", "DEPTH", "TIME", "CAUSE", "URL")
		}
		for i := range lines {
			writeText(&b, &lines[i])
		}
		_, err := out.Write(b.Bytes())
		return err
	}
}

// writeText writes one line. The time is that of the last fetch, of a queued URL that of its next
// try.
func writeText(b *bytes.Buffer, l *crawl.URLLine) {
	status, at, cause := "-", "-", "-"
	if l.Status != nil {
		status = fmt.Sprint(*l.Status)
	}
	when := l.FetchedAt
	if l.State == crawl.ListQueued {
		when = l.NotBefore
	}
	if when != nil {
		at = when.UTC().Format(time.RFC3339)
	}
	if l.Cause != nil {
		cause = *l.Cause
	}
	fmt.Fprintf(b, "%-7s %6s %5d %-20s %-15s %s\n", plaintext.Escape(l.State), status, l.Depth, at, plaintext.Escape(cause), plaintext.Escape(l.URL))
}
