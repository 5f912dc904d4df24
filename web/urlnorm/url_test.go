package urlnorm

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

func mustParse(t testing.TB, raw string) URL {
	t.Helper()
	u, err := Parse(raw)
	if err != nil {
		t.Fatalf("Parse(%q): %v", raw, err)
	}
	return u
}

func TestParse(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ raw, want string }{
		{"http://example.org", "http://example.org/"},
		{" \t\nhttp://example.org/a \r\n", "http://example.org/a"},
		{"HTTP://EXAMPLE.org:80/A", "http://example.org/A"},
		{"https://example.org:443/", "https://example.org/"},
		{"http://example.org:443/", "http://example.org:443/"},
		{"https://example.org:8443", "https://example.org:8443/"},
		{"http://user:secret@example.org/", "http://example.org/"},
		{"http://example.org./", "http://example.org/"},
		{"http://example.org.:8080/", "http://example.org:8080/"},
		{"http://example.org/a#b", "http://example.org/a"},
		{"http://example.org/a b#c", "http://example.org/a%20b"},
		{"http://example.org/a #c", "http://example.org/a%20"},
		{"http://example.org?q", "http://example.org/?q"},
		{"http://example.org/?", "http://example.org/?"},
		{"http://example.org/?#", "http://example.org/?"},
		{"http://example.org/%e3%83%84", "http://example.org/%E3%83%84"},
		{"http://example.org/%zz%4", "http://example.org/%zz%4"},
		{"http://example.org/?b=%2f&a=1", "http://example.org/?b=%2F&a=1"},
		{"http://example.org/a/../b/./c", "http://example.org/b/c"},
		{"http://example.org/a/%2E%2e/b", "http://example.org/b"},
		{"http://example.org/.well-known/x", "http://example.org/.well-known/x"},
		{"http://example.org/a//b", "http://example.org/a//b"},
		{"http://example.org\\a\\b", "http://example.org/a/b"},
		{"http:\\\\example.org/", "http://example.org/"},
		{"http:example.org/", "http://example.org/"},
		{"ht\ntp://exa\tmple.org/", "http://example.org/"},
		{"http://0x7f.1/", "http://127.0.0.1/"},
		{"http://2130706433/", "http://127.0.0.1/"},
		{"http://127.0.0.1:8080/", "http://127.0.0.1:8080/"},
		{"http://127.0.0.01/", "http://127.0.0.1/"},
		{"http://[::1]:8080/x", "http://[::1]:8080/x"},
		{"http://[0:0::FFFF:1.2.3.4]/", "http://[::ffff:102:304]/"},
		{"http://bücher.example/", "http://xn--bcher-kva.example/"},
		{"http://例え。テスト/", "http://xn--r8jz45g.xn--zckzah/"},
		{"http://a_b.example.com/", "http://a_b.example.com/"},
		{"http://r3---sn-x.example.com/", "http://r3---sn-x.example.com/"},
		{"http://example.org/?a[]=1&b='", "http://example.org/?a[]=1&b=%27"},
		{"http://example.org/a^b/%5e?c^d", "http://example.org/a%5Eb/%5E?c^d"},
		{"http://example.org/é?é", "http://example.org/%C3%A9?%C3%A9"},
		{"http://example.org:/", "http://example.org/"},
		{"http://example.org:00080/", "http://example.org/"},
	} {
		if got := mustParse(t, tt.raw).String(); got != tt.want {
			t.Errorf("Parse(%q) = %q, want %q", tt.raw, got, tt.want)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", MaxLen)
	for _, tt := range []struct {
		raw  string
		want error
	}{
		{"", ErrInvalid},
		{"/path", ErrInvalid},
		{"example.org", ErrInvalid},
		{"http://", ErrInvalid},
		{"http://./", ErrInvalid},
		{"http://a../", ErrInvalid},
		{"http://0x7f.1../", ErrInvalid},
		{"http://exa mple.org/", ErrInvalid},
		{"http://example.org:70000/", ErrInvalid},
		{"http://example.org:x/", ErrInvalid},
		{"http://example.org:22/", ErrInvalid},
		{"http://example.org:6667/", ErrInvalid},
		{"http://example.org:0/", ErrInvalid},
		{"http://256.256.256.256/", ErrInvalid},
		{"http://xn--/", ErrInvalid},
		{"http://xn--.example/", ErrInvalid},
		{"http://www.XN--a-.example/", ErrInvalid},   // it decodes to ASCII
		{"http://xn--ls8h=.example/", ErrInvalid},    // no digit
		{"http://xn--99999999.example/", ErrInvalid}, // it overflows
		{"http://xn--zzzz-zzzzzzzz.example/", ErrInvalid},
		{"http://bücher.xn--0.example/", ErrInvalid},
		{"ftp://example.org/", ErrScheme},
		{"mailto:a@example.org", ErrScheme},
		{"javascript:void(0)", ErrScheme},
		{"java\nscript:void(0)", ErrScheme},
		{"data:text/html," + strings.Repeat("x", 1<<20), ErrScheme},
		{"foo://[", ErrScheme},
		{"http://example.org/" + long, ErrTooLong},
		{"http://example.org/" + strings.Repeat("é", MaxLen/5), ErrTooLong},
		{"http://example.org/" + strings.Repeat(long, 100), ErrTooLong},
	} {
		u, err := Parse(tt.raw)
		if !errors.Is(err, tt.want) {
			t.Errorf("Parse(%q) = %q, %v, want %v", short(tt.raw), u, err, tt.want)
		}
		if err != nil && len(err.Error()) > 400 {
			t.Errorf("Parse(%q): the message has %d bytes", short(tt.raw), len(err.Error()))
		}
	}
}

func TestLengthLimit(t *testing.T) {
	t.Parallel()
	const head = "http://example.org/"
	most := head + strings.Repeat("a", MaxLen-len(head))
	if u := mustParse(t, most+"#"+strings.Repeat("f", 1<<20)); u.String() != most {
		t.Error("a URL of exactly MaxLen bytes with a fragment was not kept as it is")
	}
	if _, err := Parse(most + "a"); !errors.Is(err, ErrTooLong) {
		t.Errorf("one byte more: %v, want ErrTooLong", err)
	}
	base := mustParse(t, head)
	if _, err := base.Resolve("/" + strings.Repeat("a", MaxLen)); !errors.Is(err, ErrTooLong) {
		t.Errorf("Resolve: %v, want ErrTooLong", err)
	}
}

func TestResolve(t *testing.T) {
	t.Parallel()
	const base = "http://example.org:8080/a/b/c?x=y"
	for _, tt := range []struct{ ref, want string }{
		{"", "http://example.org:8080/a/b/c?x=y"},
		{"#f", "http://example.org:8080/a/b/c?x=y"},
		{"?", "http://example.org:8080/a/b/c?"},
		{"?q=1#f", "http://example.org:8080/a/b/c?q=1"},
		{"d", "http://example.org:8080/a/b/d"},
		{"d/", "http://example.org:8080/a/b/d/"},
		{"./d", "http://example.org:8080/a/b/d"},
		{"./a:b", "http://example.org:8080/a/b/a:b"},
		{"../d", "http://example.org:8080/a/d"},
		{"../../d", "http://example.org:8080/d"},
		{"../../../d", "http://example.org:8080/d"},
		{"..", "http://example.org:8080/a/"},
		{"../", "http://example.org:8080/a/"},
		{"../?q", "http://example.org:8080/a/?q"},
		{"..//d", "http://example.org:8080/a//d"},
		{".", "http://example.org:8080/a/b/"},
		{"d/../e", "http://example.org:8080/a/b/e"},
		{"/d", "http://example.org:8080/d"},
		{"/d%2fe", "http://example.org:8080/d%2Fe"},
		{"/d:e?f:g", "http://example.org:8080/d:e?f:g"},
		{"//other.example/d", "http://other.example/d"},
		{"//other.example", "http://other.example/"},
		{"///other.example/d", "http://other.example/d"},
		{"https://other.example/d", "https://other.example/d"},
		{"http:d", "http://example.org:8080/a/b/d"},
		{"https:d", "https://d/"},
		{"http", "http://example.org:8080/a/b/http"},
		{"\\d", "http://example.org:8080/d"},
		{" d e ", "http://example.org:8080/a/b/d%20e"},
		{"example.html;jsessionid=deadbeef:deadbeed?parameter=this:value",
			"http://example.org:8080/a/b/example.html;jsessionid=deadbeef:deadbeed?parameter=this:value"},
	} {
		u, err := mustParse(t, base).Resolve(tt.ref)
		if err != nil || u.String() != tt.want {
			t.Errorf("Resolve(%q) = %q, %v, want %q", tt.ref, u, err, tt.want)
		}
	}
	for ref, want := range map[string]error{
		"mailto:a@b":  ErrScheme,
		"tel:1":       ErrScheme,
		"foo:bar":     ErrScheme,
		"//":          ErrInvalid,
		"//a:22/":     ErrInvalid,
		"http://[/":   ErrInvalid,
		"//a..:1000/": ErrInvalid,
	} {
		if u, err := mustParse(t, base).Resolve(ref); !errors.Is(err, want) {
			t.Errorf("Resolve(%q) = %q, %v, want %v", ref, u, err, want)
		}
	}
	if u, err := (URL{}).Resolve("http://example.org"); err != nil ||
		u.String() != "http://example.org/" {
		t.Errorf("against the zero URL: %q, %v", u, err)
	}
}

func TestParts(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ raw, scheme, host, origin, path, query, pathQuery string }{
		{"https://Example.org:8443/a/b?c=d", "https", "example.org", "https://example.org:8443", "/a/b", "c=d", "/a/b?c=d"},
		{"http://example.org", "http", "example.org", "http://example.org", "/", "", "/"},
		{"http://[::1]:81/?", "http", "[::1]", "http://[::1]:81", "/", "", "/?"},
	} {
		u := mustParse(t, tt.raw)
		got := [...]string{u.Scheme(), u.Host(), u.Origin(), u.Path(), u.Query(), u.PathQuery()}
		want := [...]string{tt.scheme, tt.host, tt.origin, tt.path, tt.query, tt.pathQuery}
		if got != want {
			t.Errorf("%q: %q, want %q", tt.raw, got, want)
		}
	}
	var zero URL
	if !zero.IsZero() ||
		zero.String()+zero.Host()+zero.Scheme()+zero.Origin()+zero.PathQuery()+zero.Query() != "" {
		t.Error("the zero URL has parts")
	}
}

func TestText(t *testing.T) {
	t.Parallel()
	type doc struct{ A, B URL }
	in := doc{A: mustParse(t, "http://example.org/x")}
	b, err := json.Marshal(in)
	if err != nil || string(b) != `{"A":"http://example.org/x","B":""}` {
		t.Fatalf("Marshal: %s, %v", b, err)
	}
	var out doc
	if err := json.Unmarshal(b, &out); err != nil || out != in {
		t.Errorf("Unmarshal: %v, %v", out, err)
	}
	if err := json.Unmarshal([]byte(`{"A":"ftp://x/"}`), &out); !errors.Is(err, ErrScheme) {
		t.Errorf("Unmarshal of another scheme: %v", err)
	}
}

// TestResolveBytes: bytes that are no UTF-8 keep their values, as in the Location of a server that
// writes Latin-1.
func TestResolveBytes(t *testing.T) {
	t.Parallel()
	base := mustParse(t, "http://a.test/x/y")
	for ref, want := range map[string]string{
		"/caf\xe9":                   "http://a.test/caf%E9",
		"/caf\xc3\xa9":               "http://a.test/caf%C3%A9",
		"/\xc3\xa9\xe9":              "http://a.test/%C3%A9%E9",
		"caf\xe9/?q=\xfc#\xff":       "http://a.test/x/caf%E9/?q=%FC",
		"/\xe2\x82":                  "http://a.test/%E2%82",
		"http://b.test/\xff\xfe\x80": "http://b.test/%FF%FE%80",
		"/\xef\xbf\xbd":              "http://a.test/%EF%BF%BD",
		"?\xa0":                      "http://a.test/x/y?%A0",
	} {
		if got, err := base.ResolveBytes(ref); err != nil || got.String() != want {
			t.Errorf("%q: %s, %v; want %s", ref, got, err, want)
		}
	}
	if u, err := base.ResolveBytes("http://b\xe9.test/"); err == nil {
		t.Errorf("a host that is no UTF-8: %s", u)
	}
}

// TestNoScheme says what a person has left out.
func TestNoScheme(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{"docs.example.org", "docs.example.org/a?b", "//example.org/", "/a",
		"example", ""} {
		_, err := Parse(raw)
		if !errors.Is(err, ErrInvalid) ||
			!strings.Contains(err.Error(), "has no scheme: write https:// before it") {
			t.Errorf("Parse(%q): %v", raw, err)
		}
	}
}
