package rewrite

import (
	"bytes"
	"strings"

	"golang.org/x/net/html/charset"

	"crawlnode/web/css"
	"crawlnode/web/htmlparse"
	"crawlnode/web/urlnorm"
)

// Target says where a URL was saved: saved is a relative reference from the page to the file, in
// characters that need no escape in HTML and CSS. ok is false when it was not saved.
type Target func(u urlnorm.URL) (saved string, ok bool)

// HTML rewrites a page, which was served from at with the given Content-Type header.
func HTML(page []byte, contentType string, at urlnorm.URL, to Target) []byte {
	doc := htmlparse.Parse(page, contentType, at)
	switch doc.Charset {
	case "utf-16le", "utf-16be", "iso-2022-jp": // a byte of these may look like markup, and is not
		return inUTF8(page, doc.Charset, at, to)
	case "replacement":
		return page // no browser shows it
	}
	return rewriteHTML(page, isXML(contentType), &doc, at, to)
}

// inUTF8 rewrites a page that is not a superset of ASCII.
func inUTF8(page []byte, name string, at urlnorm.URL, to Target) []byte {
	enc, _ := charset.Lookup(name)
	mark := 0
	if strings.HasPrefix(name, "utf-16") &&
		(bytes.HasPrefix(page, []byte("\xFE\xFF")) || bytes.HasPrefix(page, []byte("\xFF\xFE"))) {
		mark = 2
	}
	text, err := enc.NewDecoder().Bytes(page[mark:])
	if err != nil {
		return page
	}
	const header = "text/html; charset=utf-8"
	doc := htmlparse.Parse(text, header, at)
	encoded, err := enc.NewEncoder().Bytes(rewriteHTML(text, false, &doc, at, to))
	if err != nil {
		return page
	}
	return append(bytes.Clone(page[:mark]), encoded...)
}

// CSS rewrites a style sheet, which was served from at.
func CSS(sheet []byte, at urlnorm.URL, to Target) []byte {
	r := rewriter{
		to:      to,
		resolve: func(ref []byte) (urlnorm.URL, error) { return at.Resolve(string(ref)) },
		own:     true,
	}
	return r.css(sheet)
}

// isXML reports whether a page was served as XHTML.
func isXML(contentType string) bool {
	media, _, _ := strings.Cut(contentType, ";")
	return strings.HasSuffix(strings.ToLower(strings.TrimSpace(media)), "xml")
}

// rewriter replaces references of one page or sheet.
type rewriter struct {
	to      Target
	resolve func(ref []byte) (urlnorm.URL, error)
	own     bool // references are relative to the page's own URL, not to that of a base element
	local   bool // set when a reference was replaced by one to a saved file
	strict  bool // what cannot be read, or leads elsewhere, is replaced by a reference to nothing
}

// invalid is a reference to nothing.
const invalid = "about:invalid"

// stays is what ref returns for a reference that is none to a saved file.
func (r *rewriter) stays(trimmed []byte) (replaced string, ok bool) {
	if !r.strict || len(trimmed) == 0 || trimmed[0] == '#' {
		return "", false
	}
	for _, harmless := range []string{"data:image/", "data:font/", "data:text/css", "mailto:",
		"tel:"} {
		if len(trimmed) >= len(harmless) && strings.EqualFold(string(trimmed[:len(harmless)]), harmless) {
			return "", false
		}
	}
	return invalid, true
}

// ref returns what replaces a reference; ok is false when it stays.
func (r *rewriter) ref(value []byte) (replaced string, ok bool) {
	trimmed := bytes.TrimLeftFunc(value, func(c rune) bool { return c <= ' ' })
	if len(trimmed) == 0 || trimmed[0] == '#' && r.own {
		return "", false
	}
	u, err := r.resolve(trimmed)
	if err != nil {
		return r.stays(trimmed)
	}
	fragment := ""
	if at := bytes.IndexByte(trimmed, '#'); at >= 0 {
		fragment = string(bytes.TrimRightFunc(trimmed[at:], func(c rune) bool { return c <= ' ' }))
	}
	if saved, ok := r.to(u); ok {
		r.local = true
		return saved + fragment, true
	}
	if r.strict {
		return invalid, true
	}
	if isAbsolute(trimmed) {
		return "", false
	}
	return u.String() + fragment, true
}

// isAbsolute reports whether a reference has a scheme of its own. "http:x" is a relative one.
func isAbsolute(ref []byte) bool {
	for _, scheme := range []string{"http://", "https://"} {
		if len(ref) >= len(scheme) && strings.EqualFold(string(ref[:len(scheme)]), scheme) {
			return true
		}
	}
	return false
}

// css rewrites a style sheet, or the declarations of an element.
func (r *rewriter) css(sheet []byte) []byte {
	var out []byte
	done := 0
	for _, ref := range css.Refs(sheet) {
		replaced, ok := r.ref([]byte(ref.Value))
		if !ok {
			continue
		}
		out = append(append(out, sheet[done:ref.Start]...), css.Token(replaced, ref.Import)...)
		done = ref.End
	}
	if done == 0 {
		return sheet
	}
	return append(out, sheet[done:]...)
}

// srcset rewrites the candidates of a srcset attribute. Their addresses are read as package
// htmlparse does: up to a space, or up to commas at their end.
func (r *rewriter) srcset(set []byte) []byte {
	const spaces = " \t\r\n\f"
	var out []byte
	rest := set
	for {
		ref := bytes.TrimLeft(rest, spaces+",")
		out = append(out, rest[:len(rest)-len(ref)]...)
		if len(ref) == 0 {
			return out
		}
		rest = nil
		if at := bytes.IndexAny(ref, spaces); at >= 0 {
			ref, rest = ref[:at], ref[at:]
		}
		commas := len(ref) - len(bytes.TrimRight(ref, ","))
		tail := ref[len(ref)-commas:]
		ref = ref[:len(ref)-commas]
		if replaced, ok := r.ref(ref); ok {
			if head, ok := strings.CutSuffix(replaced, ","); ok { // it would be read as the end
				replaced = head + "%2C"
			}
			out = append(out, replaced...)
		} else {
			out = append(out, ref...)
		}
		out = append(out, tail...)
		if commas == 0 {
			descriptors := len(rest) - len(behindDescriptors(rest))
			out, rest = append(out, rest[:descriptors]...), rest[descriptors:]
		}
	}
}

// behindDescriptors returns what begins with the comma that ends the descriptors.
func behindDescriptors(set []byte) []byte {
	inParens := false
	for i, c := range set {
		switch {
		case c == '(':
			inParens = true
		case c == ')':
			inParens = false
		case c == ',' && !inParens:
			return set[i:]
		}
	}
	return nil
}

// refresh rewrites the content of a meta refresh: seconds, and behind a semicolon the address.
func (r *rewriter) refresh(content []byte) []byte {
	at := bytes.IndexAny(content, ";,")
	if at < 0 {
		return content
	}
	start := at + 1
	skip := func(set string) {
		for start < len(content) && strings.IndexByte(set, content[start]) >= 0 {
			start++
		}
	}
	const spaces = " \t\r\n\f"
	skip(spaces)
	if rest := content[start:]; len(rest) > 3 && strings.EqualFold(string(rest[:3]), "url") {
		if eq := bytes.TrimLeft(rest[3:], spaces); len(eq) > 0 && eq[0] == '=' {
			start = len(content) - len(eq) + 1
			skip(spaces)
		}
	}
	end := len(content)
	if start < end && (content[start] == '"' || content[start] == '\'') {
		quote := content[start]
		start++
		if q := bytes.IndexByte(content[start:], quote); q >= 0 {
			end = start + q
		}
	}
	replaced, ok := r.ref(content[start:end])
	if !ok {
		return content
	}
	return append(append(bytes.Clone(content[:start]), replaced...), content[end:]...)
}
