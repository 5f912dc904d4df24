package listing

import (
	"errors"
	"strings"
	"testing"

	"crawlnode/crawl"
)

func TestCompileRefuses(t *testing.T) {
	t.Parallel()
	for _, q := range []crawl.URLQuery{
		{State: "open"}, {Status: "99"}, {Status: "4x"}, {Status: "0xx"}, {Status: "ok"}, {Match: "regex:("}, {Match: "rexeg:a"},
		{Host: "a/b"}, {Host: "http://a"}, {Host: "a:8080"}, {Host: "u@a"}, {Host: strings.Repeat("a", 400)}, {Contains: strings.Repeat("a", 1001)},
	} {
		if _, err := Compile(q); !errors.Is(err, crawl.ErrBadQuery) {
			t.Errorf("%+v: %v", q, err)
		}
	}
}

// FuzzParseCursor: whatever a client sends as a cursor is refused, or is a place whose cursor it
// is.
func FuzzParseCursor(f *testing.F) {
	f.Add("")
	f.Add(Cursor(3, ""))
	f.Add(Cursor(65534, endOf("docs.example.org")))
	f.Add(CursorOf(&crawl.URLLine{URL: "http://a/", Host: "a", Partition: 7}))
	f.Add("AQ")
	f.Add("AQAAAA")
	f.Add("AQA\n\nA")
	f.Fuzz(func(t *testing.T, text string) {
		p, at, err := ParseCursor(text)
		switch {
		case err != nil && !errors.Is(err, crawl.ErrBadQuery):
			t.Errorf("%v", err)
		case err == nil && text != "" && Cursor(p, at) != text:
			t.Errorf("%q is read as that of %d %q, whose cursor is %q", text, p, at, Cursor(p, at))
		case err == nil && at != "" && endOf(at.host()) < at:
			t.Errorf("%q is behind the end of its host", at)
		}
	})
}
