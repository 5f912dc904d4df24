package pdf

import (
	"strconv"
	"strings"
	"time"
)

// Time reads a date of a PDF file, such as D:20240131120000+01'00'. What is left out after the
// year is the first month, day or second; a date without a time zone is taken as UTC. The zone's
// apostrophes, the D: and its colon may be missing. Other shapes that programs write, those of RFC
// 3339 and of ANSI C's asctime, are read as well. The zero time is no date.
func Time(s string) time.Time {
	s = strings.TrimSpace(strings.Trim(s, "\x00"))
	for _, layout := range []string{
		time.RFC3339, "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02", time.ANSIC,
	} {
		if t, err := time.Parse(layout, s); err == nil {
			return t
		}
	}
	s = strings.TrimPrefix(strings.TrimPrefix(s, "D"), ":")
	digits := len(s) - len(strings.TrimLeft(s, "0123456789"))
	zone := strings.TrimSpace(s[digits:])
	s = s[:digits]
	// Programs of 1999 wrote the year 2000 as 19100.
	if strings.HasPrefix(s, "191") && len(s)%2 == 1 && len(s) >= 9 {
		year, _ := strconv.Atoi(s[2:5])
		s = strconv.Itoa(1900+year) + s[5:]
	}
	if len(s) < 4 {
		return time.Time{}
	}
	layout := "20060102150405"[:min(len(s), 14)&^1]
	t, err := time.ParseInLocation(layout, s[:len(layout)], location(zone))
	if err != nil || t.Year() == 0 {
		return time.Time{}
	}
	return t
}

// location is the time zone of a PDF date: Z, or a sign, hours and minutes. What is none is UTC.
func location(zone string) *time.Location {
	if zone == "" || zone[0] != '+' && zone[0] != '-' {
		return time.UTC
	}
	var number [2]int
	parts := strings.FieldsFunc(zone[1:], func(r rune) bool { return r == '\'' || r == ':' })
	if len(parts) == 1 && len(parts[0]) == 4 {
		parts = []string{parts[0][:2], parts[0][2:]}
	}
	for i := range min(len(parts), len(number)) {
		n, err := strconv.Atoi(strings.TrimSpace(parts[i]))
		if err != nil || n < 0 {
			return time.UTC
		}
		number[i] = n
	}
	if number[0] > 23 || number[1] > 59 {
		return time.UTC
	}
	offset := number[0]*3600 + number[1]*60
	if zone[0] == '-' {
		offset = -offset
	}
	if offset == 0 {
		return time.UTC
	}
	return time.FixedZone("", offset)
}

// authors splits the property of authors at semicolons. Commas and "and" are left alone: they are
// parts of names as well.
func authors(s string) (names []string) {
	for name := range strings.SplitSeq(s, ";") {
		if name = strings.TrimSpace(name); name != "" && len(names) < maxAuthors {
			names = append(names, name)
		}
	}
	return names
}

const maxAuthors = 16
