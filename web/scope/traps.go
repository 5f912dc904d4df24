package scope

import (
	"strings"

	"crawlnode/web/urlnorm"
)

const (
	maxRepeats    = 3  // of one segment in a path; one more is a trap
	maxParameters = 5  // in a query; more are suspicious
	maxSegments   = 16 // in a path; more are suspicious
	maxLinks      = 25 // from a seed; more are suspicious

	// A calendar that is followed from page to page leaves these years sooner or later. Real dates
	// outside of them are rare enough to wait. The years are constants, so that all nodes decide
	// the same at all times.
	minYear, maxYear = 1800, 2040
)

// repeatedSegment returns a segment that occurs in path more than maxRepeats times: relative links
// that lead ever deeper make such paths. Empty segments count, but not the one after the last
// slash.
func repeatedSegment(path string) (string, bool) {
	n := strings.Count(path, "/")
	if n <= maxRepeats {
		return "", false
	}
	var few [24]string // enough for nearly all, so that nothing is allocated
	segments := few[:0]
	for rest := path[1:]; rest != ""; {
		segment, tail, _ := strings.Cut(rest, "/")
		segments = append(segments, segment)
		rest = tail
	}
	if len(segments) > len(few) {
		return mostOften(segments)
	}
	for i, segment := range segments {
		times := 1
		for _, other := range segments[i+1:] {
			if other == segment {
				times++
			}
		}
		if times > maxRepeats {
			return segment, true
		}
	}
	return "", false
}

// mostOften is repeatedSegment for paths with many segments, where comparing all pairs would be
// slow.
func mostOften(segments []string) (string, bool) {
	times := make(map[string]int, len(segments))
	for _, segment := range segments {
		times[segment]++
		if times[segment] > maxRepeats {
			return segment, true
		}
	}
	return "", false
}

// suspicion returns why u looks like one of an endless series, or "".
func suspicion(u urlnorm.URL, depth int) string {
	path, query := u.Path()+u.Route(), u.Query()
	switch {
	case depth > maxLinks:
		return "suspicious: very many links from a seed"
	case strings.Count(path, "/") > maxSegments:
		return "suspicious: very many path segments"
	case strings.Count(query, "&") >= maxParameters:
		return "suspicious: more than 5 query parameters"
	case hasSession(path, query):
		return "suspicious: a session id"
	case hasFarDate(path) || hasFarDate(query):
		return "suspicious: a date far away"
	}
	return ""
}

// hasSession reports whether the URL carries a session id, in the path as Java servlets do, or in
// the query.
func hasSession(path, query string) bool {
	if at := strings.IndexByte(path, ';'); at >= 0 {
		if isSessionName(path[at+1:]) {
			return true
		}
	}
	for query != "" {
		var parameter string
		parameter, query, _ = strings.Cut(query, "&")
		if isSessionName(parameter) {
			return true
		}
	}
	return false
}

// isSessionName reports whether "name=value" has the name of a session id and
// a value.
func isSessionName(parameter string) bool {
	name, value, _ := strings.Cut(parameter, "=")
	if value == "" || len(name) > len("aspsessionid")+8 {
		return false
	}
	switch name = strings.ToLower(name); name {
	case "jsessionid", "phpsessid", "sessionid", "session_id", "sessid", "cfid", "cftoken", "osclid",
		"zenid":
		return true
	case "sid", "s":
		return len(value) >= 16 // else it may be any number
	}
	return strings.HasPrefix(name, "aspsessionid")
}

// hasFarDate reports whether s has a year outside of minYear to maxYear with a month after it, as
// in "/2087/05/" or "date=2087-05-01", or as "year=2087".
func hasFarDate(s string) bool {
	for i := 0; i+4 <= len(s); i++ {
		if !isDigit(s[i]) {
			continue
		}
		end := i
		for end < len(s) && isDigit(s[end]) {
			end++
		}
		if end-i == 4 {
			year := int(s[i]-'0')*1000 + int(s[i+1]-'0')*100 + int(s[i+2]-'0')*10 + int(s[i+3]-'0')
			far := year < minYear || year > maxYear
			if far && (monthFollows(s[end:]) || strings.HasSuffix(strings.ToLower(s[:i]), "year=")) {
				return true
			}
		}
		i = end
	}
	return false
}

// monthFollows reports whether s begins with a separator and a month.
func monthFollows(s string) bool {
	if s == "" || s[0] != '/' && s[0] != '-' {
		return false
	}
	end := 1
	for end < len(s) && end <= 3 && isDigit(s[end]) {
		end++
	}
	switch digits := s[1:end]; len(digits) {
	case 1:
		return digits != "0"
	case 2:
		return "01" <= digits && digits <= "12"
	}
	return false
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
