package archive

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"crawlnode/crawl"
	"crawlnode/web/preferences"
)

// indexLine is one capture in a CDXJ index: the key of the URL (Key), the time
// to the second, and JSON in which every value is a string, as the replay tools
// read it.
type indexLine struct {
	key  string
	date time.Time
	indexFields
}

// The media types in an index of what has none of its own.
const (
	revisitMIME = "warc/revisit"
	unknownMIME = "unk"
)

// indexDate is the form of the times in an index.
const indexDate = "20060102150405"

// unknownDigest stands in an index for the digest of a 304 whose payload is not known.
const unknownDigest = "-"

// indexFields are the JSON of a line. Their order says by which key the line was made (isCurrent):
// earlier releases wrote the length before the offset and the file.
type indexFields struct {
	URL    string `json:"url"`
	MIME   string `json:"mime"`
	Status string `json:"status"`
	Digest string `json:"digest"`
	// Preferences is what the owner says of the use of the page, as preferences.ParseAnswers reads it.
	Preferences string `json:"preferences,omitempty"`

	Filename string `json:"filename"`
	Offset   string `json:"offset"`
	Length   string `json:"length"`
}

// line makes the index line of the capture that e has just encoded.
func (e *encoder) line(c *crawl.Capture, ref crawl.ArchiveRef) indexLine {
	return newIndexLine(c.URL.String(), c.FetchedAt, c.ContentType, e.revisit, c.Status,
		cmp.Or(payloadDigest(c), unknownDigest), answersOf(c), ref)
}

// answersOf is what the owner of a captured page says of its use, as indexes have it.
func answersOf(c *crawl.Capture) string {
	r, err := preferences.Decode(c.Preferences)
	if err != nil {
		panic("BUG: preferences of " + c.URL.String() + ": " + err.Error())
	}
	if answers := r.Answers.String(); answers != "" || c.Status != http.StatusNotModified ||
		c.Preferences == "" {
		return answers
	}
	return preferences.NothingSaid
}

func newIndexLine(
	url string,
	date time.Time,
	mime string,
	revisit bool,
	status int,
	digest, answers string,
	ref crawl.ArchiveRef,
) indexLine {
	if revisit {
		mime = revisitMIME
	} else if mime == "" {
		mime = unknownMIME
	}
	return indexLine{key: Key(url), date: date, indexFields: indexFields{
		URL: url, MIME: string(appendClean(nil, mime)), Status: strconv.Itoa(status), Digest: digest,
		Preferences: answers, Filename: ref.File,
		Length: strconv.FormatInt(ref.Length, 10), Offset: strconv.FormatInt(ref.Offset, 10),
	}}
}

// appendIndexLine appends l with its end of line.
func appendIndexLine(b []byte, l indexLine) []byte { return appendLine(b, &l, l.indexFields) }

func appendLine(b []byte, l *indexLine, fields any) []byte {
	b = appendClean(b, l.key)
	b = append(b, ' ')
	b = l.date.UTC().AppendFormat(b, indexDate)
	b = append(b, ' ')
	out := bytes.NewBuffer(b)
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(fields); err != nil {
		panic("BUG: strings cannot be written as JSON: " + err.Error())
	}
	return out.Bytes()
}

// parseIndexLine reads the position of a line's record.
func parseIndexLine(line []byte) (ref crawl.ArchiveRef, err error) {
	_, rest, _ := bytes.Cut(line, []byte(" "))
	_, rest, _ = bytes.Cut(rest, []byte(" "))
	var f indexFields
	if err := json.Unmarshal(rest, &f); err != nil {
		return ref, fmt.Errorf("index line: %w", err)
	}
	ref.File = f.Filename
	if ref.Offset, err = strconv.ParseInt(f.Offset, 10, 64); err != nil {
		return ref, fmt.Errorf("index line: offset: %w", err)
	}
	if ref.Length, err = strconv.ParseInt(f.Length, 10, 64); err != nil {
		return ref, fmt.Errorf("index line: length: %w", err)
	}
	if ref.Offset < 0 || ref.Length <= 0 {
		return ref, fmt.Errorf("index line: record at %d with length %d", ref.Offset, ref.Length)
	}
	return ref, nil
}
