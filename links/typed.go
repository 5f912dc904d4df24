package links

import (
	"regexp"
	"strings"
)

// A person's URL is a seed. What browsers make of a mistake there is seldom what was meant, so some
// that the URL standard takes are refused with what to write.
var (
	// beginning is how a URL begins, and what people write in its place: a letter that is missing
	// or twice, another separator, more or fewer slashes.
	beginning = regexp.MustCompile(
		`(?i)^(https?|htps?|hhtps?|httpps?|htttps?|ttps?|hptts?|htpts?|thtps?|` +
			`htts?|httsp|hhttps?)(:/*|;/*|://?[:;]/*|//?:?/*|[:;]\\+)([^/\\:;].*)$`)
	exact   = regexp.MustCompile(`(?i)^https?://[^/\\]`)
	within  = regexp.MustCompile(`(?i)https?://[^\s"'<>“”‘’«»]+`)
	quoting = "\"'`<>“”‘’«»„"
)

// mistake describes what is wrong with the URL of a seed that looks mistyped, and what to write;
// "": nothing that is known.
func mistake(raw string) string {
	text := strings.TrimSpace(raw)
	if bare := strings.TrimSpace(strings.Trim(text, quoting)); bare != "" &&
		!strings.HasPrefix(text, bare) {
		return "it stands in quotes or brackets: give " + bare
	}
	m := beginning.FindStringSubmatch(text)
	if m == nil {
		if rest, ok := strings.CutPrefix(text, "//"); ok && rest != "" && rest[0] != '/' {
			return "it has no scheme: write https://" + rest
		}
		if at := within.FindStringIndex(text); at != nil && at[0] > 0 &&
			strings.ContainsRune("=:([{ ", rune(text[at[0]-1])) {
			return "something stands before the URL: give " + text[at[0]:at[1]]
		}
		return ""
	}
	if m[2][0] == '/' && strings.Count(m[2], "/") < 2 && !strings.Contains(m[2], ":") {
		return "" // the folder of a host that is called http
	}
	scheme, rest, twice := schemeOf(m[1]), m[3], false
	for {
		again := beginning.FindStringSubmatch(rest)
		if again == nil || len(again[2]) < 2 { // "/" and ":" stand behind a host of that name
			break
		}
		scheme, rest, twice = schemeOf(again[1]), again[3], true
	}
	right := scheme + "://" + rest
	switch {
	case twice:
		return "its scheme stands twice: write " + right
	case exact.MatchString(text):
		return ""
	case strings.EqualFold(m[1], scheme):
		return "what follows its scheme is mistyped: write " + right
	}
	return "its scheme is mistyped: write " + right
}

// schemeOf is the scheme that is meant.
func schemeOf(word string) string {
	if strings.ContainsAny(word, "sS") {
		return "https"
	}
	return "http"
}

// plainly says in plain words what the parser of the URL standard says of a host.
func plainly(err error) string {
	text := err.Error()
	switch {
	case strings.Contains(text, "forbidden domain code point: ' '"):
		return "its host name has a space: take it out"
	case strings.Contains(text, "port is outside the range"):
		return "its port is above 65535: correct it"
	case strings.Contains(text, "has no scheme: "):
		return "it is not a URL: write one such as https://example.org/"
	}
	return ""
}
