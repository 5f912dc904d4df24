package archive

import (
	"strings"
	"testing"
)

// TestKey: the keys are those of surt.surt of the Python package surt, with which pywb makes and
// looks up its indexes; this list was put through its rules.
func TestKey(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"": "-",
		"http://a.example/?url=https%3A%2F%2Fa.example%2F": "example,a)/?url=https://a.example/",
		"http://a.example//x//y/":                          "example,a)/x/y",
		"http://example.org/":                              "org,example)/",
		"https://www.Example.org/A/?z=1&a=2":               "org,example)/a?a=2&z=1",
		"http://www2.a.b.test:8080/x/y/":                   "test,b,a:8080)/x/y",
		"http://192.0.2.1:81/":                             "1,2,0,192:81)/",
		"http://[2001:db8::1]:81/p":                        "2001:db8::1:81)/p",
		"http://[::ffff:102:304]/":                         "::ffff:102:304)/",
		"http://wwwhat.test/?":                             "test,wwwhat)/",
		"http://www1what.test/":                            "test,www1what)/",
		"http://www.test/":                                 "test)/",
		"http://www.www2.test/":                            "test,www2)/",
		"http://localhost?x":                               "localhost)/?x",
		"http://a.test/CASE":                               "test,a)/case",
		"http://a.test/?b=2&a=1":                           "test,a)/?a=1&b=2",
		"http://a.test/?a&a=&a=1&a!=1":                     "test,a)/?a&a=&a=1&a!=1",
		"http://a.test/?a=b&a=a":                           "test,a)/?a=a&a=b",
		"http://a.test/?&&":                                "test,a)/?&&",
		"http://a.test/?&":                                 "test,a)/?&",
		"http://a.test/?b&a":                               "test,a)/?a&b",
		"http://a.test/?B=X&a=Y":                           "test,a)/?a=y&b=x",
		"http://a.test/p?q#f":                              "test,a)/p?q",
		"http://a.test/a/./b/../c":                         "test,a)/a/c",
		"http://a.test/../x":                               "test,a)/../x",
		"http://a.test/a/..":                               "test,a)/",
		"http://a.test/%2e%2e/x":                           "test,a)/../x",
		"http://a.test/a%2Fb%3Fc%23d":                      "test,a)/a/b?c%23d",
		"http://a.test/%2525252541":                        "test,a)/a",
		"http://a.test/%%35%31":                            "test,a)/q",
		"http://a.test/100%":                               "test,a)/100%25",
		"http://a.test/%zz%7E%7f":                          "test,a)/%25zz~%7f",
		"http://a.test/a%20b+c":                            "test,a)/a%20b+c",
		"http://a.test/%C3%BC?%C3%9C=1":                    "test,a)/%c3%bc?%c3%9c=1",
		"http://a.test/ü":                                  "test,a)/%c3%bc",
		"http://a.test/?a=1%26b=0":                         "test,a)/?a=1&b=0",
		"http://a.test/?q=%23x":                            "test,a)/?q=%23x",
		"http://a.test:80/":                                "test,a)/",
		"https://a.test:443/":                              "test,a)/",
		"https://a.test:80/":                               "test,a:80)/",
		"http://a.test:443/":                               "test,a:443)/",
		"http://user:pw@a.test/":                           "test,a)/",
		"http://a.test./":                                  "test,a)/",
		"http://a..test/":                                  "test,a)/",
		"http://bücher.example/":                           "example,xn--bcher-kva)/",
		"http://xn--bcher-kva.example/":                    "example,xn--bcher-kva)/",
		"http://B%C3%BCcher.example/":                      "example,xn--bcher-kva)/",
		"http://a.test/index.php?PHPSESSID=0123456789abcdefghijklemopqrstuv&action=profile;u=4221": "test,a)/index.php?action=profile;u=4221",
		"http://a.test/?x=1&jsessionid=0123456789abcdefghijklemopqrstuv":                           "test,a)/?&x=1",
		"http://a.test/?jsessionid=0123456789abcdefghijklemopqrstuv0":                              "test,a)/?jsessionid=0123456789abcdefghijklemopqrstuv0",
		"http://a.test/?sid=9682993c8daa2c5497996114facdc805&x=y":                                  "test,a)/?x=y",
		"http://a.test/?ASPSESSIONIDABCDEFGH=ABCDEFGHIJKLMNOPQRSTUVWX&x=y":                         "test,a)/?x=y",
		"http://a.test/?CFID=1169580&CFTOKEN=48630702&dt=19":                                       "test,a)/?dt=19",
		"http://a.test/(S(4hqa0555fwsecu455xqckv45))/mileg.aspx":                                   "test,a)/mileg.aspx",
		"http://a.test/x/(4hqa0555fwsecu455xqckv45)/Mileg.aspx?a=b":                                "test,a)/x/mileg.aspx?a=b",
		"http://a.test/photos/36050182@N05/":                                                       "test,a)/photos/36050182@n05",
		`http://a.test/a|b\c`:                                                                      `test,a)/a|b\c`,
		`http://a.test/?x=a|b"c`:                                                                   `test,a)/?x=a|b"c`,
		"http://3279880203/blah":                                                                   "11,0,127,195)/blah",
		"http://017.0.0.1/":                                                                        "1,0,0,15)/",
		"http://10.0.258/":                                                                         "2,1,0,10)/",
		"http://1.2.3.256/":                                                                        "256,3,2,1)/",
		"http://http://b.test/":                                                                    "test,b)/",
		"http:////c.test/x":                                                                        "test,c)/x",
		"ftp://www.a.test/x":                                                                       "test,a)/x",
		"whois://whois.isoc.org.il/shaveh.co.il":                                                   "il,org,isoc,whois)/shaveh.co.il",
		"dns:a.test":                                                                               "dns:a.test",
		"urn:view:http://a.test/X":                                                                 "urn:view:http://a.test/X",
		"mailto:foo@example.com":                                                                   "mailto:foo@example.com",
		"filedesc:foo.arc.gz":                                                                      "filedesc:foo.arc.gz",
		"warcinfo:foo.warc.gz":                                                                     "warcinfo:foo.warc.gz",
	} {
		if got := Key(url); got != want {
			t.Errorf("Key(%s) = %s, want %s", url, got, want)
		}
	}
	long := "http://a.test/" + strings.Repeat("%25", 30_000) + "41"
	if got := Key(long); got != "test,a)/a" && !strings.HasPrefix(got, "test,a)/%25%25") {
		t.Errorf("%.100s", got)
	}
}

// FuzzKey: a key is one word in visible ASCII when its URL has a host, and neither user, fragment,
// case nor one more level of escapes changes it.
func FuzzKey(f *testing.F) {
	for _, seed := range []string{
		"http://a.test/A?b=%41&a", "http://u@[::1]:81//x/..?sid=", "urn:view:http://x/",
		"http://\xff%C3/%",
		"http://010.1/?&&", "a.test:80/x",
		"http://a.test/(s(4hqa0555fwsecu455xqckv45))/x.aspx?cfid=1&cftoken=2",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, url string) {
		key := Key(url)
		if key == "" || strings.Contains(key, " ") {
			t.Fatalf("%q has the key %q", url, key)
		}
		if _, ok := surt(url); !ok {
			return
		}
		if !strings.Contains(key, ")/") {
			t.Errorf("%q has the key %q", url, key)
		}
		for i := range len(key) {
			if c := key[i]; c <= ' ' || c >= 0x7f || c >= 'A' && c <= 'Z' {
				t.Fatalf("%q has the key %q", url, key)
			}
		}
		_, _, _, path, _ := split(url)
		again := "http://h.test" + path
		if !strings.HasPrefix(path, "/") || strings.ContainsAny(again, "\n\r\t #?\v\f") {
			return
		}
		one, deeper := Key(again), Key(strings.ReplaceAll(again, "%", "%25"))
		if one != deeper {
			t.Errorf("%q: %q, %q", again, one, deeper)
		}
		if got := Key("http://u:p@www.h.test:80" + path + "#frag"); got != one {
			t.Errorf("%q: %q, not %q", again, got, one)
		}
	})
}
