//race:none

package urlnorm

import (
	"errors"
	"testing"
)

// FuzzResolve compares the plain parser with the WHATWG parser, and checks the guarantees of URL on
// both.
func FuzzResolve(f *testing.F) {
	for _, ref := range []string{
		"", "#", "?", "/", "//", "x", "./x", "../x", "../../../x/", "..", "/x/../y", "/.x", "/%2e/x",
		"x%2Fy%zz", "/%e3%83%84?%aa",
		"http://example.org", "https://EXAMPLE.org:443/x?y#z", "http://a:80", "http:x", "https:x",
		"httpx", "//a.b:8080/c",
		"http://1.2.3.4/", "http://1.2.3/", "http://0x7f.1/", "http://[::1]/", "http://a.-1/",
		"http://xn--a/", "http://a--b.c/", "http://a..b/",
		"http://u:p@h/", "http:\\\\h\\x", "mailto:x", "a:b", "x y", "\tx\n", "é",
		"http://bücher.example/é?é#é", "/a[b]|^{}`'\"<>", "?a[b]|^{}`'\"<>",
		"http://a/b;c=d:e", "http://a_b.c/", "http://a.b./", "/\x00", "\xff\xfe", "/a?b?c#d?e",
	} {
		f.Add("http://example.org/a/b//c?d", ref)
		f.Add("https://127.0.0.1:8080/", ref)
	}
	f.Fuzz(func(t *testing.T, rawBase, ref string) {
		base, err := Parse(rawBase)
		if err != nil {
			checkClass(t, rawBase, err)
			base = URL{}
		} else {
			checkCanonical(t, base)
		}
		u, err := base.Resolve(ref)
		slow, slowErr := whatwgParse(base.s, ref)
		if u != slow || (err == nil) != (slowErr == nil) {
			t.Fatalf("%q against %v: plain %q, %v; whatwg %q, %v", ref, base, u, err, slow, slowErr)
		}
		var k Packer
		first, _ := k.Resolve(base, ref)
		second, _ := k.Resolve(base, ref)
		if first != u || second != u {
			t.Fatalf("%q against %v: a Packer makes %q and %q, want %q", ref, base, first, second, u)
		}
		if err != nil {
			checkClass(t, ref, err)
			return
		}
		checkCanonical(t, u)
	})
}

func checkClass(t *testing.T, raw string, err error) {
	t.Helper()
	n := 0
	for _, class := range []error{ErrInvalid, ErrScheme, ErrTooLong} {
		if errors.Is(err, class) {
			n++
		}
	}
	if n != 1 {
		t.Fatalf("%q: %v matches %d classes of error", raw, err, n)
	}
}

func checkCanonical(t *testing.T, u URL) {
	t.Helper()
	again, err := Parse(u.String())
	if err != nil || again != u {
		t.Fatalf("%q parsed again is %q, %v", u, again, err)
	}
	if stored, err := ParseStored(u.String()); err != nil || stored != u {
		t.Fatalf("%q stored is %q, %v", u, stored, err)
	}
	slow, err := whatwgParse("", u.String())
	if err != nil || slow != u {
		t.Fatalf("%q parsed again by the WHATWG parser is %q, %v", u, slow, err)
	}
	if len(u.String()) > MaxLen || u.Host() == "" || u.PathQuery()[0] != '/' ||
		u.Origin()+u.PathQuery() != u.String() {
		t.Fatalf("%q has wrong parts", u)
	}
	for i := 0; i < len(u.String()); i++ {
		if c := u.String()[i]; c <= ' ' || c >= 0x7f || c == '#' {
			t.Fatalf("%q has byte %#x", u, c)
		}
	}
}
