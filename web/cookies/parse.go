package cookies

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// This file reads a Set-Cookie line as browsers do (RFC 6265bis, section 5.6). net/http wants what
// servers should send (section 4.1.1): JSON in a value, "user[id]" as a name, bytes outside ASCII
// and dates in other forms are refused there, and each of them is sent by real sites.

const (
	// maxPair and maxAttribute bound name and value together, and the value of one attribute
	// (sections 5.6 and 5.7).
	maxPair, maxAttribute = 4096, 1024
	// maxAge is the longest life of a cookie (section 5.5).
	maxAge = 400 * 24 * time.Hour
)

// cookie is one cookie of a jar.
type cookie struct {
	name, value string // as sent; the name may be empty
	path        string // begins with a slash, or "": the default path
	domain      string // lower-case, without a dot before it; "": the cookie is the host's alone
	secure      bool
	crossSite   bool      // SameSite=None
	expires     time.Time // zero: with the jar
}

func (c cookie) lives(now time.Time) bool { return c.expires.IsZero() || c.expires.After(now) }

// line is the cookie as a jar has it; parse reads it back.
func (c cookie) line() string {
	line := c.name + "=" + c.value + "; Path=" + c.path
	// it is no other cookie's sibling because of it, but another cookie (section 5.7)
	if c.domain != "" {
		line += "; Domain=" + c.domain
	}
	if !c.expires.IsZero() {
		line += "; Expires=" + c.expires.UTC().Format(http.TimeFormat)
	}
	if c.secure {
		line += "; Secure"
	}
	if c.crossSite {
		line += "; SameSite=None"
	}
	return line
}

// replaces reports whether a cookie of the same host is the earlier c.
func (c cookie) replaces(o cookie) bool {
	return c.name == o.name && c.path == o.path && c.domain == o.domain
}

// overlays reports whether c, which has come over plain http, would hide a cookie that is only for
// https: somebody on the way could replace the session of a site with his own (section 5.7). The
// domains of both are the host or above it, so one of them always contains the other.
func (c cookie) overlays(o cookie) bool {
	return o.secure && c.name == o.name && pathMatch(c.path, o.path)
}

// keepsPrefix reports whether the cookie is what the prefix of its name says (section 5.4), which a
// cookie without a name cannot pretend to have.
func (c cookie) keepsPrefix() bool {
	name := strings.ToLower(cmp.Or(c.name, c.value))
	secure, host := strings.HasPrefix(name, "__secure-"), strings.HasPrefix(name, "__host-")
	switch {
	case !secure && !host:
		return true
	case c.name == "":
		return false
	case host:
		return c.secure && c.path == "/" && c.domain == ""
	}
	return c.secure
}

// parse reads a Set-Cookie line that came at this time. False: it sets no cookie.
func parse(line string, now time.Time) (cookie, bool) {
	if strings.ContainsFunc(line, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
		return cookie{}, false
	}
	pair, attributes, _ := strings.Cut(line, ";")
	name, value, named := strings.Cut(pair, "=")
	if !named {
		name, value = "", pair
	}
	c := cookie{name: strings.Trim(name, blanks), value: strings.Trim(value, blanks)}
	if n := len(c.name) + len(c.value); n == 0 || n > maxPair {
		return cookie{}, false
	}
	aged := false // Max-Age counts before Expires
	for attribute := range strings.SplitSeq(attributes, ";") {
		name, value, _ := strings.Cut(attribute, "=")
		if value = strings.Trim(value, blanks); len(value) > maxAttribute {
			continue
		}
		switch strings.ToLower(strings.Trim(name, blanks)) {
		case "expires":
			if at, ok := parseDate(value); ok && !aged {
				c.expires = at
			}
		case "max-age":
			if age, ok := parseAge(value); ok {
				c.expires, aged = now.Add(age), true
			}
		case "domain":
			c.domain = strings.ToLower(strings.TrimPrefix(value, "."))
		case "path":
			if c.path = value; !strings.HasPrefix(value, "/") {
				c.path = ""
			}
		case "secure":
			c.secure = true
		case "samesite": // Strict and Lax are alike for who asks for a page because nobody else does
			c.crossSite = strings.EqualFold(value, "none")
		}
	}
	if latest := now.Add(maxAge); c.expires.After(latest) {
		c.expires = latest
	}
	return c, true
}

const blanks = " \t"

// parseAge reads Max-Age (section 5.6.2): digits, or a minus and digits, which ends the cookie.
func parseAge(s string) (time.Duration, bool) {
	digits := strings.TrimPrefix(s, "-")
	if digits == "" || strings.Trim(digits, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.ParseInt(s, 10, 64)
	switch {
	case digits != s, err == nil && n == 0:
		return -maxAge, true
	case err != nil || n > int64(maxAge/time.Second): // an error is an overflow
		return maxAge, true
	}
	return time.Duration(n) * time.Second, true
}

var months = strings.Fields("jan feb mar apr may jun jul aug sep oct nov dec")

// parseDate reads a date (section 5.1.1): a time, a day, a month and a year, in any order and with
// anything between them. It is UTC, whatever zone stands in it.
func parseDate(s string) (time.Time, bool) {
	var clock [3]int
	var day, month, year int
	var hasClock, hasDay, hasYear bool
	for _, token := range strings.FieldsFunc(s, delimits) {
		if at, ok := parseClock(token); !hasClock && ok {
			clock, hasClock = at, true
			continue
		}
		n, digits := leading(token)
		switch {
		case !hasDay && (digits == 1 || digits == 2):
			day, hasDay = n, true
		case month == 0 && len(token) >= 3 && slices.Contains(months, strings.ToLower(token[:3])):
			month = slices.Index(months, strings.ToLower(token[:3])) + 1
		case !hasYear && digits >= 2 && digits <= 4:
			year, hasYear = n, true
		}
	}
	switch {
	case 70 <= year && year <= 99:
		year += 1900
	case year <= 69:
		year += 2000
	}
	valid := hasClock && hasDay && month > 0 && hasYear && day >= 1 && year >= 1601 &&
		clock[0] <= 23 && clock[1] <= 59 && clock[2] <= 59
	at := time.Date(year, time.Month(month), day, clock[0], clock[1], clock[2], 0, time.UTC)
	return at, valid && at.Day() == day // there is no 31 February
}

// delimits reports whether r stands between the tokens of a date.
func delimits(r rune) bool {
	letter := 'a' <= r|0x20 && r|0x20 <= 'z'
	return r < 0x80 && !letter && (r < '0' || r > '9') && r != ':' && r > ' ' || r == ' ' || r == '\t'
}

// parseClock reads "8:09:00": three numbers of one or two digits, and anything but a digit behind.
func parseClock(token string) (at [3]int, ok bool) {
	parts := strings.SplitN(token, ":", len(at))
	if len(parts) != len(at) {
		return at, false
	}
	for i, part := range parts {
		n, digits := leading(part)
		if digits < 1 || digits > 2 || i < len(at)-1 && digits != len(part) {
			return at, false
		}
		at[i] = n
	}
	return at, true
}

// leading is the number at the beginning of s, and how many digits it has. Of more than four digits
// the number means nothing.
func leading(s string) (n, digits int) {
	for digits < len(s) && '0' <= s[digits] && s[digits] <= '9' {
		if digits < 4 {
			n = 10*n + int(s[digits]-'0')
		}
		digits++
	}
	return n, digits
}
