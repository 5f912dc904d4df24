package htmlparse

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html/charset"
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

// linkDifferences are the cases in which the package deliberately finds other links than the suite
// expects: its links, and why.
var linkDifferences = map[string]struct {
	got []string
	why string
}{
	"testOnlyExtractFormGets": {nil,
		"a form is not a link: its target without its fields is no page that the site leads to"},
	"testMetaContentURI": {nil,
		"addresses in social-media metadata are for other programs; a page they name is linked as well"},
}

// TestLinkSuites runs the cases recorded from Heritrix and Scrapy. Scrapy's do not look for images
// and other parts. Links on a nofollow page are reported by this package and left to its caller.
func TestLinkSuites(t *testing.T) {
	t.Parallel()
	var suite struct {
		Cases []struct {
			Source, Test, HTML, Option string
			Base                       string `json:"base_url"`
			Expected                   []string
			MustNot                    []string `json:"must_not"`
		}
	}
	readJSON(t, "link_extraction.json", &suite)
	if len(suite.Cases) != 19 {
		t.Errorf("%d cases, want 19", len(suite.Cases))
	}
	canonical := func(raw []string) []string {
		urls := []string{}
		for _, r := range raw {
			urls = append(urls, mustURL(t, r).String())
		}
		slices.Sort(urls)
		return slices.Compact(urls)
	}
	for _, c := range suite.Cases {
		doc := Parse([]byte(c.HTML), "text/html;charset=utf-8", mustURL(t, c.Base))
		var found []string
		for _, l := range doc.Links {
			if doc.NoFollow || l.NoFollow && c.Option == "obey rel=nofollow" ||
				strings.HasPrefix(c.Source, "Scrapy") && l.Asset() {
				continue
			}
			found = append(found, l.URL.String())
		}
		want := c.Expected
		if ours, differs := linkDifferences[c.Test]; differs {
			want = ours.got
		}
		got := canonical(found)
		if want := canonical(want); !slices.Equal(got, want) {
			t.Errorf("%s %s:\ngot  %q\nwant %q", c.Source, c.Test, got, want)
		}
		for _, raw := range c.MustNot {
			if slices.Contains(got, raw) {
				t.Errorf("%s %s: found %s", c.Source, c.Test, raw)
			}
		}
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

// text is the result when it is text, or "" for null.
func (c w3libCase) text(t *testing.T) string {
	var s string
	if err := json.Unmarshal(c.Result, &s); err != nil {
		t.Fatal(err)
	}
	return s
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

// w3libDifferences are the cases, by their number in the file, in which the package deliberately
// answers differently from w3lib: its answer, and why.
var w3libDifferences = map[int]struct{ got, why string }{
	22: {"", "a tag that the page's end cuts off is none (HTML Standard, section 13.2.5)"},
	40: {"", "option ignore_tags: a refresh in noscript is there to send away those without scripts"},
	42: {"", "option ignore_tags: a script's text has no elements"},
	52: {"utf-8", "white space around the '=' of a header is wrong, but plain"},
	53: {"utf-8", "as 52"},
	55: {
		"utf-8",
		"a quote that is not closed ends with the header (MIME Sniffing Standard, section 4.4)",
	},
	81:  {"", "\"< meta\" is text, not a tag"},
	86:  {"utf-8", "a meta element counts wherever it stands in the first 1,024 bytes"},
	87:  {"", "http-equiv has to be Content-Type"},
	88:  {"", "as 87"},
	98:  {"", "as 81"},
	102: {"utf-8", "as 86"},
	103: {"", "as 87"},
	125: {"windows-1252 \x00\x00þÿ\x00\x00\x00h\x00\x00\x00i",
		"UTF-32 is no encoding of the web (Encoding Standard, section 4.2)"},
	126: {"windows-1252 \x00\x00þÿ\x00\x00\x00h\x00\x00\x00i", "as 125"},
	127: {"utf-16le \x00h\x00i\x00", "as 125: its mark begins with that of UTF-16"},
	128: {"utf-16le \x00h\x00i\x00", "as 127"},
	129: {"utf-16le 栀椀", "utf-16 without a mark is little-endian (Encoding Standard, section 4.2)"},
	130: {"utf-8 \x00\x00\x00h\x00\x00\x00i", "as 125"},
	131: {"utf-8 blah blah < meta   http-equiv=\"Content-Type\"\n            content=\"text/html; " +
		"charset=iso-8859-1\"> other stuff", "as 81"},
	135: {
		"utf-8 no encoding info",
		"options auto_detect_fun and default_encoding are a caller's guess: what is valid UTF-8 is UTF-8",
	},
	137: {"utf-8 no encoding info", "as 135"},
}

// TestW3lib runs all recorded calls.
func TestW3lib(t *testing.T) {
	t.Parallel()
	var suite struct{ Cases []w3libCase }
	readJSON(t, "html_meta_encoding.json", &suite)
	if len(suite.Cases) != 139 {
		t.Errorf("%d cases, want 139", len(suite.Cases))
	}
	answers := map[string]func(*testing.T, w3libCase) (got, want string){
		"get_base_url":                w3libBase,
		"get_meta_refresh":            w3libRefresh,
		"http_content_type_encoding":  w3libHeader,
		"html_body_declared_encoding": w3libMeta,
		"html_to_unicode":             w3libDecode,
	}
	for i, c := range suite.Cases {
		got, want := answers[c.Fn](t, c)
		if ours, differs := w3libDifferences[i]; differs {
			if got == want {
				t.Errorf("case %d does not differ", i)
			}
			want = ours.got
		}
		if got != want {
			t.Errorf("%d %s %.200s %v: %q, want %q", i, c.Fn, c.Args, c.Kw, got, want)
		}
	}
}

// w3libBase: a call without the page's own address is made with a stand-in.
func w3libBase(t *testing.T, c w3libCase) (got, want string) {
	const standIn = "http://page.example/"
	own, body := c.arg(1), c.arg(0)
	if own == "" {
		own = standIn
	}
	if c.Kw["encoding"] == "latin-1" {
		body = strings.ReplaceAll(body, "£", "\xa3")
	}
	got = Parse([]byte(body), c.charset(), mustURL(t, own)).Base.String()
	if want = c.text(t); want == "" {
		return got, standIn
	}
	return got, mustURL(t, want).String()
}

func w3libRefresh(t *testing.T, c w3libCase) (got, want string) {
	var result []any
	if err := json.Unmarshal(c.Result, &result); err != nil {
		t.Fatal(err)
	}
	for _, l := range Parse([]byte(c.arg(0)), c.charset(), mustURL(t, c.arg(1))).Links {
		if l.Tag == "meta" {
			got = l.URL.String()
		}
	}
	if raw, ok := result[1].(string); ok {
		want = mustURL(t, raw).String()
	}
	return got, want
}

// whatwgName is the WHATWG name of an encoding, given its Python name.
func whatwgName(python string) string {
	switch python {
	case "big5hkscs":
		return "big5"
	case "cp1252":
		return "windows-1252"
	case "utf-16-le", "utf-16-be":
		return strings.Replace(python, "16-", "16", 1)
	case "":
		return ""
	}
	if _, name := charset.Lookup(strings.Replace(python, "iso8859", "iso-8859", 1)); name != "" {
		return name
	}
	return python
}

// asPython names gbk, which WHATWG keeps apart, as the superset with which it is decoded.
func asPython(whatwg string) string {
	if whatwg == "gbk" {
		return "gb18030"
	}
	return whatwg
}

func w3libHeader(t *testing.T, c w3libCase) (got, want string) {
	_, got = charset.Lookup(headerCharset(c.arg(0)))
	return asPython(got), whatwgName(c.text(t))
}

func w3libMeta(t *testing.T, c w3libCase) (got, want string) {
	body := c.arg(0)
	if _, got = metaCharset([]byte(body)); got == "" {
		_, got = charset.Lookup(xmlCharset([]byte(body)))
	}
	return asPython(got), whatwgName(c.text(t))
}

// w3libDecode compares "encoding text".
func w3libDecode(t *testing.T, c w3libCase) (got, want string) {
	var result []string
	if err := json.Unmarshal(c.Result, &result); err != nil {
		t.Fatal(err)
	}
	_, name, text := decode([]byte(c.arg(1)), c.arg(0))
	return asPython(name) + " " + strings.ToValidUTF8(string(text), "\uFFFD"), whatwgName(result[0]) +
		" " + result[1]
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
		{"XML cannot say UTF-16", "application/xhtml+xml", "<?xml version='1.0' encoding='utf-16'?>é", "utf-8", "é"},
		{"XML cannot say UTF-16BE", "", "<?xml version=\"1.0\" encoding=\"UTF-16BE\"?>é", "utf-8", "é"},
		{"XML in UTF-16LE", "", "<\x00?\x00x\x00m\x00l\x00 \x00?\x00>\x00\xe9\x00", "utf-16le", "é"},
		{"XML in UTF-16BE", "", "\x00<\x00?\x00x\x00m\x00l\x00 \x00?\x00>\x00\xe9", "utf-16be", "é"},
		{"header wins over XML", "text/html; charset=windows-1251", "<?xml version='1.0' encoding='utf-16'?>" + cyrillic, "windows-1251", "Привет"},
		{"mark wins over header", "text/html; charset=windows-1251", "\xef\xbb\xbfé", "utf-8", "é"},
		{"UTF-7 is not read", "text/html; charset=utf-7", "+ADw-a href+AD0-x+AD4-", "utf-8", "+ADw-a href+AD0-x+AD4-"},
		{"escapes", "text/html; charset=iso-2022-jp", "\x1b$B$\"\x1b(B<b>x</b>", "iso-2022-jp", "あx"},
		{"escapes hide no tag", "text/html; charset=utf-8", "\x1b$B<b>x</b>\x1b(B", "utf-8", "$Bx (B"},
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
