package pipeline

import (
	"errors"
	"strings"
	"testing"

	"crawlnode/crawl"
	"crawlnode/web/cookies"
	"crawlnode/web/scope"
)

// TestCookiesOfRedirects: cookies go with a page's redirects on its own host, and a redirect to
// the page itself is followed when they change the request.
func TestCookiesOfRedirects(t *testing.T) {
	t.Parallel()
	const page = "http://a.test/p"
	for name, tc := range map[string]struct {
		mode    string
		had     string // cookies of the item
		hops    int
		header  string
		sent    string // the Cookie header of the request
		target  string // "": none
		carries string // cookies of the target
		reason  string
	}{
		"to itself, with a cookie": {
			header:  "Location: /p\nSet-Cookie: k=1; Path=/",
			target:  page,
			carries: "k=1; Path=/",
		},
		"to itself, cookies off": {
			mode:   crawl.CookiesOff,
			header: "Location: /p\nSet-Cookie: k=1",
			reason: crawl.RecordRedirectsToItself,
		},
		"to itself, without": {header: "Location: /p", reason: crawl.RecordRedirectsToItself},
		"to itself, the same once more": {
			had:    "k=1; Path=/",
			sent:   "k=1",
			header: "Location: /p\nSet-Cookie: k=1; Path=/",
			reason: crawl.RecordRedirectsToItself,
		},
		"to itself, another value": {
			had:     "k=1; Path=/",
			sent:    "k=1",
			header:  "Location: /p\nSet-Cookie: k=2; Path=/",
			target:  page,
			carries: "k=2; Path=/",
		},
		"to itself, a cookie of no path": {
			header: "Location: /p\nSet-Cookie: k=1; Path=/other",
			reason: crawl.RecordRedirectsToItself,
		},
		"to itself, for ever": {
			hops:   maxHops,
			header: "Location: /p\nSet-Cookie: k=1; Path=/",
			reason: crawl.RecordRedirectsToItself,
		},
		"elsewhere on the host": {
			header:  "Location: /q\nSet-Cookie: k=1; Path=/",
			target:  "http://a.test/q",
			carries: "k=1; Path=/",
		},
		"two of them": {
			had:     "k=1; Path=/",
			sent:    "k=1",
			header:  "Location: /q\nSet-Cookie: l=2; Path=/",
			target:  "http://a.test/q",
			carries: "k=1; Path=/\nl=2; Path=/",
		},
		"elsewhere, cookies off": {
			mode:   crawl.CookiesOff,
			header: "Location: /q\nSet-Cookie: k=1",
			target: "http://a.test/q",
		},
		"another host": {
			header: "Location: http://b.test/\nSet-Cookie: k=1; Domain=test",
			target: "http://b.test/",
		},
		"a host below": {
			had:    "k=1; Path=/",
			sent:   "k=1",
			header: "Location: http://www.a.test/\nSet-Cookie: l=1; Domain=a.test",
			target: "http://www.a.test/",
		},
	} {
		b := newBench(t, scope.Options{Mode: scope.Any})
		b.rules.Settings.Cookies = tc.mode
		b.serve(page, 302, tc.header, "")
		b.visit(page, func(v *crawl.Visit) {
			if v.Item.Hops = tc.hops; tc.had != "" {
				v.Item.Cookies = joinTrip(0, cookies.Jar(tc.had))
			}
		})
		_, o := b.one()
		if got := b.asked[0].Cookie; got != tc.sent {
			t.Errorf("%s: sent %q, want %q", name, got, tc.sent)
		}
		if !strings.Contains(o.Reason, tc.reason) || tc.reason == "" && o.Reason != "" {
			t.Errorf("%s: reason %q, want %q", name, o.Reason, tc.reason)
		}
		var target, carries string
		if len(o.Targets) > 0 {
			target = o.Targets[0].URL.String()
			_, jar := splitTrip(o.Targets[0].Cookies)
			carries = string(jar)
		}
		if target != tc.target || carries != tc.carries {
			t.Errorf("%s: leads to %q with %q, want %q with %q", name, target, carries, tc.target,
				tc.carries)
		}
	}
}

// jars are those of hosts.
type jars map[crawl.Host]string

func (j jars) HostCookies(_ crawl.Partition, host crawl.Host) (string, error) {
	if jar, ok := j[host]; ok {
		return jar, nil
	}
	return "", errors.New("not held")
}

// TestHostJar: with a jar for each host, every request to a host has its cookies, robots.txt
// included, and an answer of whatever status changes it. A jar that cannot be read costs the
// cookies, not the request.
func TestHostJar(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		jar, header string
		status      int
		sent        string
		left        string // the jar that the outcome has; "-": none
	}{
		"first": {header: "Set-Cookie: k=1; Path=/", status: 200, left: "k=1; Path=/"},
		"sent":  {jar: "k=1; Path=/", status: 200, sent: "k=1", left: "-"},
		"the same": {
			jar:    "k=1; Path=/",
			header: "Set-Cookie: k=1; Path=/",
			status: 200,
			sent:   "k=1",
			left:   "-",
		},
		"more": {
			jar:    "k=1; Path=/",
			header: "Set-Cookie: l=2; Path=/",
			status: 404,
			sent:   "k=1",
			left:   "k=1; Path=/\nl=2; Path=/",
		},
		"deleted": {
			jar:    "k=1; Path=/",
			header: "Set-Cookie: k=; Path=/; Max-Age=0",
			status: 200,
			sent:   "k=1",
			left:   "",
		},
		"other dir": {jar: "k=1; Path=/d", status: 200, left: "-"},
	} {
		b := newBench(t, scope.Options{})
		b.rules.Settings.Cookies = crawl.CookiesHost
		b.jars = jars{"a.test": tc.jar}
		b.serve("http://a.test/p", tc.status, tc.header, "x")
		b.visit("http://a.test/p")
		_, o := b.one()
		left := "-"
		if o.HostCookies != nil {
			left = *o.HostCookies
		}
		if b.asked[0].Cookie != tc.sent || left != tc.left {
			t.Errorf("%s: sent %q, left %q; want %q and %q", name, b.asked[0].Cookie, left, tc.sent, tc.left)
		}
	}
	b := newBench(t, scope.Options{})
	b.rules.Settings.Cookies = crawl.CookiesHost
	b.jars = jars{"a.test": "k=1; Path=/"}
	b.serve("http://a.test/robots.txt", 404, "", "")
	b.visit("http://a.test/p", noRobots)
	if b.one(); b.asked[0].Cookie != "k=1" {
		t.Errorf("robots.txt was asked for with %q", b.asked[0].Cookie)
	}
	b = newBench(t, scope.Options{})
	b.rules.Settings.Cookies = crawl.CookiesHost
	b.jars = jars{}
	b.serve("http://a.test/p", 200, "", "x")
	b.visit("http://a.test/p")
	if _, o := b.one(); o.Kind != crawl.Fetched {
		t.Errorf("without a jar: %+v", o)
	}
}
