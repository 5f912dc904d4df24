package readback

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/net/html"

	"crawlnode/web/htmlparse"
)

// active are the elements that load, run, redirect or embed something. They are left out with what
// is in them, if anything is. A browser that obeys the sandbox ignores most of them; but no policy
// stops the connections and name look-ups that a link element can ask for. What a style sheet
// loads is the policy's part.
var active = map[string]bool{
	"applet": true, "base": true, "embed": true, "frame": true, "frameset": true, "iframe": true,
	"link": true,
	"math": true, "meta": true, "object": true, "portal": true, "script": true, "svg": true,
	"template": true,
}

// foreign are those with the rules of XML: they can close themselves.
var foreign = map[string]bool{"math": true, "svg": true}

// void are those of them without content and without an end tag.
var void = map[string]bool{"base": true, "embed": true, "frame": true, "link": true, "meta": true}

// addresses are the attributes that name something to load or to go to. Of src, what a page
// carries in itself is kept.
var addresses = map[string]bool{
	"action": true, "attributionsrc": true, "background": true, "cite": true, "data": true,
	"dynsrc": true, "formaction": true, "href": true, "imagesrcset": true,
	"longdesc": true, "lowsrc": true, "manifest": true, "ping": true, "poster": true, "profile": true,
	"src": true, "srcdoc": true, "srcset": true, "target": true,
	"usemap": true, "xlink:href": true, "http-equiv": true, "autofocus": true, "popovertarget": true,
}

// errNotHTML is returned for what is no page.
var errNotHTML = errors.New("it is not an HTML page")

// Passive is an HTML page in UTF-8 without anything that loads, runs, redirects, submits or embeds
// something; cut says that it was longer than limit bytes. It is for showing in a sandboxed frame,
// which must hold alone: this is the second wall.
func (p *Page) Passive(limit int) (page []byte, cut bool, err error) {
	if !p.IsHTML() {
		return nil, false, fmt.Errorf("%s: %w: it is %s", p.Record.TargetURI, errNotHTML, p.MediaType())
	}
	content, contentType, cut, err := p.Within(int64(limit)).Seen()
	if err != nil && len(content) == 0 {
		return nil, false, err
	}
	return passive(htmlparse.UTF8(content, contentType)), cut, nil
}

// passive filters tokens. It builds no tree, so a page cannot be too deep for it.
func passive(page []byte) []byte {
	f := filter{tokens: html.NewTokenizer(bytes.NewReader(page))}
	for {
		kind := f.tokens.Next()
		switch {
		case kind == html.ErrorToken:
			return f.out.Bytes()
		case kind == html.TextToken && f.within == "":
			// As it stands: in a style or a title it is no markup. Token would change it.
			f.out.Write(f.tokens.Raw())
		case kind == html.DoctypeToken:
			f.out.WriteString("<!doctype html>")
		case kind == html.StartTagToken || kind == html.SelfClosingTagToken || kind == html.EndTagToken:
			f.tag(kind, f.tokens.Token())
		}
	}
}

// filter copies the passive part of a page.
type filter struct {
	tokens *html.Tokenizer
	out    bytes.Buffer
	within string // the active element that is being left out, "" outside of any
	depth  int    // of elements of that name
}

func (f *filter) tag(kind html.TokenType, tag html.Token) {
	if tag.Data == "noscript" {
		f.tokens.NextIsNotRawText() // it is markup where no scripts run
	}
	begins := kind != html.EndTagToken && !(kind == html.SelfClosingTagToken && foreign[tag.Data])
	switch {
	case f.within != "" && tag.Data != f.within:
	case f.within != "" && begins:
		f.depth++
	case f.within != "" && kind == html.EndTagToken:
		if f.depth--; f.depth == 0 {
			f.within = ""
		}
	case !active[tag.Data]:
		tag.Attr = harmless(tag.Data, tag.Attr)
		f.out.WriteString(tag.String())
	case begins && !void[tag.Data]:
		f.within, f.depth = tag.Data, 1
	}
}

// harmless leaves out event handlers and addresses.
func harmless(element string, all []html.Attribute) []html.Attribute {
	kept := all[:0]
	for _, a := range all {
		name := strings.ToLower(a.Key)
		picture := element == "img" && name == "src" &&
			strings.HasPrefix(strings.ToLower(strings.TrimSpace(a.Val)), "data:image/")
		if strings.HasPrefix(name, "on") || addresses[name] && !picture {
			continue
		}
		kept = append(kept, a)
	}
	return kept
}
