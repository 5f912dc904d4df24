package htmlparse

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html/charset"

	"crawlnode/web/urlnorm"
)

func readJSON(t *testing.T, name string, into any) {
	t.Helper()
	b, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, into); err != nil {
		t.Fatal(err)
	}
}

// TestLinkSuites runs the cases recorded from Heritrix and Scrapy. Left out are
// those for what this package does not take for a link: form targets, addresses
// in social-media metadata, and links on a page that says nofollow, which are
// reported and left to the caller.
func TestLinkSuites(t *testing.T) {
	t.Parallel()
	var suite struct {
		Cases []struct {
			Source, Test, HTML, Kind, Option string
			Base                             string `json:"base_url"`
			Expected                         []string
			MustNot                          []string `json:"must_not"`
		}
	}
	readJSON(t, "link_extraction.json", &suite)
	ran := 0
	for _, c := range suite.Cases {
		switch c.Test {
		case "testOnlyExtractFormGets", "testMetaContentURI":
			continue
		}
		ran++
		doc := Parse([]byte(c.HTML), "text/html;charset=utf-8", mustURL(t, c.Base))
		var got []string
		for _, l := range doc.Links {
			if doc.NoFollow || l.NoFollow && c.Option == "obey rel=nofollow" {
				continue
			}
			if strings.HasPrefix(c.Source, "Scrapy") && l.Asset() {
				continue
			}
			got = append(got, l.URL.String())
		}
		var want []string
		for _, raw := range c.Expected {
			want = append(want, mustURL(t, raw).String())
		}
		slices.Sort(got)
		slices.Sort(want)
		if got, want := slices.Compact(got), slices.Compact(want); !slices.Equal(got, want) {
			t.Errorf("%s %s:\ngot  %q\nwant %q", c.Source, c.Test, got, want)
		}
		for _, raw := range c.MustNot {
			if slices.Contains(got, raw) {
				t.Errorf("%s %s: found %s", c.Source, c.Test, raw)
			}
		}
	}
	if ran < 17 {
		t.Errorf("only %d cases ran", ran)
	}
}

// w3libCase is one recorded call of a function of w3lib.
type w3libCase struct {
	Fn     string
	Args   []json.RawMessage
	Kw     map[string]any
	Result json.RawMessage
}

// arg returns argument i, which is text, or bytes in base64, or null.
func (c w3libCase) arg(i int) string {
	if i >= len(c.Args) {
		return ""
	}
	var s string
	if json.Unmarshal(c.Args[i], &s) == nil {
		return s
	}
	var b struct{ B64 []byte }
	if json.Unmarshal(c.Args[i], &b) == nil {
		return string(b.B64)
	}
	return ""
}

func (c w3libCase) charset() string {
	label := c.arg(2)
	if v, ok := c.Kw["encoding"].(string); ok {
		label = v
	}
	if label == "" {
		label = "utf-8"
	}
	return "text/html; charset=" + strings.Replace(label, "latin-1", "latin1", 1)
}

func TestW3lib(t *testing.T) {
	t.Parallel()
	var suite struct{ Cases []w3libCase }
	readJSON(t, "html_meta_encoding.json", &suite)
	checks := map[string]func(*testing.T, w3libCase) bool{
		"get_base_url":                w3libBase,
		"get_meta_refresh":            w3libRefresh,
		"http_content_type_encoding":  w3libHeader,
		"html_body_declared_encoding": w3libMeta,
		"html_to_unicode":             w3libDecode,
	}
	ran := map[string]int{}
	for _, c := range suite.Cases {
		if checks[c.Fn](t, c) {
			ran[c.Fn]++
		}
	}
	for fn, least := range map[string]int{
		"get_base_url": 14, "get_meta_refresh": 22, "http_content_type_encoding": 23, "html_body_declared_encoding": 22, "html_to_unicode": 24,
	} {
		if ran[fn] < least {
			t.Errorf("%s: only %d cases ran", fn, ran[fn])
		}
	}
}

func w3libBase(t *testing.T, c w3libCase) bool {
	base, err := urlnorm.Parse(c.arg(1))
	if err != nil {
		return false
	}
	var want string
	if json.Unmarshal(c.Result, &want) != nil {
		return false
	}
	body := c.arg(0)
	if strings.Contains(body, "£") && c.Kw["encoding"] == "latin-1" {
		body = strings.ReplaceAll(body, "£", "\xa3")
	}
	if got := Parse([]byte(body), c.charset(), base).Base; got != mustURL(t, want) {
		t.Errorf("base of %q: %v, want %s", body, got, want)
	}
	return true
}

func w3libRefresh(t *testing.T, c w3libCase) bool {
	if !strings.HasSuffix(strings.TrimSpace(c.arg(0)), ">") || c.Kw["ignore_tags"] != nil {
		return false // a tag that the page's end cuts off; an option
	}
	var result []any
	if json.Unmarshal(c.Result, &result) != nil {
		return false
	}
	got := ""
	for _, l := range Parse([]byte(c.arg(0)), c.charset(), mustURL(t, c.arg(1))).Links {
		if l.Tag == "meta" {
			got = l.URL.String()
		}
	}
	want := ""
	if raw, ok := result[1].(string); ok {
		want = mustURL(t, raw).String()
	}
	if got != want {
		t.Errorf("refresh of %q: %q, want %q", c.arg(0), got, want)
	}
	return true
}

// sameCharset compares names of encodings, Python's with WHATWG's.
func sameCharset(python, whatwg string) bool {
	switch python {
	case "gb18030":
		return whatwg == "gb18030" || whatwg == "gbk"
	case "big5hkscs":
		return whatwg == "big5"
	case "cp1252":
		return whatwg == "windows-1252"
	case "utf-16-le", "utf-16-be":
		return whatwg == strings.Replace(python, "16-", "16", 1)
	}
	_, name := charset.Lookup(strings.Replace(python, "iso8859", "iso-8859", 1))
	return name == whatwg
}

func w3libHeader(t *testing.T, c w3libCase) bool {
	header := c.arg(0)
	if strings.Contains(header, `charset = `) || strings.Contains(header, `charset= "`) ||
		strings.Contains(header, `charset="utf-8`) && string(c.Result) == "null" {
		return false // we read more than they do
	}
	var want string
	json.Unmarshal(c.Result, &want)
	_, got := charset.Lookup(headerCharset(header))
	if want == "" && got != "" || want != "" && !sameCharset(want, got) {
		t.Errorf("header %q: %q, want %q", header, got, want)
	}
	return true
}

func w3libMeta(t *testing.T, c w3libCase) bool {
	body := c.arg(0)
	for _, notOurs := range []string{"< meta", "this isn't searched", "Fake-", "httpequiv"} {
		if strings.Contains(body, notOurs) {
			return false // where the HTML Standard says otherwise
		}
	}
	var want string
	json.Unmarshal(c.Result, &want)
	_, got := metaCharset([]byte(body))
	if got == "" {
		_, got = charset.Lookup(xmlCharset([]byte(body)))
	}
	if want == "" && got != "" || want != "" && !sameCharset(want, got) {
		t.Errorf("meta %q: %q, want %q", body, got, want)
	}
	return true
}

func w3libDecode(t *testing.T, c w3libCase) bool {
	var want []string
	if json.Unmarshal(c.Result, &want) != nil || len(c.Kw) > 0 {
		return false
	}
	header, body := c.arg(0), c.arg(1)
	switch {
	case strings.HasPrefix(want[0], "utf-32"), strings.Contains(body, "< meta") && header == "",
		strings.HasSuffix(header, "utf-16") && want[0] == "utf-16-be" && !strings.HasPrefix(body, "\xfe\xff"):
		return false // encodings that browsers dropped, and Python's defaults
	}
	_, name, text := decode([]byte(body), header)
	if !sameCharset(want[0], name) || strings.ToValidUTF8(string(text), "\uFFFD") != want[1] {
		t.Errorf("%q, %q: %s %q, want %q", header, body, name, text, want)
	}
	return true
}

func TestCharset(t *testing.T) {
	t.Parallel()
	const cyrillic = "\xcf\xf0\xe8\xe2\xe5\xf2" // a word in windows-1251
	for _, tt := range []struct{ name, contentType, body, charset, text string }{
		{"header wins over meta", "text/html; charset=windows-1251", "<meta charset=utf-8>" + cyrillic, "windows-1251", "Привет"},
		{"meta", "text/html", "<meta charset=windows-1251>" + cyrillic, "windows-1251", "Привет"},
		{"unknown header", "text/html; charset=nonsense", "<meta charset=windows-1251>" + cyrillic, "windows-1251", "Привет"},
		{"late meta", "", "<!--" + strings.Repeat("x", 2000) + "--><meta charset=windows-1251>" + cyrillic, "windows-1251", "Привет"},
		{"late meta, but UTF-8", "", "<!--" + strings.Repeat("x", 2000) + "--><meta charset=windows-1251>é", "utf-8", "é"},
		{"nothing, UTF-8", "", "é", "utf-8", "é"},
		{"nothing, cut within a rune", "", "éé\xc3", "utf-8", "éé\xc3"},
		{"nothing, not UTF-8", "", "\xe9 x", "windows-1252", "é x"},
		{"ASCII", "", "x", "utf-8", "x"},
		{"meta cannot say UTF-16", "", "<meta charset=utf-16>é", "utf-8", "é"},
		{"XML", "application/xhtml+xml", "<?xml version='1.0' encoding='windows-1251'?>" + cyrillic, "windows-1251", "Привет"},
		{"replacement", "text/html; charset=iso-2022-kr", "secret", "replacement", "\uFFFD"},
	} {
		d := Parse([]byte(tt.body), tt.contentType, mustURL(t, home))
		if d.Charset != tt.charset || string(d.Text) != tt.text {
			t.Errorf("%s: %s %q, want %s %q", tt.name, d.Charset, d.Text, tt.charset, tt.text)
		}
	}
}

func TestQueryEncoding(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ charset, want string }{
		{"utf-8", "http://example.org/%C3%A9?q=%C3%A9"},
		{"windows-1252", "http://example.org/%C3%A9?q=%E9"},
		{"windows-1251", "http://example.org/%C3%A9?q=%26%23233%3B"},
	} {
		page := []byte("<a href='/&eacute;?q=&eacute;#&eacute;'>")
		d := Parse(page, "text/html; charset="+tt.charset, mustURL(t, home))
		if len(d.Links) != 1 || d.Links[0].URL.String() != tt.want {
			t.Errorf("%s: %v, want %s", tt.charset, d.Links, tt.want)
		}
	}
}
