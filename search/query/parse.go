package query

import (
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"crawlnode/search/analyse"
	"crawlnode/web/urlnorm"
)

// Parse reads a text.
func Parse(text string) Query {
	p := parser{}
	if len(text) > MaxBytes {
		cut := MaxBytes
		for cut > 0 && !utf8.RuneStart(text[cut]) {
			cut--
		}
		text, p.q.Cut = wholeWords(text[:cut], text[cut:]), true
	}
	p.q.Text = text
	for p.at < len(text) {
		p.item()
	}
	return p.q
}

// wholeWords leaves out the word at the end of a text that was cut within it, unless that is all.
func wholeWords(text, rest string) string {
	if r, _ := utf8.DecodeRuneInString(rest); unicode.IsSpace(r) {
		return text
	}
	if i := strings.LastIndexFunc(text, unicode.IsSpace); i > 0 {
		return text[:i]
	}
	return text
}

type parser struct {
	q        Query
	at       int
	prefixes int
}

// item reads one word, phrase or condition, with the sign before it.
func (p *parser) item() {
	text := p.q.Text
	for p.at < len(text) {
		r, n := utf8.DecodeRuneInString(text[p.at:])
		if !unicode.IsSpace(r) {
			break
		}
		p.at += n
	}
	not := false
	if p.at < len(text) && text[p.at] == '-' && p.at+1 < len(text) && text[p.at+1] != ' ' {
		not = true
		p.at++
	}
	name := p.name()
	from, to, quoted := p.value()
	switch {
	case name == "" && from < to, name == "title":
		p.words(from, to, quoted, name == "title", not)
	case name != "" && !p.condition(name, strings.TrimSpace(text[from:to]), not):
		p.words(from-len(name)-1, to, quoted, false, not)
	}
}

// names of conditions, with those of other engines.
var names = map[string]string{
	"title": "title", "intitle": "title", "host": "host", "site": "site", "domain": "site",
	"lang": "lang", "language": "lang",
	"filetype": "filetype", "ext": "filetype", "before": "before", "after": "after",
}

// name reads the name of a condition and its colon; "" when there is none.
func (p *parser) name() string {
	rest := p.q.Text[p.at:]
	i := strings.IndexByte(rest, ':')
	if i < 0 || i > 10 || i+1 >= len(rest) || unicode.IsSpace(rune(rest[i+1])) {
		return ""
	}
	name := names[strings.ToLower(rest[:i])]
	if name != "" {
		p.at += i + 1
	}
	return name
}

// value reads up to white space, or what is between quotes.
func (p *parser) value() (from, to int, quoted bool) {
	text := p.q.Text
	if p.at < len(text) {
		if n := quote(text[p.at:]); n > 0 {
			from = p.at + n
			for to = from; to < len(text); to++ {
				if n = quote(text[to:]); n > 0 {
					p.at = to + n
					return from, to, true
				}
			}
			p.at = len(text)
			return from, to, true
		}
	}
	from = p.at
	for p.at < len(text) {
		r, n := utf8.DecodeRuneInString(text[p.at:])
		if unicode.IsSpace(r) || p.at > from && quote(text[p.at:]) > 0 {
			break
		}
		p.at += n
	}
	return from, p.at, false
}

// quote is the length of the quotation mark that s begins with.
func quote(s string) int {
	if s[0] == '"' {
		return 1
	}
	for _, mark := range []string{"“", "”", "„", "«", "»"} {
		if strings.HasPrefix(s, mark) {
			return len(mark)
		}
	}
	return 0
}

// condition adds a filter or a bound of time. It is false when the value makes no sense.
func (p *parser) condition(name, value string, not bool) bool {
	value = strings.ToLower(value)
	switch name {
	case "before", "after":
		t, ok := date(value)
		if !ok {
			return false
		}
		if (name == "before") != not {
			p.q.Before = t
		} else {
			p.q.After = t
		}
		return true
	case "lang":
		value, _, _ = strings.Cut(value, "-")
	case "filetype":
		value = strings.TrimPrefix(value, ".")
	case "host", "site":
		value = strings.TrimPrefix(strings.TrimPrefix(value, "https://"), "http://")
		value, _, _ = strings.Cut(value, "/")
		value = ascii(strings.Trim(strings.TrimPrefix(value, "*."), "."))
	}
	if value == "" || len(value) > 253 || strings.ContainsFunc(value, unicode.IsSpace) {
		return false
	}
	f := Filter{Name: name, Value: value, Not: not}
	switch {
	case slices.Contains(p.q.Filters, f):
	case len(p.q.Filters) >= MaxFilters:
		p.q.Cut = true
	default:
		p.q.Filters = append(p.q.Filters, f)
	}
	return true
}

// ascii is a host name as URLs have it: names in other scripts in Punycode.
func ascii(host string) string {
	if strings.IndexFunc(host, func(r rune) bool { return r >= utf8.RuneSelf }) < 0 ||
		strings.ContainsAny(host, `@?#\`) {
		return host
	}
	if u, err := urlnorm.Parse("http://" + host + "/"); err == nil {
		return u.Host()
	}
	return host
}

func date(s string) (time.Time, bool) {
	for _, form := range []string{"2006-01-02", "2006-01", "2006", "2006/01/02", "20060102"} {
		if t, err := time.Parse(form, s); err == nil && t.Year() > 0 {
			return t, true
		}
	}
	return time.Time{}, false
}

// token is a word and where it stands.
type token struct {
	word     string
	form     string
	from, to int
}

// words adds the words of text[from:to].
func (p *parser) words(from, to int, quoted, title, not bool) {
	s := analyse.NewScanner(p.q.Text[from:to])
	var tokens []token
	for s.Next() {
		a, b := s.Span()
		tokens = append(tokens, token{string(s.Word()), string(s.Form()), from + a, from + b})
	}
	if len(tokens) == 0 {
		return
	}
	if quoted || not && len(tokens) > 1 {
		p.phrase(tokens, title, not, quoted)
		return
	}
	star := strings.HasPrefix(p.q.Text[tokens[len(tokens)-1].to:], "*")
	for len(tokens) > 0 {
		n := pairs(tokens)
		switch {
		case n > 1:
			p.phrase(tokens[:n], title, not, false)
		case star && len(tokens) == 1 && utf8.RuneCountInString(tokens[0].word) > 1 &&
			p.prefixes < MaxPrefixes:
			p.prefixes++
			p.add(Clause{Kind: Prefix, Words: []string{tokens[0].word}, Title: title, Not: not})
		default:
			t := tokens[0]
			p.add(Clause{
				Kind:  Word,
				Words: []string{t.word},
				Title: title,
				Not:   not,
				From:  t.from,
				To:    t.to,
			})
		}
		tokens = tokens[n:]
	}
}

// pairs is the number of tokens at the beginning that overlap: the pairs of characters of one run.
func pairs(tokens []token) int {
	n := 1
	for n < len(tokens) && n < MaxRun && tokens[n].from < tokens[n-1].to {
		n++
	}
	return n
}

func (p *parser) phrase(tokens []token, title, not, exact bool) {
	c := Clause{
		Kind: Phrase, Title: title, Not: not, Exact: exact,
		From: tokens[0].from, To: tokens[len(tokens)-1].to,
	}
	if len(tokens) > MaxPhrase {
		tokens, p.q.Cut = tokens[:MaxPhrase], true
	}
	for _, t := range tokens {
		c.Words = append(c.Words, t.word)
		if exact {
			c.Forms = append(c.Forms, t.form)
		}
	}
	p.add(c)
}

// add adds a clause that is not there yet.
func (p *parser) add(c Clause) {
	for _, known := range p.q.Clauses {
		if known.Kind == c.Kind && known.Title == c.Title && known.Not == c.Not &&
			known.Exact == c.Exact &&
			slices.Equal(known.Words, c.Words) && slices.Equal(known.Forms, c.Forms) {
			return
		}
	}
	if len(p.q.Clauses) >= MaxClauses {
		p.q.Cut = true
		return
	}
	p.q.Clauses = append(p.q.Clauses, c)
}
