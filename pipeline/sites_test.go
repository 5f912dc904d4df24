package pipeline

import (
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"crawlnode/crawl"
	"crawlnode/settings/sites"
	"crawlnode/web/cookies"
	"crawlnode/web/fetcher"
	"crawlnode/web/scope"
)

// means has two secrets, a cookie file and an address.
type means struct{ lacked []string }

func (m *means) Secret(name string) (string, bool) {
	v, ok := map[string]string{
		"login": "user:pass word",
		"token": "T0KEN",
		"key":   "K3Y",
		"jar":   "cookies.txt",
	}[name]
	return v, ok
}

func (m *means) CookieFile(name string, host crawl.Host, _ time.Time) (cookies.Jar, bool) {
	return "file=" + cookies.Jar(host) + "; Path=/\nk=file; Path=/", name == "jar"
}

func (m *means) HasAddress(a netip.Addr) bool { return a == netip.MustParseAddr("127.0.0.2") }

func (m *means) Lacks(host crawl.Host, what string) {
	m.lacked = append(m.lacked, string(host)+" "+what)
}

// siteTable makes rules for sites, of which only some settings of the crawl count.
func siteTable(t *testing.T, base *crawl.Settings, text string) *sites.Table {
	t.Helper()
	f, problems := sites.Parse([]byte(text), sites.Checks{
		Suggest: func(string, []string) string { return "" },
		Setting: func(sites.Setting) error { return nil },
		Header:  func(string, string) error { return nil },
	})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return sites.NewTable(f, func(values []sites.Setting) (*crawl.Settings, *scope.Rules, error) {
		s := *base
		for _, v := range values {
			switch v.Field {
			case "user-agent":
				s.UserAgent = v.Texts[0]
			case "cookies":
				s.Cookies = v.Texts[0]
			case "timeout":
				s.Timeout, _ = time.ParseDuration(v.Texts[0])
			case "max-body":
				s.MaxBody = 77
			case "proxy":
				s.Proxies = v.Texts
			}
		}
		return &s, nil, nil
	})
}

// sentAs writes what rules for sites made of a request.
func sentAs(r *fetcher.Request) string {
	var parts []string
	for _, h := range r.Headers {
		secret := ""
		if h.Secret {
			secret = "!"
		}
		parts = append(parts, h.Name+secret+"="+h.Value)
	}
	for _, s := range []struct{ name, value string }{
		{"auth", r.Authorization}, {"cookie", r.Cookie}, {"ua", strings.TrimPrefix(r.UserAgent, "crawlnode/test")},
	} {
		if s.value != "" {
			parts = append(parts, s.name+"="+s.value)
		}
	}
	for _, p := range r.Proxies {
		parts = append(parts, "proxy="+p.String())
	}
	if r.Source.IsValid() {
		parts = append(parts, "from="+r.Source.String())
	}
	if r.Timeout != crawl.DefaultTimeout {
		parts = append(parts, "timeout="+r.Timeout.String())
	}
	return strings.Join(parts, " ")
}

// TestSitesOfRequests: each request has what the rules give to its own URL, and secrets stay with
// the hosts of their rule, over https unless it says otherwise.
func TestSitesOfRequests(t *testing.T) {
	t.Parallel()
	const rules = `
- match: domain:a.test
  headers: {Accept-Language: de, X-Key: secret:key}
  auth: {basic: secret:login}
- match: host:open.a.test
  auth: {bearer: secret:token}
  insecure: true
- match: host:jar.test
  cookies-file: secret:jar
  cookies: host
- match: prefix:https://b.test/docs/
  user-agent: Docs/1
  timeout: 5s
- match: host:via.test
  headers: {X-Key: secret:key}
  proxy: http://127.0.0.1:2
- match: host:far.test
  proxy: [socks5://127.0.0.1:1, http://secret:login@127.0.0.1:2]
  source-address: 127.0.0.2
`
	const basic = "auth=Basic dXNlcjpwYXNzIHdvcmQ="
	for _, c := range []struct {
		url, jar string
		inside   bool // the address is inside --allow-net
		want     string
		record   bool // any certificate will do
	}{
		{"https://a.test/", "", false, "Accept-Language=de X-Key!=K3Y " + basic, false},
		{"https://www.a.test/x", "", false, "Accept-Language=de X-Key!=K3Y " + basic, false},
		{"http://a.test/", "", false, "Accept-Language=de", false},
		{"http://a.test/", "", true, "Accept-Language=de X-Key!=K3Y " + basic, false},
		{"https://a.test.evil.test/", "", false, "", false},
		{"https://xa.test/", "", false, "", false},
		{"https://test/", "", false, "", false},
		{"http://open.a.test/", "", false, "Accept-Language=de auth=Bearer T0KEN", false},
		{"https://open.a.test/", "", false, "Accept-Language=de X-Key!=K3Y auth=Bearer T0KEN", false},
		{"https://jar.test/", "", false, "cookie=file=jar.test; k=file", false},
		{"https://jar.test/", "k=own; Path=/", false, "cookie=file=jar.test; k=own", false},
		{"http://jar.test/", "k=own; Path=/", false, "cookie=k=own", false},
		{"https://www.jar.test/", "", false, "", false},
		{"https://b.test/docs/1", "", false, "ua=Docs/1 timeout=5s", false},
		{"https://b.test/", "", false, "", false},
		{"https://a.test/", "", false, "Accept-Language=de", true},
		{"https://open.a.test/", "", false, "Accept-Language=de auth=Bearer T0KEN", true},
		{"https://jar.test/", "k=own; Path=/", false, "cookie=k=own", true},
		{"https://a.test/", "", true, "Accept-Language=de X-Key!=K3Y " + basic, true},
		{"http://via.test/", "", true, "proxy=http://127.0.0.1:2", false},
		{"https://via.test/", "", false, "X-Key!=K3Y proxy=http://127.0.0.1:2", false},
		{"https://far.test/", "", false, "proxy=socks5://127.0.0.1:1 proxy=http://secret:login@127.0.0.1:2 from=127.0.0.2", false},
	} {
		b := newBench(t, scope.Options{Mode: scope.Any})
		if c.inside {
			b.rules.Settings.AllowNet = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
		}
		b.rules.Settings.TLSRecord = c.record
		b.rules.Sites = siteTable(t, &b.rules.Settings, rules)
		b.means = &means{}
		b.jars = jars{crawl.Host(url(t, c.url).Host()): c.jar}
		b.serve(c.url, 200, "", "x")
		b.visit(c.url)
		_, o := b.one()
		if got := sentAs(&b.asked[0]); got != c.want || o.Kind != crawl.Fetched {
			t.Errorf("%s (inside: %v): %v, sent %q, want %q", c.url, c.inside, o.Kind, got, c.want)
		}
	}
}

// TestSitesOfRobots: the file of a host is asked for with what its rules say, and its redirect on
// the same host, too.
func TestSitesOfRobots(t *testing.T) {
	t.Parallel()
	b := newBench(t, scope.Options{Mode: scope.Any})
	b.rules.Sites = siteTable(t, &b.rules.Settings, `
- match: host:a.test
  headers: {X-A: 1}
  auth: {bearer: secret:token}
- match: prefix:https://a.test/page
  headers: {X-Page: 1}
`)
	b.means = &means{}
	b.serve("https://a.test/robots.txt", 200, "Content-Type: text/plain",
		"User-agent: *\nDisallow: /x\n")
	b.visit("https://a.test/page", noRobots)
	b.one()
	if got, want := sentAs(&b.asked[0]), "X-A=1 auth=Bearer T0KEN"; got != want {
		t.Errorf("robots.txt: sent %q, want %q", got, want)
	}
}

// TestSitesLack: without a secret or an address nothing is asked for, robots.txt neither, and the
// URL stays queued.
func TestSitesLack(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ rule, want string }{
		{"auth: {basic: secret:other}", "secret:other"},
		{"cookies-file: secret:nojar", "secret:nojar"},
		{"headers: {X-Key: secret:none}", "secret:none"},
		{"proxy: http://secret:proxy@127.0.0.1:1", "secret:proxy"},
		{"source-address: 192.0.2.1", "192.0.2.1"},
		{"proxy: quic://127.0.0.1:1", WorkingProxy},
		{"proxy: [http://127.0.0.1:1, 'http://a b']", WorkingProxy},
	} {
		for _, robots := range []bool{true, false} {
			b := newBench(t, scope.Options{Mode: scope.Any})
			b.rules.Sites = siteTable(t, &b.rules.Settings, "- match: host:a.test\n  "+c.rule)
			m := &means{}
			b.means = m
			if b.visit("https://a.test/"); robots {
				noRobots(&b.visits[0])
			}
			r, o := b.one()
			if len(b.asked) > 0 || r.RetryAfter < time.Second || o.Kind != crawl.Aborted ||
				!strings.Contains(o.Reason, c.want) || !slices.Equal(m.lacked, []string{"a.test " + c.want}) {
				t.Errorf("%s: %d requests, pause %v, %v %q, lacks %q", c.rule, len(b.asked), r.RetryAfter,
					o.Kind, o.Reason, m.lacked)
			}
		}
	}
}

// TestSitesProxyFails: a host whose proxies do not work waits, and the node says what for.
func TestSitesProxyFails(t *testing.T) {
	t.Parallel()
	for _, robots := range []bool{true, false} {
		b := newBench(t, scope.Options{Mode: scope.Any})
		b.rules.Sites = siteTable(t, &b.rules.Settings,
			"- match: host:a.test\n  proxy: http://127.0.0.1:1")
		m := &means{}
		b.means = m
		down := &fetcher.Error{
			Category:   fetcher.Proxy,
			RetryAfter: 10 * time.Second,
			Err:        errors.New("it is down"),
		}
		b.fail("https://a.test/", down)
		b.fail("https://a.test/robots.txt", down)
		if b.visit("https://a.test/"); robots {
			noRobots(&b.visits[0])
		}
		r, o := b.one()
		if o.Kind != crawl.Aborted || r.RetryAfter != 10*time.Second ||
			!slices.Equal(m.lacked, []string{"a.test " + WorkingProxy}) {
			t.Errorf("%v, pause %v, lacks %q", o.Kind, r.RetryAfter, m.lacked)
		}
	}
}
