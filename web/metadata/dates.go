package metadata

import (
	"strconv"
	"strings"
	"time"
)

// maxDate bounds the bytes of a date that are looked at.
const maxDate = 64

// The years that a page may name. Others are placeholders such as 0001-01-01, or mistakes.
const firstYear, lastYear = 1000, 2999

// date normalises a date as pages write them: an instant becomes RFC 3339 in the zone that was
// written, a day, a month or a year its W3C form (2024-05-06, 2024-05, 2024). "" is no date, or one
// that may be read in two ways.
//
// An instant without a zone is taken as UTC. A time of day that cannot be read, or whose zone is
// not known, is left out, and the day stays.
func date(s string) string {
	s = strings.Join(strings.Fields(cut(s, maxDate)), " ")
	s = strings.TrimPrefix(s, "D:") // as the dates of PDF begin
	if s == "" {
		return ""
	}
	if n := digits(s); n == len(s) || n == 14 {
		return compact(s, n)
	} else if n == 4 && strings.IndexByte("-/.", s[4]) >= 0 {
		return numeric(s)
	} else if n == 8 && (s[8] == 'T' || s[8] == 't') {
		clock := s[9:]
		if digits(clock) == 6 {
			clock = clock[:2] + ":" + clock[2:4] + ":" + clock[4:]
		}
		return day{s[:4], s[4:6], s[6:8]}.at(clock)
	}
	if s[0] >= '0' && s[0] <= '9' && strings.IndexByte("/.", s[min(digits(s), len(s)-1)]) >= 0 {
		return dayFirst(s)
	}
	return worded(s)
}

// digits is the number of digits at the beginning of s.
func digits(s string) int {
	n := 0
	for n < len(s) && '0' <= s[n] && s[n] <= '9' {
		n++
	}
	return n
}

// compact reads dates of digits alone: 2024, 20240506, 20240506070809 with a zone perhaps, and the
// seconds (10 digits) or milliseconds (13) since 1970. Six digits are a month or a day: neither.
func compact(s string, n int) string {
	switch n {
	case 4:
		return day{year: s}.String()
	case 8:
		return day{s[:4], s[4:6], s[6:]}.String()
	case 10, 13:
		ms, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			panic("BUG: " + s + " is no number")
		}
		if n == 10 {
			ms *= 1000
		}
		return time.UnixMilli(ms).UTC().Format(time.RFC3339)
	case 14:
		zone := strings.ReplaceAll(s[14:], "'", "") // +02'00' in PDF
		return day{s[:4], s[4:6], s[6:8]}.at(s[8:10] + ":" + s[10:12] + ":" + s[12:14] + zone)
	}
	return ""
}

// numeric reads dates whose year comes first, with '-', '/' or '.' between: 2024-05, 2024/5/6.
func numeric(s string) string {
	d, sep, rest := day{year: s[:4]}, s[4], s[5:]
	n := digits(rest)
	if n == 0 || n > 2 {
		return ""
	}
	d.month, rest = rest[:n], rest[n:]
	if rest == "" {
		return d.String()
	}
	if rest[0] != sep {
		return ""
	}
	if n = digits(rest[1:]); n == 0 || n > 2 {
		return ""
	}
	d.day, rest = rest[1:1+n], rest[1+n:]
	return d.at(rest)
}

// dayFirst reads dates whose year comes last: 13/5/2024 and 5/13/2024, where one number can only be
// a day, and 6.5.2024, since no country puts the month first and points between.
func dayFirst(s string) string {
	n := digits(s)
	sep := s[n : n+1]
	first, rest := s[:n], s[n+1:]
	second, rest, ok := strings.Cut(rest, sep)
	if !ok || n > 2 || digit2(second) < 0 || digits(rest) != 4 {
		return ""
	}
	d := day{rest[:4], second, first}
	if sep == "/" && number(first) != number(second) {
		switch {
		case number(first) <= 12 && number(second) <= 12:
			return ""
		case number(second) > 12:
			d.month, d.day = first, second
		}
	}
	return d.at(rest[4:])
}

// number is the value of a few digits; -1 when s is none.
func number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil || s[0] == '+' || s[0] == '-' {
		return -1
	}
	return n
}

// worded reads dates with the English name of a month, in the orders of RFC 1123 (6 May 2024), of
// American text (May 6, 2024) and of C and JavaScript (Mon May 6 07:08:09 2024), and a month with a
// year (May 2024).
func worded(s string) string {
	var d day
	rest := s
	for d.year == "" && rest != "" {
		word, after := token(rest)
		switch {
		case word == "":
			rest = rest[1:] // a sign between
			continue
		case strings.HasPrefix(after, ":"):
			return d.withYearBehind(rest)
		case digits(word) == len(word) && len(word) <= 2 && d.day == "":
			d.day = word
		case digits(word) == len(word) && len(word) == 4 && d.month != "":
			d.year = word
		case month(word) > 0 && d.month == "":
			d.month = strconv.Itoa(month(word))
		case ordinal(word) && d.day == "":
			d.day = word[:len(word)-2]
		case weekday(word) && d.month == "" && d.day == "":
		default:
			return ""
		}
		rest = after
	}
	if d.month == "" || d.year == "" {
		return ""
	}
	if d.day == "" && rest != "" {
		return ""
	}
	return d.at(rest)
}

// withYearBehind reads the time and the year behind it, as C writes them: 07:08:09 2024.
func (d day) withYearBehind(s string) string {
	clock, year, ok := cutLast(s, " ")
	if !ok || len(year) != 4 || digits(year) != 4 || d.month == "" || d.day == "" {
		return ""
	}
	d.year = year
	return d.at(clock)
}

func cutLast(s, sep string) (before, after string, ok bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

// token cuts a word of letters and digits off s.
func token(s string) (word, rest string) {
	n := 0
	for n < len(s) && ('0' <= s[n] && s[n] <= '9' || 'a' <= s[n]|0x20 && s[n]|0x20 <= 'z') {
		n++
	}
	return s[:n], s[n:]
}

// ordinal reports whether a word is a day such as 1st or 22nd.
func ordinal(s string) bool {
	n := digits(s)
	if n == 0 || n > 2 {
		return false
	}
	switch strings.ToLower(s[n:]) {
	case "st", "nd", "rd", "th":
		return true
	}
	return false
}

// month is that of an English name or its abbreviation of three letters (and Sept); 0: none.
func month(s string) int {
	if strings.EqualFold(s, "sept") {
		return 9
	}
	for m := time.January; m <= time.December; m++ {
		if name := m.String(); strings.EqualFold(s, name) || strings.EqualFold(s, name[:3]) {
			return int(m)
		}
	}
	return 0
}

func weekday(s string) bool {
	for d := time.Sunday; d <= time.Saturday; d++ {
		name := d.String()
		if len(s) >= 3 && len(s) <= len(name) && strings.EqualFold(s, name[:len(s)]) {
			return true
		}
	}
	return false
}

// day is a date of digits, as they were written. The month, or the day, may be missing.
type day struct{ year, month, day string }

// String is the W3C form, "" when there is no such date.
func (d day) String() string {
	y := number(d.year)
	if y < firstYear || y > lastYear {
		return ""
	}
	if d.month == "" {
		return strconv.Itoa(y)
	}
	m := number(d.month)
	if m < 1 || m > 12 {
		return ""
	}
	if d.day == "" {
		return time.Date(y, time.Month(m), 1, 0, 0, 0, 0, time.UTC).Format("2006-01")
	}
	t := time.Date(y, time.Month(m), number(d.day), 0, 0, 0, 0, time.UTC)
	if number(d.day) < 1 || t.Day() != number(d.day) {
		return ""
	}
	return t.Format(time.DateOnly)
}

// at is the instant at a time of the day, which is written in s; only the day when there is none.
func (d day) at(s string) string {
	whole := d.String()
	c, ok := clock(s)
	if whole == "" || !ok {
		return whole
	}
	t := time.Date(number(d.year), time.Month(number(d.month)), number(d.day), c.hour, c.minute,
		c.second, 0, time.FixedZone("", c.offset))
	if t.Year() > lastYear {
		return ""
	}
	return t.Format(time.RFC3339)
}

// timeOfDay is a time and the seconds by which its zone is east of Greenwich.
type timeOfDay struct{ hour, minute, second, offset int }

// clock reads a time such as T07:08:09.5+02:00, "at 7:08 pm", "07:08:09 GMT+0200 (name)".
func clock(s string) (c timeOfDay, ok bool) {
	s = strings.TrimLeft(s, " ,")
	if len(s) > 0 && (s[0] == 'T' || s[0] == 't') {
		s = s[1:]
	} else if len(s) > 3 && strings.EqualFold(s[:3], "at ") {
		s = s[3:]
	}
	hour, rest, _ := strings.Cut(s, ":")
	n := digits(rest)
	if c.hour = digit2(hour); c.hour < 0 || n != 2 {
		return c, false
	}
	c.minute, rest = number(rest[:2]), rest[2:]
	if strings.HasPrefix(rest, ":") && digits(rest[1:]) == 2 {
		c.second, rest = number(rest[1:3]), rest[3:]
		if len(rest) > 1 && (rest[0] == '.' || rest[0] == ',') {
			rest = rest[1+digits(rest[1:]):]
		}
	}
	rest = strings.TrimSpace(rest)
	if word, after := token(rest); strings.EqualFold(word, "am") || strings.EqualFold(word, "pm") {
		if c.hour < 1 || c.hour > 12 {
			return c, false
		}
		c.hour %= 12
		if word[0]|0x20 == 'p' {
			c.hour += 12
		}
		rest = strings.TrimSpace(after)
	}
	midnight := c.hour == 24 && c.minute == 0 && c.second == 0 // the end of a day, in ISO 8601
	if c.hour > 23 && !midnight || c.minute > 59 || c.second > 60 {
		return c, false
	}
	c.offset, ok = zone(rest)
	return c, ok
}

// digit2 is the value of one or two digits, else -1.
func digit2(s string) int {
	if len(s) == 0 || len(s) > 2 || digits(s) < len(s) {
		return -1
	}
	return number(s)
}

// zones are the names of RFC 5322, section 4.3, in hours east of Greenwich. Other names have more
// than one meaning.
var zones = map[string]int{
	"Z": 0, "UTC": 0, "GMT": 0, "UT": 0, "EDT": -4, "EST": -5, "CDT": -5, "CST": -6, "MDT": -6,
	"MST": -7, "PDT": -7, "PST": -8,
}

// zone reads a zone: nothing, a name, an offset such as +02:00, +0200 or +02, or both. A name in
// brackets behind it is a remark.
func zone(s string) (offset int, ok bool) {
	if i := strings.IndexAny(s, "(["); i >= 0 {
		s = strings.TrimSpace(s[:i])
	}
	name, rest := token(s)
	hours, known := zones[strings.ToUpper(name)]
	if name != "" && !known {
		return 0, false
	}
	if rest = strings.TrimSpace(rest); rest == "" {
		return hours * 3600, true
	}
	sign := 1
	switch {
	case hours != 0:
		return 0, false
	case rest[0] == '-':
		sign = -1
	case rest[0] != '+':
		return 0, false
	}
	num := strings.Replace(rest[1:], ":", "", 1)
	if digits(num) != len(num) || len(num) != 2 && len(num) != 4 {
		return 0, false
	}
	h, m := number(num[:2]), 0
	if len(num) == 4 {
		m = number(num[2:])
	}
	if h > 14 || m > 59 { // the farthest zone is 14 hours ahead
		return 0, false
	}
	return sign * (h*3600 + m*60), true
}
