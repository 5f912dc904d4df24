//race:none

package mime

import (
	"net/http"
	"strings"
	"testing"
)

// TestExtract has the examples of the Fetch standard, section "Content-Type header", of the web
// platform tests for it (fetch/content-type), and more of their kinds.
func TestExtract(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		headers          []string
		essence, charset string
	}{
		{nil, "", ""},
		{[]string{""}, "", ""},
		{[]string{"text/html, text/html"}, "text/html", ""},
		{[]string{"text/plain;charset=gbk, text/html"}, "text/html", ""},
		{[]string{"text/plain;charset=gbk, text/html;charset=windows-1254"}, "text/html", "windows-1254"},
		{[]string{"text/html;charset=gbk, text/html;x=\",text/plain\""}, "text/html", "gbk"},
		{[]string{"text/html;charset=gbk", "text/html;x=\",text/plain\""}, "text/html", "gbk"},
		{[]string{"text/html;charset=gbk, text/plain, text/html"}, "text/html", ""},
		{[]string{"text/html;charset=gbk;x=\",text/html\", text/css"}, "text/css", ""},
		{[]string{"cannot-parse, text/html"}, "text/html", ""},
		{[]string{"text/html, cannot-parse"}, "text/html", ""},
		{[]string{"text/html", "*/*"}, "text/html", ""},
		{[]string{"*/*", "text/html;charset=utf-8", "*/*"}, "text/html", "utf-8"},
		{[]string{"text/html", ""}, "text/html", ""},
		{[]string{"html"}, "", ""},
		{[]string{"text"}, "", ""},
		{[]string{"text/"}, "", ""},
		{[]string{"/html"}, "", ""},
		{[]string{"text/html charset=utf-8"}, "", ""},
		{[]string{"text /html"}, "", ""},
		{[]string{"TEXT/HTML ; Charset = x; charset=UTF-8"}, "text/html", "UTF-8"},
		{[]string{"text/html;charset=\"shift_jis\"iso-2022-jp"}, "text/html", "shift_jis"},
		{[]string{"text/html;charset=\"a\\b\""}, "text/html", "ab"},
		{[]string{"text/html;charset=;charset=gbk"}, "text/html", "gbk"},
		{[]string{"text/html;;;;charset=gbk"}, "text/html", "gbk"},
		{[]string{"text/html;test;charset=gbk"}, "text/html", "gbk"},
		{[]string{"text/html;charset=gbk;charset=windows-1255"}, "text/html", "gbk"},
		{[]string{"text/html;\" \";charset=gbk"}, "text/html", "gbk"},
		{[]string{"\ttext/html\t;charset=gbk \t"}, "text/html", "gbk"},
		{[]string{"\"text/html"}, "", ""},
	} {
		if got := Extract(c.headers); got.Essence != c.essence || got.Charset != c.charset {
			t.Errorf("%q: %q, charset %q; want %q, %q", c.headers, got.Essence, got.Charset, c.essence,
				c.charset)
		}
	}
}

func TestOf(t *testing.T) {
	t.Parallel()
	const page = "<!DOCTYPE html><p>x"
	for _, c := range []struct{ header, options, body, want string }{
		{"text/html, text/html", "", page, "text/html"},
		{"html", "", page, "text/html"},
		{"text", "", page, "text/html"},
		{"unknown/unknown", "", page, "text/html"},
		{"application/unknown; charset=x", "", page, "text/html"},
		{"*/*", "", page, "text/html"},
		{"", "", page, "text/html"},
		{"", "", "%PDF-1.4", "application/pdf"},
		{"", "", "<?xml version='1.0'?><x/>", "text/xml"},
		{"utf-8", "", "plain words", "text/plain"},
		{"html", "", "\x89PNG\r\n\x1a\n", "image/png"},
		{"x", "", "\x00\x01\x02", "application/octet-stream"},
		{"html", "nosniff", page, "text/plain"},
		{"html", "NoSniff, x", page, "text/plain"},
		{"html", "x, nosniff", page, "text/html"},
		{"html", "nosniff", "\x89PNG\r\n\x1a\n", "image/png"},
		{"text/plain", "", page, "text/plain"},
		{"html", "", "", ""},
		{"Text/HTML; Charset=UTF-8", "", "", "text/html; charset=UTF-8"},
		{"text/html; charset=\"a b\"", "", page, "text/html"},
	} {
		h := http.Header{}
		if c.header != "" {
			h.Set("Content-Type", c.header)
		}
		if c.options != "" {
			h.Set("X-Content-Type-Options", c.options)
		}
		if got := Of(h, []byte(c.body)).String(); got != c.want {
			t.Errorf("%q, %q, payload %q: %q, want %q", c.header, c.options, c.body, got, c.want)
		}
	}
}

// FuzzOf: whatever the headers are, the essence is "" or two tokens in lower case, and what String
// writes reads as the same type.
func FuzzOf(f *testing.F) {
	for _, s := range []string{"text/html", "text/html;charset=\"a\\\"b\", x", "a/b;\"", ",,,", "\\",
		"*/*;charset=x"} {
		f.Add(s, "text/html;charset=x", []byte("<html>"))
	}
	f.Fuzz(func(t *testing.T, a, b string, body []byte) {
		got := Of(http.Header{"Content-Type": {a, b}}, body)
		kind, sub, ok := strings.Cut(got.Essence, "/")
		if got.Essence != "" && (!ok || !isToken(kind) || !isToken(sub)) ||
			strings.ToLower(got.Essence) != got.Essence {
			t.Fatalf("essence %q", got.Essence)
		}
		if again := Extract([]string{got.String()}); got.Essence != "" && again.Essence != got.Essence {
			t.Fatalf("%q reads as %q", got.String(), again.Essence)
		}
	})
}
