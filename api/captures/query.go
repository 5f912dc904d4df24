package captures

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"crawlnode/crawl"
	"crawlnode/output/archive"
	"crawlnode/web/urlnorm"
)

// The values of matchType.
const (
	Exact  = "exact"
	Prefix = "prefix"
	Host   = "host"
	Domain = "domain"
)

// matchTypes are the values of matchType.
func matchTypes() []string { return []string{Exact, Prefix, Host, Domain} }

// Param is a parameter of a question.
type Param struct {
	Name, What string
	Sample     any // a zero value of its type
	Words      []string
	Required   bool
}

// Params are the parameters.
func Params() []Param {
	return []Param{
		{Name: "url", What: "the URL, or the host; a star at the end stands for matchType=prefix, *. " +
			"before it for domain", Sample: "", Required: true},
		{Name: "matchType", What: "which captures are meant; default: exact", Sample: "", Words: matchTypes()},
		{
			Name:   "output",
			What:   "json: a list of lists, the first with the names of the fields; default: text",
			Sample: "",
			Words:  []string{"json", "jsonl", "text"},
		},
		{Name: "limit", What: "how many captures; negative: the last ones", Sample: 0},
		{Name: "from", What: "the first time, 1 to 14 digits of yyyymmddhhmmss", Sample: ""},
		{Name: "to", What: "the last time", Sample: ""},
		{Name: "filter", What: "[!]field:pattern, where the pattern must match the whole field; " +
			"=field: a text, ~field: a pattern that is somewhere in it; repeatable", Sample: ""},
		{Name: "fl", What: "the fields, comma-separated, of " + strings.Join(all, ", "), Sample: ""},
		{Name: "collapse", What: "a field, or a field and how many characters of it (timestamp:8): " +
			"captures that are like the one before are left out", Sample: ""},
		{Name: "showResumeKey", What: "when limit ends the answer, it ends in a key for the next question", Sample: false},
		{Name: "resumeKey", What: "the key in which the answer before ended", Sample: ""},
		{Name: "page", What: "the only page is 0", Sample: uint32(0)},
		{Name: "showNumPages", What: "only the number of pages, which is 1", Sample: false},
	}
}

// Bounds of a question.
const (
	MaxLast    = 10_000
	maxFilters = 20
	maxPattern = 1000
)

// dateDigits is the length of a whole time, yyyymmddhhmmss.
const dateDigits = 14

// Query is a question. Parse makes it.
type Query struct {
	match   string
	key     string // of the URL; of a host, with what follows cut off
	from    string
	to      string
	limit   int // 0: none; negative: the last ones
	filters []filter
	fields  []string
	output  string // "", json or jsonl
	collapse
	resume  string // the last line of the answer before; "": none
	resumes bool   // the answer ends in a resume key, if it is not all
	empty   bool   // a page behind the only one
	pages   bool   // only the number of pages is wanted, which is 1
}

// filter is one condition on a field.
type filter struct {
	field   string
	not     bool
	equal   string
	pattern *regexp.Regexp // nil: equal
}

// collapse leaves out lines whose field begins like that of the line before.
type collapse struct {
	field string // "": none
	chars int    // 0: all
}

// Parse reads a question. Its error says which parameter is wrong.
func Parse(v url.Values) (*Query, error) {
	q := &Query{
		match:   v.Get("matchType"),
		pages:   v.Get("showNumPages") == "true",
		resumes: v.Get("showResumeKey") == "true",
		output:  v.Get("output"),
	}
	if err := q.address(v.Get("url")); err != nil {
		return nil, err
	}
	switch q.output {
	case "text", "cdx":
		q.output = ""
	case "", "json", "jsonl":
	default:
		return nil, fmt.Errorf("output must be json, jsonl or text, not %.100q", q.output)
	}
	var err error
	if q.from, err = date("from", v.Get("from"), "0"); err != nil {
		return nil, err
	}
	if q.to, err = date("to", v.Get("to"), "9"); err != nil {
		return nil, err
	}
	if s := v.Get("limit"); s != "" {
		if q.limit, err = strconv.Atoi(s); err != nil || q.limit < -MaxLast {
			return nil, fmt.Errorf(
				"limit must be a number of captures, or -%d to -1 for the last ones, not %.100q", MaxLast, s)
		}
	}
	if q.limit < 0 && q.resumes {
		return nil, errors.New(
			"showResumeKey goes on from the first captures: it has no use with a negative limit")
	}
	if s := v.Get("page"); s != "" && s != "0" {
		if n, err := strconv.ParseUint(s, 10, 32); err != nil {
			return nil, fmt.Errorf("page must be a number, not %.100q", s)
		} else if n > 0 {
			q.empty = true
		}
	}
	if s := v.Get("resumeKey"); s != "" {
		line, err := base64.RawURLEncoding.DecodeString(s)
		if err != nil {
			return nil, errors.New("resumeKey must be one that an answer ended in")
		}
		q.resume = string(line)
	}
	return q, q.columns(v)
}

// columns reads which fields are wanted, and the conditions on them.
func (q *Query) columns(v url.Values) error {
	if q.fields = usual; v.Get("fl") != "" {
		q.fields = nil
		for name := range strings.SplitSeq(v.Get("fl"), ",") {
			field, ok := named(name)
			if !ok {
				return fmt.Errorf("fl: there is no field %.100q; the fields are %s", name,
					strings.Join(all, ","))
			}
			q.fields = append(q.fields, field)
		}
	}
	if len(q.fields) > len(all)*2 || len(v["filter"]) > maxFilters {
		return fmt.Errorf("too many fields or filters: at most %d and %d", len(all)*2, maxFilters)
	}
	for _, text := range v["filter"] {
		f, err := parseFilter(text)
		if err != nil {
			return err
		}
		q.filters = append(q.filters, f)
	}
	if s := v.Get("collapse"); s != "" {
		name, chars, _ := strings.Cut(s, ":")
		field, ok := named(name)
		n, err := strconv.ParseUint("0"+chars, 10, 16)
		if !ok || err != nil {
			return fmt.Errorf("collapse must be a field, or a field and how many characters of it, "+
				"such as timestamp:8, not %.100q", s)
		}
		q.collapse = collapse{field, int(n)}
	}
	return nil
}

// address reads the URL and how it is matched. A star stands for a matchType.
func (q *Query) address(raw string) error {
	if raw == "" {
		return errors.New("url is missing: the URL, or the host, whose captures are wanted")
	}
	if q.match == "" {
		q.match = Exact
		if rest, ok := strings.CutPrefix(raw, "*."); ok {
			q.match, raw = Domain, strings.TrimSuffix(strings.TrimSuffix(rest, "*"), "/")
		} else if rest, ok := strings.CutSuffix(raw, "*"); ok {
			q.match, raw = Prefix, rest
		}
	}
	if !slices.Contains(matchTypes(), q.match) {
		return fmt.Errorf("matchType must be one of %s, not %.100q", strings.Join(matchTypes(), ", "),
			q.match)
	}
	if !strings.HasPrefix(strings.ToLower(raw), "http://") &&
		!strings.HasPrefix(strings.ToLower(raw), "https://") {
		raw = "http://" + raw
	}
	u, err := urlnorm.Parse(raw)
	if err != nil {
		return fmt.Errorf("url: %.200q: %w", raw, err)
	}
	q.key = archive.Key(u.String())
	host, path, _ := strings.Cut(q.key, ")/")
	switch {
	case q.match == Host || q.match == Domain:
		q.key = host
	case q.match == Prefix && path != "" && strings.HasSuffix(u.String(), "/"):
		q.key += "/"
	case q.match == Prefix && strings.HasSuffix(raw, "?") && !strings.HasSuffix(q.key, "?"):
		q.key += "?" // a page's queries; the key of the URL has no empty query
	}
	return nil
}

// date reads a time of 1 to 14 digits, and fills it up with a digit.
func date(name, s, fill string) (string, error) {
	if s == "" {
		return "", nil
	}
	if len(s) > dateDigits || strings.Trim(s, "0123456789") != "" {
		return "", fmt.Errorf("%s must be a time of up to 14 digits, yyyymmddhhmmss, not %.100q", name, s)
	}
	return s + strings.Repeat(fill, dateDigits-len(s)), nil
}

// parseFilter reads [!]field:pattern. The pattern must match all of the field; with = before the
// field it is a text that the field equals, with ~ a pattern that it has somewhere.
func parseFilter(text string) (f filter, err error) {
	rest, not := strings.CutPrefix(text, "!")
	rest, equal := strings.CutPrefix(rest, "=")
	rest, part := strings.CutPrefix(rest, "~")
	name, pattern, ok := strings.Cut(rest, ":")
	field, known := named(name)
	if !ok || !known || len(pattern) > maxPattern {
		return f, fmt.Errorf(
			"filter must be [!]field:pattern, with a field of %s and at most %d characters, not %.100q",
			strings.Join(all, ","), maxPattern, text)
	}
	f = filter{field: field, not: not, equal: pattern}
	if equal {
		return f, nil
	}
	if !part {
		pattern = "^(?:" + pattern + ")$"
	}
	if f.pattern, err = regexp.Compile(pattern); err != nil {
		return f, fmt.Errorf("filter %.100q: %w", text, err)
	}
	return f, nil
}

// Range is where in an index the answer is.
func (q *Query) Range() (r crawl.IndexRange) {
	switch {
	case q.match == Exact:
		r = archive.OfKey(q.key)
	case q.match == Prefix && strings.HasSuffix(q.key, "/") && !strings.HasSuffix(q.key, ")/"):
		// The page /a/ has the key of /a.
		r = crawl.IndexRange{From: strings.TrimSuffix(q.key, "/") + " ", To: after(q.key)}
	case q.match == Prefix:
		r = crawl.IndexRange{From: q.key, To: after(q.key)}
	default:
		// up to the colon of a port; the comma of a name below it is in between
		r = crawl.IndexRange{From: q.key + ")", To: q.key + ";"}
	}
	if q.resume != "" {
		r.From = max(r.From, q.resume+"\x00")
	}
	return r
}

// after is the first text behind all that begin with s, whose last byte is ASCII.
func after(s string) string { return s[:len(s)-1] + string(s[len(s)-1]+1) }

// has reports whether a key is meant; the range may have others.
func (q *Query) has(key string) bool {
	rest, ok := strings.CutPrefix(key, q.key)
	switch q.match {
	case Exact:
		return ok && rest == ""
	case Prefix:
		return ok || key+"/" == q.key
	case Host:
		return ok && (strings.HasPrefix(rest, ")") || strings.HasPrefix(rest, ":"))
	}
	return ok && rest != "" && strings.ContainsAny(rest[:1], "):,")
}
