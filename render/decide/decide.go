package decide

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
)

// Verdict is whether a page is rendered, and the reason for a reader.
type Verdict struct {
	Render bool
	Reason string

	sign sign
}

// sign is the strongest sign of a page. Pages with the same one, under one path of one site, are of
// one template.
type sign uint8

const (
	noScript sign = iota
	root
	askingNoscript
	hashBang
	framework
	littleBesideScripts
	muchText // and no sign of an application
	hinted   // much text, and a sign of an application that may have more
	signs
)

// Signs is what the HTML of a page shows.
type Signs struct {
	TextBytes int    // of text that a reader would see
	Scripts   int    // elements
	EmptyRoot string // the id of an element that an application fills, "" for none
	Noscript  bool   // asks for JavaScript
	Framework string // whose mark is there, "" for none
	HashBang  bool   // in the address
}

// littleText is how much text a page may have and still be thought of as empty.
const littleText = 200

var (
	emptyRoot = regexp.MustCompile(
		`(?i)<(?:div|main|section)\s[^>]{0,200}\bid=["']?(app|root|main|__next|__nuxt|___gatsby|application|svelte|q-app)["']?[^>]{0,200}>\s*(?:<!--[^<]{0,100}-->\s*)?</(?:div|main|section)>`)
	noscript = regexp.MustCompile(`(?is)<noscript[^>]{0,200}>(.{0,900}?)</noscript`)
	asks     = regexp.MustCompile(
		`(?i)\b(?:enable|requires?|needs?|turn on|activate)\b[^<]{0,60}\bJavaScript\b`)
	script = regexp.MustCompile(`(?i)<script[\s>]`)
)

// marks are those of frameworks that build pages in the browser. One that is an attribute is a mark
// only as a whole name within a tag: "embedding-applications" is a word of a manual.
var marks = []struct {
	mark, framework string
	attribute       bool
}{
	{"window.$docsify", "docsify", false}, {"ng-app", "AngularJS", true}, {"<app-root>", "Angular", false}, {"data-reactroot", "React", true},
	{"data-v-app", "Vue", true}, {"data-ember-extension", "Ember", true}, {"ng-version", "Angular", true},
}

// maxLook is how much of a page is looked at.
const maxLook = 1 << 20

// Look reads the signs of a page. textBytes is the length of its text as the parser of pages found
// it.
func Look(body []byte, textBytes int, url string) Signs {
	body = body[:min(len(body), maxLook)]
	s := Signs{
		TextBytes: textBytes,
		Scripts:   len(script.FindAllIndex(body, 100)),
		Noscript:  asksForScripts(body),
		HashBang:  strings.Contains(url, "#!"),
	}
	if m := emptyRoot.FindSubmatch(body); m != nil {
		s.EmptyRoot = string(m[1])
	}
	for _, m := range marks {
		if !m.attribute && bytes.Contains(body, []byte(m.mark)) ||
			m.attribute && hasAttribute(body, m.mark) {
			s.Framework = m.framework
			break
		}
	}
	return s
}

// longTag bounds how far before an attribute its tag may begin, and maxNamed how many places are
// looked at.
const (
	longTag  = 2048
	maxNamed = 200
)

// hasAttribute reports whether a tag of the page has the attribute. Texts and scripts of a page may
// name it too.
func hasAttribute(body []byte, name string) bool {
	for at, tries := 0, 0; tries < maxNamed; at, tries = at+1, tries+1 {
		k := bytes.Index(body[at:], []byte(name))
		if k < 0 {
			return false
		}
		at += k
		before, after := body[max(0, at-longTag):at], body[at+len(name):]
		open := bytes.LastIndexAny(before, "<>")
		if open >= 0 && before[open] == '<' && open+1 < len(before) && letter(before[open+1]) &&
			space(before[len(before)-1]) &&
			(len(after) > 0 && (space(after[0]) || strings.IndexByte("=>/", after[0]) >= 0)) {
			return true
		}
	}
	return false
}

func letter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

func space(c byte) bool { return strings.IndexByte(" \t\r\n\f", c) >= 0 }

// Scripted reports whether a page has a script at all. Without one, nothing else of it matters.
func Scripted(body []byte) bool { return script.Match(body[:min(len(body), maxLook)]) }

// asksForScripts reports whether a noscript asks for JavaScript. The first few are enough: others
// are pixels.
func asksForScripts(body []byte) bool {
	for _, m := range noscript.FindAllSubmatch(body, 10) {
		if asks.Match(m[1]) {
			return true
		}
	}
	return false
}

// Auto decides by the signs alone. The strongest sign is the reason.
func Auto(s Signs) Verdict {
	little := s.TextBytes < littleText
	switch {
	case s.Scripts == 0:
		return Verdict{false, "the page has no script", noScript}
	case s.EmptyRoot != "" && little:
		return Verdict{true, fmt.Sprintf("the root #%s of an application is empty", s.EmptyRoot), root}
	case s.Noscript && little:
		return Verdict{true, "its noscript asks for JavaScript", askingNoscript}
	case s.HashBang:
		return Verdict{true, "its address has a hash-bang", hashBang}
	case s.Framework != "" && little:
		return Verdict{true,
			fmt.Sprintf("it has the marks of %s and %d bytes of text", s.Framework, s.TextBytes), framework}
	case little:
		return Verdict{true, fmt.Sprintf("%d bytes of text beside %d scripts", s.TextBytes, s.Scripts),
			littleBesideScripts}
	case s.EmptyRoot != "" || s.Noscript || s.Framework != "":
		return Verdict{false, fmt.Sprintf("%d bytes of text are there without scripts", s.TextBytes),
			hinted}
	}
	return Verdict{false, fmt.Sprintf("%d bytes of text are there without scripts", s.TextBytes),
		muchText}
}
