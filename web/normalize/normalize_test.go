package normalize

import (
	"strings"
	"testing"

	"crawlnode/web/urlnorm"
)

func parse(t testing.TB, raw string) urlnorm.URL {
	t.Helper()
	u, err := urlnorm.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func rules(t testing.TB, names ...string) Rules {
	t.Helper()
	r, err := Parse(names)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestApply(t *testing.T) {
	t.Parallel()
	const long = "0123456789abcdef0123456789abcdef"
	for _, c := range []struct{ rule, in, want string }{
		{SortQuery, "http://a.test/?b=1&a=2&b=0", "http://a.test/?a=2&b=1&b=0"},
		{SortQuery, "http://a.test/?", "http://a.test/?"},
		{SortQuery, "http://a.test/?b&&a", "http://a.test/?&a&b"},
		{IndexFiles, "http://a.test:81/x/index.html", "http://a.test:81/x/"},
		{IndexFiles, "http://a.test/INDEX.PHP", "http://a.test/"},
		{IndexFiles, "http://a.test/index.php?id=3", "http://a.test/index.php?id=3"},
		{IndexFiles, "http://a.test/index.html.gz", "http://a.test/index.html.gz"},
		{TrailingSlash, "http://a.test/x/", "http://a.test/x"},
		{TrailingSlash, "http://a.test/x//?q=/", "http://a.test/x?q=/"},
		{TrailingSlash, "http://a.test/", "http://a.test/"},
		{SessionIDs, "http://a.test/x;jsessionid=12?PHPSESSID=1", "http://a.test/x"},
		{SessionIDs, "http://a.test/x;v=1;JSESSIONID=12/y", "http://a.test/x;v=1/y"},
		{SessionIDs, "http://a.test/(S(abc))/x.aspx?a=1&ASPSESSIONIDQQ=2", "http://a.test/x.aspx?a=1"},
		{SessionIDs, "http://a.test/?sid=17", "http://a.test/?sid=17"},
		{SessionIDs, "http://a.test/?sid=" + long, "http://a.test/"},
		{WWW, "https://www.example.org/", "https://example.org/"},
		{WWW, "https://www.example.co.uk:8443/", "https://example.co.uk:8443/"},
		{WWW, "https://www.org/", "https://www.org/"},
		{WWW, "https://www.co.uk/", "https://www.co.uk/"},
		{WWW, "https://www2.example.org/", "https://www2.example.org/"},
		{WWW, "http://[::1]/", "http://[::1]/"},
	} {
		u, r := parse(t, c.in), rules(t, c.rule)
		if got := r.Apply(u).String(); got != c.want {
			t.Errorf("%s: %s becomes %s, not %s", c.rule, c.in, got, c.want)
		}
		if (Rules{}).Apply(u) != u {
			t.Errorf("%s changes without a rule", c.in)
		}
	}
	all := rules(t, Names()...)
	if got := all.Apply(parse(t, "http://www.a.test/x/index.html/?sid="+long+"&z&a")).String(); got !=
		"http://a.test/x/index.html?a&z" {
		t.Errorf("all rules: %s", got)
	}
}

// TestRedirect: a page that redirects to another form of itself does not lose that form.
func TestRedirect(t *testing.T) {
	t.Parallel()
	r := rules(t, IndexFiles, TrailingSlash)
	for _, c := range []struct{ from, target, want string }{
		{"http://a.test/", "http://a.test/index.html", "http://a.test/index.html"},
		{"http://a.test/x", "http://a.test/x/", "http://a.test/x/"},
		{"http://a.test/x/", "http://a.test/x/index.html", "http://a.test/x/index.html"},
		{"http://a.test/y", "http://a.test/x/", "http://a.test/x"},
	} {
		if got := r.Redirect(parse(t, c.from), parse(t, c.target)).String(); got != c.want {
			t.Errorf("%s redirects to %s: %s, not %s", c.from, c.target, got, c.want)
		}
	}
}

func TestParseUnknown(t *testing.T) {
	t.Parallel()
	if _, err := Parse([]string{"sort"}); err == nil || !strings.Contains(err.Error(), "sort-query") {
		t.Errorf("an unknown rule: %v", err)
	}
}

// FuzzApply: the result is canonical, applying again changes nothing, and the host stays or
// loses its www.
func FuzzApply(f *testing.F) {
	for _, s := range []string{"http://www.a.test/x;jsessionid=1/index.html?b&a#f",
		"http://www.www.co.uk/(S(x))", "http://a.test/;sid=1//?&&", "http://a.test/b/.;jsessionid=1",
		"http://a.test/b/c/..;sid=1"} {
		f.Add(s, uint8(31))
	}
	names := Names()
	f.Fuzz(func(t *testing.T, raw string, chosen uint8) {
		u, err := urlnorm.Parse(raw)
		if err != nil {
			return
		}
		var some []string
		for i, name := range names {
			if chosen&(1<<i) != 0 {
				some = append(some, name)
			}
		}
		r := rules(t, some...)
		v := r.Apply(u)
		if w := r.Apply(v); w != v {
			t.Errorf("%v: %s becomes %s, and then %s", some, u, v, w)
		}
		if again := parse(t, v.String()); again != v {
			t.Errorf("%s is not canonical", v)
		}
		if !strings.HasSuffix(u.Host(), v.Host()) || len(v.String()) > len(u.String()) {
			t.Errorf("%s becomes %s", u, v)
		}
	})
}
