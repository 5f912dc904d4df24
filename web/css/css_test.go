//race:none

package css

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestRefs(t *testing.T) {
	t.Parallel()
	for sheet, want := range map[string][]string{
		`body { background: url(a.png) }`: {"a.png"},
		`a{b:URL( "a b.png" )}`:           {"a b.png"},
		`a{b:url('x(y).png')}`:            {"x(y).png"},
		`a{b:url(  x.png	)}`:              {"x.png"},
		`a{b:url(x\)y.png)}`:              {"x)y.png"},
		`a{b:url("x\22 y\
z")}`: {`x"yz`},
		`a{b:url(\61 \000062c)}`: {
			"abc"},
		`@import "one.css"; @import url(two.css) screen;`: {"!one.css",
			"!two.css"},
		`@IMPORT 'one.css' supports(background: url(x.png));`: {"!one.css",
			"x.png"},
		`@import url("three.css") layer("x");`: {
			"!three.css"},
		`@namespace url(http://www.w3.org/1999/xhtml); a{b:url(c)}`: {
			"c"},
		`a{b:image-set("x.png" 1x)}`: {
			"x.png"},
		`a{b:-webkit-image-set('a.png' 1x, "b.png" 2x)}`: {"a.png",
			"b.png"},
		`a{b:IMAGE-SET( "a.avif" type("image/avif"), url(b.png) type('image/png') 2x, "c" )}`: {"a.avif",
			"b.png", "c"},
		`a{b:image-set(linear-gradient(red, blue) 1x, "x" 2x); content: "no"}`: {
			"x"},
		`a{content: "no"; b: cross-fade(image-set("x" 1x), 50%); content: "no"}`: {
			"x"},
		`a{b:image-set("x" 1x; content:"no"} b{content:"no"}`: {
			"x"},
		`a{b:my-image-set("no")} image-set {content:"no"}`: nil,
		`a{b:image-set()} c{d:image-set("\78 .png")}`: {
			"x.png"},
		`@import url("a.css") layer(x) supports(display: grid) screen; @import "b.css" (width > 1px);`: {
			"!a.css",
			"!b.css",
		},
		`@namespace svg "http://www.w3.org/2000/svg";`:           nil,
		`/* url(no.png) @import "no.css" */ a{b:url(yes)}`:       {"yes"},
		`a{content:"url(no.png)"} b{c:url(yes)}`:                 {"yes"},
		`@font-face{src:url(f.woff2)format("woff2"),url(f.ttf)}`: {"f.woff2", "f.ttf"},
		`a{b:image-set(url(1.png) 1x, url(2.png) 2x)}`:           {"1.png", "2.png"},
		`a{b:url(bad"x.png)} c{d:url(good)}`:                     {"good"},
		`a{b:url(bad x.png)} c{d:url(good)}`:                     {"good"},
		"a{b:url(\"bad\nx.png)} c{d:url(good)}":                  {"good"},
		`a{b:curl(x) -url(y) url (z)}`:                           nil,
		`a{b:url()}`:                                             {""},
		`a{b:url(cut`:                                            nil,
		`a{b:url("cut`:                                           nil,
		`a{b:url(cut\`:                                           nil,
		`@import "cut\`:                                          nil,
		`/* cut`:                                                 nil,
		`\`:                                                      nil,

		`#url(no){b:ur\l(yes)} c{d:\URL("yes")} \75rl(no)`:     {"yes", "yes"},
		"a{content:\"\\\xF0\";b:url(x)} c{content:\"\\\xE9\"}": {"x"},
		"a{content:\"\\\xE9\"} b{c:url(\\\xE9)}":               {"\xE9"},
		"a{b:url(x\\\ny)} c{d:url(yes)}":                       {"yes"},
		"a\x00url(no){b:url(x)}":                               {"x"},
		`a{b:url("x\")`:                                        nil,
		`a{b:url(x\)`:                                          nil,
		`@import "x\"`:                                         nil,
		`@import "x\\"`:                                        {`!x\`},

		"a{b:url(\\0)url(\\D800 x)}": {"\uFFFD", "\uFFFDx"},
	} {
		var got []string
		for _, r := range Refs([]byte(sheet)) {
			value := r.Value
			if r.Import {
				value = "!" + value
			}
			got = append(got, value)
			if token := sheet[r.Start:r.End]; !strings.HasSuffix(token, ")") &&
				!strings.HasPrefix(token, `"`) && !strings.HasPrefix(token, "'") {
				t.Errorf("%s: the token is %q", sheet, token)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", sheet, got, want)
		}
	}
}

// A sheet has at most MaxRefs references, and many of them take linear time.
func TestRefsAreBounded(t *testing.T) {
	t.Parallel()
	if n := len(Refs(bytes.Repeat([]byte("a{b:url(x)}"), MaxRefs+10))); n != MaxRefs {
		t.Errorf("%d references", n)
	}
	for _, piece := range []string{"url(", "url( ", `url("`, "@import ", `\`, "/*", `"`, "(",
		"url(x y"} {
		Refs(bytes.Repeat([]byte(piece), 200_000)) // ends: the time limit of the test judges
	}
}

// A sheet is often a part of a larger buffer, which others read meanwhile.
func TestRefsWritesNothing(t *testing.T) {
	t.Parallel()
	buffer := []byte("a{b:url(x)}#")
	Refs(buffer[:len(buffer)-1])
	if string(buffer) != "a{b:url(x)}#" {
		t.Errorf("the buffer is now %q", buffer)
	}
}

// What Token writes is read back as the same reference.
func FuzzToken(f *testing.F) {
	f.Add(`a b"c'd\e`, "x")
	f.Add("\n\f\r)", "url(")
	f.Fuzz(func(t *testing.T, url, around string) {
		for _, r := range Refs([]byte(around)) {
			if r.Start < 0 || r.Start >= r.End || r.End > len(around) {
				t.Fatalf("%q: token at %d to %d", around, r.Start, r.End)
			}
		}
		for _, isImport := range []bool{false, true} {
			sheet := "a{b:" + Token(url, isImport) + "}"
			if isImport {
				sheet = "@import " + Token(url, isImport) + ";"
			}
			refs := Refs([]byte(sheet))
			if len(refs) != 1 || refs[0].Value != url || refs[0].Import != isImport {
				t.Fatalf("%q: %s", sheet, fmt.Sprint(refs))
			}
		}
	})
}
