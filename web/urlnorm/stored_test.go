package urlnorm

import (
	"errors"
	"testing"
)

func TestParseStored(t *testing.T) {
	t.Parallel()
	for _, form := range []string{
		"http://example.org/a?b^c",
		"http://example.org/a^b?c^d",
		"https://example.org:8443/^",
		"http://xn--/a^b",
		"http://www.xn--a-.example:81/x",
		"http://xn--0.xn--bcher-kva.example/",
	} {
		u, err := ParseStored(form)
		if err != nil || u.String() != form || u.Scheme()+"://"+u.s[u.hostStart:] != form ||
			u.Origin()+u.PathQuery() != form {
			t.Errorf("%q: %q, host %q, path %q, %v", form, u, u.Host(), u.PathQuery(), err)
		}
	}
	for _, form := range []string{
		"", "http://example.org", "http://EXAMPLE.org/", "http://example.org/a b",
		"http://example.org/a/../^",
		"http://example.org:80/^", "http://u@example.org/^", "http://xn--a/", "http://xn--zn7c.com/",
		"mailto:a^b", "http://example.org/^#x",
		"http://a.xn--/%zz/%5e^",
	} {
		if u, err := ParseStored(form); err == nil ||
			!errors.Is(err, ErrInvalid) && !errors.Is(err, ErrScheme) {
			t.Errorf("%q: %q, %v", form, u, err)
		}
	}
}

// TestResolveAgainstStored checks that URLs resolved against an earlier form are canonical.
func TestResolveAgainstStored(t *testing.T) {
	t.Parallel()
	base, err := ParseStored("http://example.org/a^b/c?d^e")
	if err != nil {
		t.Fatal(err)
	}
	for ref, want := range map[string]string{
		"x":       "http://example.org/a%5Eb/x",
		"./x/y":   "http://example.org/a%5Eb/x/y",
		"../x":    "http://example.org/x",
		"?q":      "http://example.org/a%5Eb/c?q",
		"/y^":     "http://example.org/y%5E",
		"z^":      "http://example.org/a%5Eb/z%5E",
		"//h.i/^": "http://h.i/%5E",
		"":        base.String(), // the page itself
	} {
		if u, err := base.Resolve(ref); err != nil || u.String() != want {
			t.Errorf("%q: %q, %v, want %q", ref, u, err, want)
		}
	}
}
