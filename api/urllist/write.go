package urllist

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode"

	"crawlnode/crawl"
)

// The formats.
const (
	JSONLines = "jsonl"
	CSV       = "csv"
)

// JSONWriter returns what writes lines as JSON objects, one a line, with one write for each call.
func JSONWriter(out io.Writer) func([]crawl.URLLine) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // it is a file, and an ampersand is a part of many URLs
	return func(lines []crawl.URLLine) error {
		b.Reset()
		for i := range lines {
			if err := enc.Encode(&lines[i]); err != nil {
				return err
			}
		}
		_, err := out.Write(b.Bytes())
		return err
	}
}

// columns is the header of the CSV.
var columns = []string{"url", "host", "state", "status", "depth", "attempts", "fetched_at",
	"not_before",
	"cause", "reason", "partition", "changed_at", "referrer", "wall"}

// CSVWriter returns what writes lines as CSV, with one write for each call. The header is written
// at once.
func CSVWriter(out io.Writer) (func([]crawl.URLLine) error, error) {
	if _, err := io.WriteString(out, strings.Join(columns, ",")+"\n"); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	return func(lines []crawl.URLLine) error {
		b.Reset()
		for i := range lines {
			if err := w.Write(record(&lines[i])); err != nil {
				return err
			}
		}
		w.Flush()
		_, err := out.Write(b.Bytes())
		return err
	}, nil
}

// record are the fields of a line, in the order of columns.
func record(l *crawl.URLLine) []string {
	status := ""
	if l.Status != nil {
		status = strconv.Itoa(*l.Status)
	}
	return []string{l.URL, tame(string(l.Host)), l.State, status, strconv.Itoa(l.Depth),
		strconv.Itoa(l.Attempts),
		timeText(l.FetchedAt), timeText(l.NotBefore), tame(textOf(l.Cause)), tame(textOf(l.Reason)),
		strconv.Itoa(int(l.Partition)),
		timeText(l.ChangedAt), tame(textOf(l.Referrer)), textOf(l.Wall)}
}

func textOf(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func timeText(t *time.Time) string {
	if t == nil {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

// tame keeps a spreadsheet from reading a text as a formula, and a terminal from obeying it.
func tame(s string) string {
	if s == "" {
		return s
	}
	formula := strings.ContainsRune("=+-@\t\r\n", rune(s[0]))
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
	if formula {
		return "'" + s
	}
	return s
}
