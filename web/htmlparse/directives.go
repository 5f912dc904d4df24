package htmlparse

import (
	"strings"
	"time"
)

// RobotsHeader reads the X-Robots-Tag lines of one answer as they apply to the crawler whose
// product token is agent. Each line is read by itself: a prefix ("otherbot: noindex, nofollow")
// addresses what follows it up to the next prefix or the end of the line. Directives of several
// lines add up. From the time of an unavailable_after directive on, it means noindex; now is the
// time to judge by.
func RobotsHeader(values []string, agent string, now time.Time) (noIndex, noFollow bool) {
	d := directives{agent: agent, now: now, addressed: true}
	for _, v := range values {
		d.read(v)
	}
	return d.noIndex, d.noFollow
}

// NoIndexLater reports whether these X-Robots-Tag lines say noindex from some time after now on.
func NoIndexLater(values []string, agent string, now time.Time) bool {
	d := directives{agent: agent, now: now, addressed: true}
	for _, v := range values {
		d.read(v)
	}
	return d.later
}

// Directives are what robots directives say of the use of a page.
type Directives struct {
	NoIndex, NoArchive, NoAI bool
	// NoIndexFrom is the earliest time from which on NoIndex holds; the zero time: none is named.
	NoIndexFrom time.Time
	// Other: there is a word that says neither this nor what holds without it, such as nosnippet.
	// Words with a value, such as max-snippet: 20, are none.
	Other bool
}

// ReadDirectives reads lists of directives as they apply to the crawler whose product token is
// agent. addressed says that they are X-Robots-Tag lines, in which prefixes name crawlers.
func ReadDirectives(lists []string, agent string, addressed bool) Directives {
	d := directives{agent: agent, addressed: addressed}
	for _, list := range lists {
		d.read(list)
	}
	return Directives{NoIndex: d.noIndex, NoArchive: d.noArchive, NoAI: d.noAI,
		NoIndexFrom: d.from, Other: d.other}
}

// directives reads lists of robots directives, of a header or of a meta element. There is no
// standard of their grammar: this follows what the documentation of Google and Bing shows.
type directives struct {
	agent     string // product token of this crawler
	now       time.Time
	addressed bool // the lists may have prefixes of crawlers, as headers have
	dates     int  // that were read

	noIndex, noFollow bool
	later             bool // noindex from a time after now on

	noArchive, noAI bool
	from            time.Time // the earliest time from which on noindex holds
	other           bool      // a word was neither one of these nor a default
}

// maxDates is how many dates are read of one page: trying the forms of one takes microseconds.
const maxDates = 32

// read takes the directives of one list. Commas and semicolons separate them, and white space does
// where no value is expected.
func (d *directives) read(list string) {
	ours := true
	for list != "" {
		part, rest := cutDirective(list)
		list = rest
		words, value, valued := strings.Cut(part, ":")
		name := lastField(&words)
		if !valued {
			d.words(words+" "+name, ours)
			continue
		}
		d.words(words, ours)
		value = strings.TrimSpace(value)
		for valued && !takesValue(name, value) {
			switch {
			case isDirective(name): // "noindex: true"
				d.words(name, ours)
			case d.addressed && isProduct(name):
				ours = isAgent(name, d.agent)
			}
			// What a prefix addresses may have a value in turn ("otherbot: max-snippet: 20").
			words, value, valued = strings.Cut(value, ":")
			value, name = strings.TrimSpace(value), lastField(&words)
			if !valued {
				d.words(words+" "+name, ours)
				break
			}
			d.words(words, ours)
		}
		if valued && strings.EqualFold(name, "unavailable_after") {
			if d.dates++; d.dates > maxDates {
				continue
			}
			at, after, ok := cutDate(value, list)
			list = after
			if ok && ours {
				due := !d.now.Before(at)
				if d.from.IsZero() || at.Before(d.from) {
					d.from = at
				}
				d.noIndex, d.later = d.noIndex || due, d.later || !due
			}
		}
	}
}

// words takes directives without values.
func (d *directives) words(words string, ours bool) {
	if !ours {
		return
	}
	for _, word := range strings.Fields(words) {
		none := strings.EqualFold(word, "none")
		d.noIndex = d.noIndex || none || strings.EqualFold(word, "noindex")
		d.noFollow = d.noFollow || none || strings.EqualFold(word, "nofollow")
		d.use(word)
	}
}

// use takes a word that says what a page may be used for, if it is one.
func (d *directives) use(word string) {
	switch {
	case strings.EqualFold(word, "noarchive"):
		d.noArchive = true
	case strings.EqualFold(word, "noai"):
		d.noAI = true
	default:
		for _, usual := range [...]string{"index", "noindex", "follow", "nofollow", "none", "all"} {
			if strings.EqualFold(word, usual) {
				return
			}
		}
		d.other = true
	}
}

// isDirective reports whether word is a directive that words takes.
func isDirective(word string) bool {
	return strings.EqualFold(word, "noindex") || strings.EqualFold(word, "nofollow") ||
		strings.EqualFold(word, "none") || strings.EqualFold(word, "noarchive") ||
		strings.EqualFold(word, "noai")
}

// cutDirective cuts a list at its first separator.
func cutDirective(list string) (first, rest string) {
	if i := strings.IndexAny(list, ",;"); i >= 0 {
		return list[:i], list[i+1:]
	}
	return list, ""
}

// lastField cuts the last word off s.
func lastField(s *string) string {
	trimmed := strings.TrimSpace(*s)
	i := strings.LastIndexAny(trimmed, spaces)
	*s = trimmed[:i+1]
	return trimmed[i+1:]
}

// takesValue tells "max-snippet: 5" from "otherbot: noindex". A directive that nobody knows has
// a number, or a name that begins as those of its kind do.
func takesValue(name, value string) bool {
	return strings.EqualFold(name, "unavailable_after") ||
		len(name) > len("max-") && strings.EqualFold(name[:len("max-")], "max-") ||
		value != "" && strings.Trim(value, "+-.0123456789") == ""
}

// isProduct reports whether name can name a crawler: a token (RFC 9110, section 5.6.2), with or
// without a version, that is no number such as the hours of a time.
func isProduct(name string) bool {
	letter := false
	for i := range len(name) {
		c := name[i]
		letter = letter || isLetter(c) || c == '*'
		if !isAlphanumeric(c) && strings.IndexByte("!#$%&'*+-.^_`|~/", c) < 0 {
			return false
		}
	}
	return letter
}

// isAgent reports whether a prefix addresses the crawler agent: by its product token, or as each.
func isAgent(prefix, agent string) bool {
	product, _, _ := strings.Cut(prefix, "/")
	return strings.EqualFold(product, agent) || prefix == "*" || strings.EqualFold(prefix, "robots")
}

// cutDate reads the time that value begins, with as much of rest as belongs to it: dates have
// commas ("Friday, 25 Jun 2010 15:00:00 PST"). Of a value that is no date only the first part is
// passed.
func cutDate(value, rest string) (at time.Time, after string, ok bool) {
	const parts = 3 // "Friday, June 25, 2010"
	after = rest
	longest, tail := value, rest
	for range parts {
		if t, isDate := parseDate(longest); isDate {
			at, after, ok = t, tail, true
		}
		if tail == "" {
			break
		}
		var next string
		next, tail = cutDirective(tail)
		longest += "," + next
	}
	return at, after, ok
}

// maxDate is the number of bytes of the longest date that is read.
const maxDate = 64

// parseDate reads a date of RFC 822 or its successors, of RFC 850, of asctime, or of ISO 8601. A
// date without a time is the beginning of its day, one without a zone is in UTC.
func parseDate(s string) (time.Time, bool) {
	if len(s) > maxDate {
		return time.Time{}, false
	}
	// Weekday and commas say nothing, and are not always where they should be.
	s = strings.Join(strings.Fields(strings.ReplaceAll(s, ",", " ")), " ")
	if day, rest, ok := strings.Cut(s, " "); ok && isWeekday(day) {
		s = rest
	}
	zone := 0
	if i := strings.LastIndexByte(s, ' '); i >= 0 {
		if hours, ok := zones[strings.ToUpper(s[i+1:])]; ok {
			s, zone = s[:i], hours
		}
	}
	for _, layout := range dateLayouts {
		if t, err := time.Parse(layout, s); err == nil {
			return t.Add(time.Duration(-zone) * time.Hour), true
		}
	}
	return time.Time{}, false
}

// zones are the names of time zones that RFC 822 and their users know, in hours east of Greenwich.
var zones = map[string]int{
	"GMT": 0, "UT": 0, "UTC": 0, "Z": 0, "EST": -5, "EDT": -4, "CST": -6, "CDT": -5, "MST": -7,
	"MDT": -6,
	"PST": -8, "PDT": -7, "WET": 0, "WEST": 1, "BST": 1, "CET": 1, "CEST": 2, "EET": 2, "EEST": 3,
	"MSK": 3, "JST": 9,
}

var dateLayouts = func() (layouts []string) {
	for _, day := range [...]string{
		"2 Jan 2006", "2 January 2006", "2 Jan 06", "2-Jan-06", "2-Jan-2006", "Jan 2 2006",
		"January 2 2006", "2006-01-02",
	} {
		for _, clock := range [...]string{"", " 15:04:05", " 15:04", " 15:04:05 -0700", " 15:04 -0700",
			" 15:04:05 -07:00", " 15:04:05Z07:00", " 15:04Z07:00"} {
			layouts = append(layouts, day+clock)
		}
	}
	return append(layouts, "Jan 2 15:04:05 2006", // asctime
		"2006-01-02T15:04:05Z07:00", "2006-01-02T15:04:05Z0700", "2006-01-02T15:04:05Z07",
		"2006-01-02T15:04:05", "2006-01-02T15:04Z07:00", "2006-01-02T15:04", "20060102T150405Z0700",
		"20060102T150405", "20060102", "2006-01", "2006")
}()

func isWeekday(word string) bool {
	const short = len("Mon")
	for d := time.Sunday; d <= time.Saturday; d++ {
		if strings.EqualFold(word, d.String()) || strings.EqualFold(word, d.String()[:short]) {
			return true
		}
	}
	return strings.EqualFold(word, "Tues") || strings.EqualFold(word, "Thur") ||
		strings.EqualFold(word, "Thurs")
}
