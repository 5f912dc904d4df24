package urlnorm

import (
	"strings"
	"testing"
)

func TestWithRoute(t *testing.T) {
	t.Parallel()
	base, err := Parse("http://example.org:8080/app/?a=1")
	if err != nil {
		t.Fatal(err)
	}
	for fragment, want := range map[string]string{
		"/guide": "/guide", "!guide": "!guide", "!/guide?x=1": "!/guide?x=1", "/a%2fb": "/a%2Fb",
		"/a b\"": "/a%20b%22", "/ü": "/%C3%BC", "/a#b": "/a#b", "/%": "/%",
		"": "", "/": "", "!": "", "!/": "", "top": "", "?x": "", "/" + strings.Repeat("a", MaxLen): "",
		"/" + strings.Repeat("ü", MaxLen/4): "",
	} {
		u := base.WithRoute(fragment)
		if u.Route() != want {
			t.Errorf("%.40q: %q, want %q", fragment, u.Route(), want)
		}
		if u.WithoutRoute() != base || u.PathQuery() != base.PathQuery() || u.Path() != base.Path() ||
			u.Query() != base.Query() || u.Origin() != base.Origin() || u.Host() != base.Host() ||
			(u == base) != (want == "") {
			t.Errorf("%.40q: the parts of %v", fragment, u)
		}
		if again := u.WithRoute(u.Route()); again != u {
			t.Errorf("%.40q: %v again is %v", fragment, u, again)
		}
		if stored, err := ParseStored(u.String()); err != nil || stored != u {
			t.Errorf("%.40q: stored as %q, read as %v, %v", fragment, u, stored, err)
		}
		if parsed, err := ParseRouted(u.String()); err != nil || parsed != u {
			t.Errorf("%.40q: parsed again is %v, %v", fragment, parsed, err)
		}
		for _, ref := range []string{"", "#x", "?y", "b", "/c", "//other/", "../ü", "%20"} {
			got, err := u.Resolve(ref)
			if want, wantErr := base.Resolve(ref); got != want || (err == nil) != (wantErr == nil) {
				t.Errorf("%q against %v is %v, want %v", ref, u, got, want)
			}
		}
	}
	if u, err := Parse("http://example.org/#/a"); err != nil || u.String() != "http://example.org/" {
		t.Errorf("%v, %v: Parse keeps no route", u, err)
	}
	if u := (URL{}).WithRoute("/a"); u != (URL{}) {
		t.Errorf("%v", u)
	}
	for _, form := range []string{"http://example.org/#", "http://example.org/#/",
		"http://example.org/#top", "http://example.org/#/a b", "http://example.org/#/%2f",
		"http://EXAMPLE.org/#/a"} {
		if u, err := ParseStored(form); err == nil {
			t.Errorf("%q was stored as %v", form, u)
		}
	}
}
