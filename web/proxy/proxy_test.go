package proxy

import (
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text string
		want Proxy
		form string // of String, when it is not the text
	}{
		{"http://127.0.0.1:3128", Proxy{HTTP, "127.0.0.1", 3128, ""}, ""},
		{"https://proxy.example:443", Proxy{HTTPS, "proxy.example", 443, ""}, ""},
		{"socks5://[::1]:1080", Proxy{SOCKS5, "::1", 1080, ""}, ""},
		{"socks5://secret:a.B-c_1@proxy:1", Proxy{SOCKS5, "proxy", 1, "a.B-c_1"}, ""},
		{"HTTP://Proxy.EXAMPLE", Proxy{HTTP, "proxy.example", 80, ""}, "http://proxy.example:80"},
		{"https://proxy.example", Proxy{HTTPS, "proxy.example", 443, ""}, "https://proxy.example:443"},
		{"socks5://a_b", Proxy{SOCKS5, "a_b", 1080, ""}, "socks5://a_b:1080"},
		{"http://[0:0::1]:8080", Proxy{HTTP, "::1", 8080, ""}, "http://[::1]:8080"},
		{"http://[::1]", Proxy{HTTP, "::1", 80, ""}, "http://[::1]:80"},
		{"http://1.example:65535", Proxy{HTTP, "1.example", 65535, ""}, ""},
	} {
		got, err := Parse(c.text)
		if err != nil || got != c.want {
			t.Errorf("%q: %+v, %v; want %+v", c.text, got, err, c.want)
			continue
		}
		want := c.form
		if want == "" {
			want = c.text
		}
		if again, err := Parse(got.String()); got.String() != want || again != got || err != nil {
			t.Errorf("%q: written as %q, which reads as %+v, %v", c.text, got, again, err)
		}
	}
	if text := (Proxy{}).String(); text != "" || !(Proxy{}).IsZero() {
		t.Errorf("no proxy is written as %q", text)
	}
}

// TestParseErrors: each error says what helps, and none quotes what may be a password.
func TestParseErrors(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                                  "write it like",
		"127.0.0.1:3128":                    "write it like",
		"http://":                           "write it like",
		"http://:80":                        "write it like",
		"http:/a":                           "write it like",
		"ftp://a":                           "scheme",
		"socks4://a":                        "scheme",
		"://a":                              "scheme",
		"socks5h://a:1080":                  "names are resolved here",
		"http://me:hunter2@a":               "NAME=user:password into the file of --secrets",
		"http://hunter2@a":                  "--secrets",
		"http://hunter2:@a":                 "--secrets",
		"http://@a":                         "--secrets",
		"http://secret:@a":                  "--secrets",
		"http://secret:hunter2:x@a":         "--secrets",
		"http://secret:a/hunter2@a":         "--secrets",
		"http://secret:a\x11@a":             "--secrets",
		"http://secret:a@hunter2@a":         "--secrets",
		"me:hunter2@a:80":                   "--secrets",
		"me:hunter2@a://b":                  "--secrets",
		"http://a/hunter2":                  "path",
		"http://a:80/":                      "path",
		"http://a?hunter2":                  "path",
		"http://a#hunter2":                  "path",
		"http://a:hunter2":                  "port",
		"http://a:0":                        "port",
		"http://a:65536":                    "port",
		"http://a:+80":                      "port",
		"http://a:":                         "port",
		"http://[::1]:":                     "port",
		"http://[::1]80":                    "port",
		"http://a:80:80":                    "port",
		"http://::1":                        "write it like",
		"http://[::1":                       "host",
		"http://[127.0.0.1]:80":             "host",
		"http://[fe80::1%eth0]:80":          "host",
		"http://bücher.example":             "host",
		"http://a b":                        "host",
		"http://a\r\nb":                     "host",
		"http://a..b":                       "host",
		"http://.":                          "host",
		"http://127.1":                      "host",
		"http://1.2.3.4.5":                  "host",
		"http://256.1.1.1":                  "host",
		"http://" + strings.Repeat("a", 64): "host",
		"http://" + strings.Repeat("a.", 127) + "b":        "host",
		"http://secret:" + strings.Repeat("a", 129) + "@b": "--secrets",
	} {
		p, err := Parse(text)
		if err == nil || !strings.Contains(err.Error(), want) || !p.IsZero() ||
			strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: %+v, %v; want an error with %q", text, p, err, want)
		}
	}
}

// FuzzParse: what is read is written as it is read, and the text of an error is one of few.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"", "http://127.0.0.1:3128", "socks5://secret:a@[::1]:1", "https://a.b", "http://a:b@c/d?e#f",
		"socks5h://a",
	} {
		f.Add(s)
	}
	known := map[error]bool{
		errForm: true, errPassword: true, errSOCKS5H: true, errScheme: true, errMore: true,
		errHost: true, errPort: true,
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := Parse(text)
		if err != nil {
			if !known[err] {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		if again, err := Parse(p.String()); again != p || err != nil {
			t.Fatalf("%q is %+v, written as %q, which is %+v, %v", text, p, p, again, err)
		}
	})
}
