package wall

import (
	"bytes"
	"net/http"
	"strings"

	"golang.org/x/net/html"
)

// Answer is what is judged of an answer.
type Answer struct {
	Status    int
	Header    http.Header
	MediaType string // lower-case, without parameters; "" when unknown
	Body      []byte // decoded
}

const (
	// decides is the weight of marks that make an answer a wall.
	decides = 3
	// maxBody is the size of the largest body that is looked at; the pages of walls are smaller.
	maxBody = 64 << 10
	// maxLinks and maxWords bound what else stands on a wall. Anubis explains itself in 250 words.
	maxLinks = 10
	maxWords = 400
	// maxAloneWords bounds the words of a page that has no code of a product and no error status, or
	// that is a wall only because it asks for a captcha.
	maxAloneWords = 80
	// maxTitle bounds the part of a title that is compared.
	maxTitle = 200
)

// Table has the marks by which answers are judged. It does not change.
type Table struct {
	rows  []row
	marks *finder
}

// builtIn has the rows of this package.
var builtIn = newTable(table[:])

func newTable(rows []row) *Table { return &Table{rows, newFinder(rows)} }

// Of is the product whose wall an answer is, by the marks of this package; None: it is no wall.
func Of(a *Answer) Product { return builtIn.Of(a) }

// Of is the product whose wall an answer is; None: it is no wall. A nil Table has the marks of this
// package.
func (t *Table) Of(a *Answer) Product {
	if t == nil {
		t = builtIn
	}
	if p := t.outright(a); p != None {
		return p
	}
	if !possible(a) {
		return None
	}
	return t.weigh(a)
}

// outright is the product that says in a header that the answer is its challenge.
func (t *Table) outright(a *Answer) Product {
	if len(a.Header) == 0 || a.Status >= 300 && a.Status < 400 {
		return None
	}
	for i := range t.rows {
		for _, h := range t.rows[i].outright {
			if h.in(a.Header) {
				return t.rows[i].product
			}
		}
	}
	return None
}

// possible reports whether an answer without such a header can be a wall.
func possible(a *Answer) bool {
	switch a.Status {
	case http.StatusOK, http.StatusAccepted, 247: // 247 is Reblaze's
		if a.MediaType != "" && a.MediaType != "text/html" && a.MediaType != "application/xhtml+xml" {
			return false
		}
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusMethodNotAllowed,
		http.StatusNotAcceptable,
		http.StatusTooManyRequests, http.StatusServiceUnavailable, 456, 463, 493, 999:
		if !readable(a.MediaType) {
			return false
		}
	default:
		return false
	}
	return len(a.Body) > 0 && len(a.Body) <= maxBody && fewLinks(a.Body)
}

// readable reports whether errors of this media type have text.
func readable(mediaType string) bool {
	return mediaType == "" || strings.HasPrefix(mediaType, "text/") ||
		strings.HasSuffix(mediaType, "json") ||
		mediaType == "application/xhtml+xml"
}

// fewLinks reports whether a page has at most maxLinks links. It stops at one more, early in most
// pages.
func fewLinks(body []byte) bool {
	links := 0
	for {
		i := bytes.IndexByte(body, '<')
		if i < 0 || i+2 >= len(body) {
			return true
		}
		body = body[i+1:]
		if body[0]|0x20 == 'a' && (body[1] <= ' ') {
			if links++; links > maxLinks {
				return false
			}
		}
	}
}

// weigh sums up the marks of each product, and sets them against the content. All marks are looked
// for in the whole page first: of an ordinary page no word is read.
func (t *Table) weigh(a *Answer) Product {
	title, all := titleOf(a.Body), found{}
	t.marks.in(a.Body, inCode|inText, &all)
	if _, most := t.heaviest(a, title, &all); most < decides && !all.captcha {
		return None
	}
	c := contentOf(a)
	if c.asks || c.words > maxWords {
		return None
	}
	have := found{}
	t.marks.in(c.code, inCode, &have)
	t.marks.in(c.text, inText, &have)
	failed := a.Status >= http.StatusBadRequest
	alone := c.words <= maxAloneWords && c.links == 0 // a page that has nothing else
	best, most := t.heaviest(a, title, &have)
	switch {
	case most >= decides && (failed || alone || have.code[best] > 0):
		return t.rows[best].product
	case have.captcha && c.words <= maxAloneWords && (failed || hasAny(title, challengeTitles[:])):
		return Other
	}
	return None
}

// heaviest is the row whose marks weigh most.
func (t *Table) heaviest(a *Answer, title string, have *found) (best, most int) {
	for i := range t.rows {
		if w := t.rows[i].weight(a, title, have.code[i]+have.says[i]); w > most {
			best, most = i, w
		}
	}
	return best, most
}

// leastTitle is the least weight of a title that counts without code or says: one that anybody may
// write is too little, whatever is before the site.
const leastTitle = 2

// weight sums up the marks of a row, of which those in the page weigh so much, without its title; 0
// when the page has too little of them.
func (r *row) weight(a *Answer, title string, inPage int) int {
	heaviest := 0
	for _, t := range r.titles {
		if strings.HasPrefix(title, t.text) {
			heaviest = max(heaviest, t.weight)
		}
	}
	if inPage == 0 && heaviest < leastTitle {
		return 0
	}
	inPage += heaviest
	for _, h := range r.hints {
		if h.in(a.Header) {
			inPage++
			break
		}
	}
	if a.Status >= http.StatusBadRequest {
		inPage++ // an error says less than a page: a mark in it says more
	}
	return inPage
}

// in reports whether a header has the field, with a value that begins so.
func (f *field) in(h http.Header) bool {
	for _, v := range h[f.name] {
		if len(v) >= len(f.value) && strings.EqualFold(v[:len(f.value)], f.value) {
			return true
		}
	}
	return false
}

// titleOf is the beginning of a page's title, in lower case and with single spaces.
func titleOf(body []byte) string {
	for z := html.NewTokenizer(bytes.NewReader(body)); z.Next() != html.ErrorToken; {
		switch name, _ := z.TagName(); string(name) {
		case "title":
			if z.Next() == html.TextToken {
				text := strings.Join(strings.Fields(string(z.Text())), " ")
				return strings.ToLower(text[:min(len(text), maxTitle)])
			}
		case "body":
			return ""
		}
	}
	return ""
}

// content is what a page has.
type content struct {
	words int    // that a reader sees
	links int    // to other pages
	asks  bool   // it has a field for a password or a text
	code  []byte // tags and scripts
	text  []byte // what a reader sees
}

// contentOf takes a page apart. What is said of a page for machines, such as its description, and
// where links lead is neither code nor text: an article may have the marks of a wall there. It
// stops when there are too many words for a wall.
func contentOf(a *Answer) (c content) {
	if !bytes.ContainsRune(a.Body, '<') ||
		a.MediaType != "" && !strings.HasSuffix(a.MediaType, "html") &&
			!strings.HasSuffix(a.MediaType, "xhtml+xml") {
		return content{words: len(bytes.Fields(a.Body)), code: a.Body, text: a.Body}
	}
	const (
		seen   = iota
		script // the next text is a script or a style sheet
		data   // the next text is for machines
	)
	z, next := html.NewTokenizer(bytes.NewReader(a.Body)), seen
	for c.words <= maxWords && !c.asks {
		switch z.Next() {
		case html.ErrorToken:
			return c
		case html.TextToken:
			switch raw := z.Raw(); next {
			case seen:
				c.words += len(bytes.Fields(raw))
				c.text = append(c.text, raw...)
			case script:
				c.code = append(c.code, raw...)
			}
			next = seen
		case html.StartTagToken, html.SelfClosingTagToken:
			tag := bytes.Clone(z.Raw()) // TagName changes it
			name, _ := z.TagName()
			switch string(name) {
			case "script":
				next = script
				if lower := bytes.ToLower(tag); bytes.Contains(lower, []byte("json")) &&
					bytes.Contains(lower, []byte("type")) {
					next = data
				}
			case "style":
				next = script
			case "textarea":
				c.asks = !hidden(tag)
			case "input":
				c.asks = asksText(z, tag)
			case "a":
				if leadsAway(z) {
					c.links++
				}
				continue
			case "meta":
				if !bytes.Contains(bytes.ToLower(tag), []byte("http-equiv")) {
					continue
				}
			}
			c.code = append(c.code, tag...)
		case html.EndTagToken:
			next = seen
		}
	}
	return c
}

// attribute is the value of an attribute of the tag that z is at, whose name was read.
func attribute(z *html.Tokenizer, name string) string {
	for more := true; more; {
		var key, value []byte
		if key, value, more = z.TagAttr(); string(key) == name {
			return string(value)
		}
	}
	return ""
}

// leadsAway reports whether a link leads to another page.
func leadsAway(z *html.Tokenizer) bool {
	to := strings.ToLower(strings.TrimSpace(attribute(z, "href")))
	return to != "" && to[0] != '#' && !strings.HasPrefix(to, "javascript:")
}

// hidden reports whether the tag's style or name says that nobody fills it in. Captchas keep their
// answer in a text area.
func hidden(tag []byte) bool {
	return bytes.Contains(tag, []byte("display:none")) ||
		bytes.Contains(tag, []byte("display: none")) ||
		bytes.Contains(tag, []byte("captcha")) || bytes.Contains(tag, []byte("hidden"))
}

// asksText reports whether an input field is for what a person writes of their own: a password, a
// name, an address. The field of a captcha's answer is none. z is at the tag.
func asksText(z *html.Tokenizer, tag []byte) bool {
	if hidden(bytes.ToLower(tag)) {
		return false
	}
	switch strings.ToLower(attribute(z, "type")) {
	case "", "text", "password", "email", "search", "tel", "url", "number":
		return true
	}
	return false
}
