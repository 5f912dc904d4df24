package htmlparse

import (
	"fmt"
	"strings"
	"testing"
)

// told is what Tokens says of a page: texts, tags with their attributes, and, with contents, that
// of raw elements.
func told(page, contentType string, contents bool) string {
	var out []string
	t := NewTokens([]byte(page), contentType)
	for {
		switch t.Next() {
		case EndOfPage:
			return strings.Join(out, " ")
		case Text:
			out = append(out, fmt.Sprintf("%q", AppendText(nil, t.Text(), false)))
		case EndTag:
			out = append(out, "/"+string(t.Name()))
		case StartTag:
			tag := string(t.Name())
			for {
				name, val, ok := t.Attribute()
				if !ok {
					break
				}
				tag += fmt.Sprintf("[%s=%s]", name, AppendText(nil, val, true))
			}
			if t.SelfClosing() {
				tag += "/"
			}
			if contents {
				if content := t.Content(); content != nil {
					tag += fmt.Sprintf("{%s}", content)
				}
			}
			out = append(out, tag)
		}
	}
}

func TestTokens(t *testing.T) {
	const xhtml = "application/xhtml+xml"
	for _, c := range []struct{ page, contentType, want, contents string }{
		{`a<P CLASS=x id='y&amp;z'>b &lt; c</p>`, "", `"a" p[CLASS=x][id=y&z] "b < c" /p`, ""},
		{`<title>a<b></title>c`, "", `title /title "c"`, `title{a<b>} /title "c"`},
		{`<script>if (a<b) "</p>"</script>d`, "", `script /script "d"`, `script{if (a<b) "</p>"} /script "d"`},
		{`<script/>a`, "", `script/`, `script/{a}`},
		{`<script/>a`, xhtml, `script/ "a"`, ""},
		{`<svg><style/>a</svg><style>b</style>`, "", `svg style/ "a" /svg style /style`, `svg style/ "a" /svg style{b} /style`},
		{`<svg/><style>b</style>`, "", `svg/ style /style`, `svg/ style{b} /style`},
		{`a<!-- <p> --><br/>b`, "", `"a" br/ "b"`, ""},
		{`a<p class="x`, "", `"a" p`, ""},
		{`<a_name_that_is_longer_than_any>a`, "", ` "a"`, ""},
	} {
		if c.contents == "" {
			c.contents = c.want
		}
		if got := told(c.page, c.contentType, false); got != c.want {
			t.Errorf("%s: %s, want %s", c.page, got, c.want)
		}
		if got := told(c.page, c.contentType, true); got != c.contents {
			t.Errorf("%s, with contents: %s, want %s", c.page, got, c.contents)
		}
	}
}

func TestTokensSkipWhatIsNotRead(t *testing.T) {
	tokens := NewTokens([]byte(`<p a=1 b=2>x<title c=3>y</title>`), "")
	var kinds []Kind
	for k := tokens.Next(); k != EndOfPage; k = tokens.Next() {
		kinds = append(kinds, k)
	}
	if want := []Kind{StartTag, Text, StartTag, EndTag}; fmt.Sprint(kinds) != fmt.Sprint(want) {
		t.Errorf("%v, want %v", kinds, want)
	}
	page := []byte(strings.Repeat(`<p class="x">text &amp; text<br/></p><script>a</script>`, 100))
	if n := testing.AllocsPerRun(10, func() {
		t := Tokens{scan: scanner{page: page}}
		for t.Next() != EndOfPage {
		}
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

func FuzzTokens(f *testing.F) {
	f.Add(`<svg><style/>a<title b='c'>d</title></svg></p x`, "text/html")
	f.Add(`<plaintext><math/></math>&amp`, "application/xhtml+xml")
	f.Fuzz(func(t *testing.T, page, contentType string) {
		plain, whole := told(page, contentType, false), told(page, contentType, true)
		if len(plain) > len(whole) {
			t.Errorf("%s is longer than %s", plain, whole)
		}
	})
}
