package wacz

import "testing"

// TestKey: the keys are those of getSurt of the npm package warcio 2.4.11; TestViewerFindsPages
// asks the viewer itself.
func TestKey(t *testing.T) {
	for url, want := range map[string]string{
		"http://example.org/":                      "org,example)/",
		"http://example.org/A/":                    "org,example)/a/",
		"https://www.example.org:8080/A?B=1&a=2":   "org,example:8080)/a?a=2&b=1",
		"http://www12.example.org/x?":              "org,example)/x",
		"http://wwwhat.test/%7E%2F":                "test,wwwhat)/%7e%2f",
		"http://a.test//x//y":                      "test,a)//x//y",
		"http://a.test/?u=https%3A%2F%2Fx.test%2F": "test,a)/?u=https%3a%2f%2fx.test%2f",
		"http://127.0.0.1:81/X/":                   "1,0,0,127:81)/x/",
		"http://[2001:db8::1]:81/p":                "[2001:db8::1]:81)/p",
		"http://[2001:db8::1]/p":                   "[2001:db8::1])/p",
		"http://a.test/?a!=1&a=&&":                 "test,a)/?&&a!=1&a=",
		"http://a.test/p#!/x":                      "test,a)/p",
		"urn:view:http://a.test/X y":               "urn:view:http://a.test/X%20y",
	} {
		if got := Key(url); got != want {
			t.Errorf("Key(%s) = %s, want %s", url, got, want)
		}
	}
}
