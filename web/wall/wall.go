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
	// maxCaptchaWords bounds the words of a page that is a wall only because it asks for a captcha.
	maxCaptchaWords = 80
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
	case http.StatusOK, http.StatusAccepted:
		if a.MediaType != "" && a.MediaType != "text/html" && a.MediaType != "application/xhtml+xml" {
			return false
		}
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusMethodNotAllowed, http.StatusNotAcceptable,
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
	return mediaType == "" || strings.HasPrefix(mediaType, "text/") || strings.HasSuffix(mediaType, "json") ||
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

// weigh sums up the marks of each product, and sets them against the content.
func (t *Table) weigh(a *Answer) Product {
	title, have := titleOf(a.Body), t.marks.in(a.Body)
	best, most := None, 0
	for i := range t.rows {
		if w := t.rows[i].weight(a, title, have.weights[i]); w > most {
			best, most = t.rows[i].product, w
		}
	}
	if most < decides && !have.captcha {
		return None // of an ordinary page no word is counted
	}
	switch c := contentOf(a.Body); {
	case c.asks || c.words > maxWords:
		return None
	case most >= decides:
		return best
	case have.captcha && c.words <= maxCaptchaWords && (a.Status >= http.StatusBadRequest || hasAny(title, challengeTitles[:])):
		return Other
	}
	return None
}

// weight sums up the marks of a row, of which those of the body weigh so much; 0 when none is in the
// page.
func (r *row) weight(a *Answer, title string, body int) int {
	inPage := 0
	for _, t := range r.titles {
		if strings.HasPrefix(title, t.text) {
			inPage = max(inPage, t.weight)
		}
	}
	if inPage += body; inPage == 0 {
		return 0
	}
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

// content is what a page has beside marks.
type content struct {
	words int  // that a reader sees
	asks  bool // it has a field for a password or a text
}

// contentOf counts the words outside of tags, comments, scripts and style sheets. It stops when
// there are too many for a wall.
func contentOf(body []byte) (c content) {
	z, skip := html.NewTokenizer(bytes.NewReader(body)), false
	for c.words <= maxWords && !c.asks {
		switch z.Next() {
		case html.ErrorToken:
			return c
		case html.TextToken:
			if !skip {
				c.words += len(bytes.Fields(z.Text()))
			}
			skip = false
		case html.StartTagToken, html.SelfClosingTagToken:
			tag := bytes.Clone(z.Raw()) // TagName changes it
			name, _ := z.TagName()
			switch string(name) {
			case "script", "style": // what follows is their content
				skip = true
			case "textarea":
				c.asks = !hidden(tag)
			case "input":
				c.asks = asksText(tag)
			}
		case html.EndTagToken:
			skip = false
		}
	}
	return c
}

// hidden reports whether the tag's style or name says that nobody fills it in. Captchas keep their
// answer in a text area.
func hidden(tag []byte) bool {
	return bytes.Contains(tag, []byte("display:none")) || bytes.Contains(tag, []byte("display: none")) ||
		bytes.Contains(tag, []byte("captcha")) || bytes.Contains(tag, []byte("hidden"))
}

// asksText reports whether an input field is for what a person writes of their own: a password, a
// name, an address. The field of a captcha's answer is none.
func asksText(tag []byte) bool {
	lower := bytes.ToLower(tag)
	if bytes.Contains(lower, []byte("captcha")) {
		return false
	}
	for _, kind := range [...]string{"password", "email", "search", "text", "tel", "url"} {
		for _, quote := range [...]string{`type="`, `type='`, `type=`} {
			if bytes.Contains(lower, []byte(quote+kind)) {
				return true
			}
		}
	}
	return false
}
