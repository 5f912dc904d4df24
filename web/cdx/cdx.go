package cdx

import (
	"bytes"
	"encoding/base32"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Record is what an index says of a capture.
type Record struct {
	URL    string // as it is written; never ""
	Date   string // digits, from the year on; never ""
	MIME   string // "": it is not said
	Status int    // 0: it is not said
	Digest string // of the payload, as it is written, with or without "sha1:"; "": it is not said
}

// revisitMIME stands in an index for the media type of a revisit record.
const revisitMIME = "warc/revisit"

// IsRevisit reports whether the capture refers to another one that has its payload.
func (r *Record) IsRevisit() bool { return r.MIME == revisitMIME }

// At is the time of the capture. False: the date is not one to the second, or to a part of it.
func (r *Record) At() (time.Time, bool) {
	const form = "20060102150405"
	if len(r.Date) < len(form) {
		return time.Time{}, false
	}
	at, err := time.Parse(form, r.Date[:len(form)])
	return at, err == nil
}

// SHA1 is the digest of the payload. False: it is not known, or not an SHA-1 in base 32.
func (r *Record) SHA1() (sum [20]byte, ok bool) {
	text := r.Digest
	if name, rest, named := strings.Cut(text, ":"); named {
		if !strings.EqualFold(name, "sha1") {
			return sum, false
		}
		text = rest
	}
	if len(text) != base32.StdEncoding.EncodedLen(len(sum)) {
		return sum, false
	}
	var b [20]byte
	n, err := base32.StdEncoding.Decode(b[:], []byte(strings.ToUpper(text)))
	return b, err == nil && n == len(b)
}

// text is a value that some programs write as a string and others as a number.
type text string

// UnmarshalJSON implements json.Unmarshaler.
func (t *text) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		return json.Unmarshal(b, (*string)(t))
	}
	var n *json.Number
	if err := json.Unmarshal(b, &n); err != nil {
		return fmt.Errorf("%s is neither a string nor a number", b)
	}
	if n != nil {
		*t = text(*n)
	}
	return nil
}

// legend says which field of a line of the older form is which.
type legend struct {
	separator byte
	letters   []byte
}

// usual is the legend of a file without one. What follows differs, and is not read.
var usual = legend{' ', []byte("Nbamsk")}

// parseLegend reads a first line such as " CDX N b a m s k r M S V g".
func parseLegend(line []byte) (l legend, ok bool, err error) {
	if len(line) < 5 || string(line[1:4]) != "CDX" || line[4] != line[0] ||
		'0' <= line[0] && line[0] <= 'z' {
		return l, false, nil
	}
	l.separator = line[0]
	for letter := range bytes.SplitSeq(line[5:], line[:1]) {
		if len(letter) != 1 {
			return l, true, fmt.Errorf("%.40q in its first line is not the letter of a field",
				letter)
		}
		l.letters = append(l.letters, letter[0])
	}
	if !bytes.ContainsRune(l.letters, 'a') || !bytes.ContainsRune(l.letters, 'b') {
		return l, true, errors.New(
			"its first line names no field a, the URL, or no field b, the date")
	}
	return l, true, nil
}

// isNoCapture reports whether a line is none of a capture in any index.
func isNoCapture(line []byte) bool { return len(line) == 0 || line[0] == '!' || line[0] == '#' }

// parse reads a line without its end.
func parse(line []byte, l *legend) (r Record, err error) {
	key, rest, _ := bytes.Cut(line, []byte(" "))
	date, fields, ok := bytes.Cut(rest, []byte(" "))
	fields = bytes.TrimLeft(fields, " ")
	if ok && len(key) > 0 && bytes.HasPrefix(fields, []byte("{")) {
		err = r.parseJSON(date, fields)
	} else {
		err = r.parseFields(line, l)
	}
	if err != nil {
		return Record{}, err
	}
	return r, nil
}

func (r *Record) parseJSON(date, fields []byte) error {
	var f struct {
		URL    string `json:"url"`
		MIME   text   `json:"mime"`
		Status text   `json:"status"`
		Digest text   `json:"digest"`
	}
	if err := json.Unmarshal(fields, &f); err != nil {
		return fmt.Errorf("its JSON: %w", err)
	}
	return r.fill(f.URL, string(date), string(f.MIME), string(f.Status), string(f.Digest))
}

func (r *Record) parseFields(line []byte, l *legend) error {
	var url, date, mime, status, digest string
	n := 0
	for field := range bytes.SplitSeq(line, []byte{l.separator}) {
		if n == len(l.letters) {
			break
		}
		switch l.letters[n] {
		case 'a':
			url = string(field)
		case 'b':
			date = string(field)
		case 'm':
			mime = string(field)
		case 's':
			status = string(field)
		case 'k':
			digest = string(field)
		}
		n++
	}
	if n < len(l.letters) {
		return fmt.Errorf("it has %d of the %d fields of CDX, and is not a key, a date and JSON",
			n, len(l.letters))
	}
	return r.fill(url, date, mime, status, digest)
}

// unsaid stands for what is not known.
const unsaid = "-"

// fill takes what a line has, and judges it.
func (r *Record) fill(url, date, mime, status, digest string) error {
	if url == "" || url == unsaid {
		return errors.New("it has no URL")
	}
	if date == "" || len(date) > 20 || strings.Trim(date, "0123456789") != "" {
		return fmt.Errorf("%.40q is not a date of digits", date)
	}
	if status != "" && status != unsaid {
		n, err := strconv.ParseUint(status, 10, 16)
		if err != nil {
			return fmt.Errorf("%.40q is not a status", status)
		}
		r.Status = int(n)
	}
	r.URL, r.Date = url, date
	if mime != unsaid {
		r.MIME = mime
	}
	if digest != unsaid {
		r.Digest = digest
	}
	return nil
}
