package pipeline

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha1"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"crawlnode/crawl"
	"crawlnode/web/fetcher"
	"crawlnode/web/robots"
	"crawlnode/web/scope"
)

func noRobots(v *crawl.Visit) { v.Robots = nil }

func TestRobotsFetch(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, header, body string
		status             int
		kind               crawl.Kind
		verdict            crawl.RobotsVerdict
		wait               time.Duration
	}{
		{name: "rules", status: 200, body: "user-agent: *\ndisallow: /p", kind: crawl.RobotsFetched, verdict: crawl.RobotsRules},
		{name: "none", status: 404, kind: crawl.RobotsFetched, verdict: crawl.RobotsAllowAll},
		{name: "forbidden", status: 403, kind: crawl.RobotsFetched, verdict: crawl.RobotsAllowAll},
		{name: "too many", status: 429, header: "Retry-After: 9", kind: crawl.HostFailed, wait: 9 * time.Second},
		{name: "server error", status: 500, kind: crawl.HostFailed},
		{name: "unavailable", status: 503, header: "Retry-After: 1", kind: crawl.HostFailed, wait: time.Second},
		{name: "other scheme", status: 302, header: "Location: ftp://b.test/robots.txt", kind: crawl.RobotsFetched, verdict: crawl.RobotsAllowAll},
		{name: "nowhere", status: 302, kind: crawl.RobotsFetched, verdict: crawl.RobotsAllowAll},
	} {
		b := newBench(t, scope.Options{})
		b.serve("http://a.test:8080/robots.txt", c.status, c.header, c.body)
		b.visit("http://a.test:8080/page", noRobots)
		r, o := b.one()
		if r.Kind != c.kind || o.Kind != c.kind || !r.Requested || r.RetryAfter != c.wait ||
			o.Status != c.status {
			t.Errorf("%s: response %+v, outcome %+v", c.name, r, o)
		}
		if !slices.Equal(b.log, []string{"fetch http://a.test:8080/robots.txt",
			"release " + c.kind.String(), "complete " + c.kind.String()}) {
			t.Errorf("%s: log %q", c.name, b.log)
		}
		if c.kind == crawl.HostFailed {
			if r.Robots != nil || o.Robots != nil || o.Reason == "" {
				t.Errorf("%s: %+v", c.name, o)
			}
			continue
		}
		e := r.Robots
		if e == nil || e != o.Robots || e.Origin != "http://a.test:8080" || e.Verdict != c.verdict ||
			e.Status != c.status ||
			e.Expires.Sub(e.Fetched) != 24*time.Hour || (len(e.Body) > 0) != (c.body != "") {
			t.Errorf("%s: entry %+v", c.name, e)
		}
	}
}

// TestRobotsUnreachable checks that every failure counts against the host.
func TestRobotsUnreachable(t *testing.T) {
	t.Parallel()
	for _, c := range []fetcher.Category{fetcher.Connect, fetcher.TLS, fetcher.Timeout,
		fetcher.Protocol, fetcher.Truncated} {
		b := newBench(t, scope.Options{})
		b.fail("http://a.test/robots.txt",
			&fetcher.Error{Category: c, Contacted: true, Err: errors.New("so it is")})
		b.visit("http://a.test/page", noRobots)
		if r, o := b.one(); r.Kind != crawl.HostFailed || o.Kind != crawl.HostFailed ||
			o.Category != categories[c] || len(b.asked) != 1 {
			t.Errorf("%v: %+v", c, o)
		}
	}
}

// TestRobotsBlocked: an origin at a forbidden port costs its URL and not the host, so that no page
// can make the node give up another host by links to it. The target of a robots.txt redirect says
// nothing about the origin: its rules stay unavailable.
func TestRobotsBlocked(t *testing.T) {
	t.Parallel()
	blocked := &fetcher.Error{
		Category: fetcher.BlockedAddress,
		Err:      fmt.Errorf("%w: 7070", fetcher.ErrPort),
	}
	b := newBench(t, scope.Options{})
	b.fail("http://a.test:7070/robots.txt", blocked)
	b.visit("http://a.test:7070/page", noRobots)
	if r, o := b.one(); r.Kind != crawl.Blocked || o.Kind != crawl.Blocked ||
		o.Category != crawl.ErrBlockedAddress || r.Requested || len(b.asked) != 1 {
		t.Errorf("%+v, %+v", r, o)
	}
	b = newBench(t, scope.Options{})
	b.serve("http://a.test/robots.txt", 301, "Location: http://a.test:7070/robots.txt", "")
	b.fail("http://a.test:7070/robots.txt", blocked)
	b.visit("http://a.test/page", noRobots)
	if r, o := b.one(); r.Kind != crawl.HostFailed || o.Kind != crawl.HostFailed || !r.Requested {
		t.Errorf("a redirect there: %+v, %+v", r, o)
	}
}

func TestExpiredRobotsAreFetchedAgain(t *testing.T) {
	t.Parallel()
	b := newBench(t, scope.Options{})
	b.visit("http://a.test/page", func(v *crawl.Visit) {
		v.Robots.Expires = time.Now()
		v.Item.ETag = `"page"`
	})
	if _, o := b.one(); o.Kind != crawl.RobotsFetched || b.asked[0].ETag != "" ||
		b.asked[0].MaxBody != maxRobotsBytes {
		t.Errorf("outcome %+v, request %+v", o, b.asked[0])
	}
}

// TestRobotsRedirects checks that redirects of robots.txt keep the host's gap.
func TestRobotsRedirects(t *testing.T) {
	for hops := range 8 {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t, scope.Options{})
			at := []time.Duration{}
			from := time.Now()
			for i := range hops + 1 {
				name := fmt.Sprintf("http://a.test/r%d", i)
				if i == 0 {
					name = "http://a.test/robots.txt"
				}
				b.web[name] = func(fetcher.Request) (*fetcher.Response, error) {
					at = append(at, time.Since(from))
					if i < hops {
						return answer(301,
							fmt.Sprintf("Location: https://a.test/../r%d\nContent-Type: text/plain", i+1), ""), nil
					}
					return answer(200, "", "user-agent: *\ndisallow: /"), nil
				}
				b.web[strings.Replace(name, "http:", "https:", 1)] = b.web[name]
			}
			b.visit("http://a.test/page", noRobots)
			_, o := b.one()
			want := crawl.RobotsRules
			if hops > maxRobotsHops {
				want = crawl.RobotsAllowAll
			}
			if o.Kind != crawl.RobotsFetched || o.Robots.Verdict != want ||
				o.Robots.Origin != "http://a.test" {
				t.Errorf("%d hops: %+v", hops, o.Robots)
			}
			if len(at) != min(hops, maxRobotsHops)+1 {
				t.Errorf("%d hops: %d requests", hops, len(at))
			}
			for i, d := range at {
				if d != time.Duration(i)*time.Second {
					t.Errorf("%d hops: request %d after %v", hops, i, d)
				}
			}
		})
	}
}

func TestSitemapsOfRobots(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		body, mode string
		status     int
		want       []string
	}{
		{"", "host", 404, []string{"http://a.test/sitemap.xml sitemap_file d0 h0 b1"}},
		{"user-agent: *\ndisallow:", "host", 200, []string{"http://a.test/sitemap.xml sitemap_file d0 h0 b1"}},
		{"Sitemap: http://a.test/s.xml\nsitemap: http://b.test/s.xml\nSitemap: http://a.test/s.xml\n" +
			"sitemap: ::",
			"host", 200,
			[]string{"http://a.test/s.xml sitemap_file d0 h0 b1"}},
		{"", "page", 404, nil},
	} {
		b := newBench(t, scope.Options{Mode: c.mode, MaxDepth: 1})
		b.serve("http://a.test/robots.txt", c.status, "", c.body)
		b.visit("http://a.test/", noRobots)
		_, o := b.one()
		wantTargets(t, o.Targets, c.want...)
	}
}

func TestCrawlDelayIsCapped(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]time.Duration{
		"2.5":   2500 * time.Millisecond,
		"86400": maxCrawlDelay,
		"x":     0,
	} {
		b := newBench(t, scope.Options{})
		b.serve("http://a.test/robots.txt", 200, "", "user-agent: *\ncrawl-delay: "+body)
		b.visit("http://a.test/", noRobots)
		if _, o := b.one(); o.Robots.CrawlDelay != want {
			t.Errorf("crawl-delay %s = %v, want %v", body, o.Robots.CrawlDelay, want)
		}
	}
}

// FuzzCompact checks that the compacted robots.txt decides as the whole file does.
func FuzzCompact(f *testing.F) {
	for _, s := range []string{
		"user-agent: *\ndisallow: /p # not here\n\n# all\nallow: /p/q\n",
		"\xef\xbb\xbfUser-Agent: crawlnode\rDisallow: /\r",
		"useragent: *\ndissallow /p\nSitemap: x\nuser agent: crawlnode\nallow: /p",
		"<html>\n<a href='/'>disallow: /p</a>",
		"user-agent: a\nuser-agent: crawlnode\nfoo: bar\n\ndisallow: /p$",
		"USER-AGENT: *\n\tdisallow\t:\t/p\ncrawl-delay: 3", "\xefUser-Agent: crawlnode\rDisallow: /\r",
		"\xef\xef\xbb\xbfUser-Agent: crawlnode\nDisallow: /",
	} {
		f.Add(s, "/p/q")
	}
	f.Fuzz(func(t *testing.T, body, path string) {
		short := compact([]byte(body))
		if len(short) > len(body)+1 {
			t.Fatalf("%q became longer: %q", body, short)
		}
		whole, kept := robots.Parse([]byte(body), crawl.DefaultAgent), robots.Parse(short,
			crawl.DefaultAgent)
		d1, ok1 := whole.CrawlDelay()
		d2, ok2 := kept.CrawlDelay()
		if whole.Allowed("/"+path) != kept.Allowed("/"+path) || d1 != d2 || ok1 != ok2 {
			t.Fatalf("%q decides otherwise than %q", short, body)
		}
	})
}

func TestParsedRulesAreBounded(t *testing.T) {
	t.Parallel()
	var c parsedRules
	first := &crawl.Robots{Origin: "http://first.test"}
	kept := c.of(first, crawl.DefaultAgent)
	for i := range 3*maxParsedRules + 10 {
		c.of(&crawl.Robots{Origin: fmt.Sprint(i)}, crawl.DefaultAgent)
		if i%100 == 0 && c.of(first, crawl.DefaultAgent) != kept {
			t.Fatal("rules in use were forgotten")
		}
	}
	if n := len(c.young) + len(c.old); n > 2*maxParsedRules {
		t.Errorf("%d rules kept", n)
	}
	// Large files: those in use are parsed again, and not all of them are kept.
	large := []byte("user-agent: *\n" + strings.Repeat("disallow: /*\n", 30_000))
	for i := range 60 {
		c.of(&crawl.Robots{Origin: fmt.Sprint("large", i), Body: large}, crawl.DefaultAgent)
	}
	sum := 0
	for _, generation := range []map[parsedKey]*parsedFile{c.young, c.old} {
		for _, r := range generation {
			sum += r.Size()
		}
	}
	if one := robots.Parse(large, crawl.DefaultAgent).Size(); sum > 2*(maxParsedBytes+one) ||
		sum < maxParsedBytes {
		t.Errorf("parsed rules of %d MiB are kept, %d a file", sum>>20, one)
	}
}

// TestRealServer makes trips with the real fetcher over loopback.
func TestRealServer(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/robots.txt":
			fmt.Fprint(w, "user-agent: crawlnode\ndisallow: /private\n")
		case "/":
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, `<a href="/a">a</a><a href="/private">b</a>`)
		case "/broken":
			w.Header().Set("Content-Length", "100")
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, `<a href="/a">`)
		default:
			http.Redirect(w, r, "file:///etc/passwd", http.StatusFound)
		}
	}))
	defer srv.Close()
	base := srv.URL
	b := newBench(t, scope.Options{Mode: "any"})
	b.rules.Settings.Archive = true
	f := fetcher.New(fetcher.Options{Allowed: netip.Addr.IsLoopback})
	defer f.Close()
	b.visit(base+"/", noRobots)
	if err := b.runWith(context.Background(), f); err != nil {
		t.Fatal(err)
	}
	known := func(v *crawl.Visit) { v.Robots = b.outcomes[0].Robots }
	for _, path := range []string{"/", "/a", "/private", "/broken"} {
		b.visit(base+path, known)
	}
	if err := b.runWith(context.Background(), f); err != nil {
		t.Fatal(err)
	}
	kinds := []crawl.Kind{}
	for _, o := range b.outcomes {
		kinds = append(kinds, o.Kind)
	}
	if want := []crawl.Kind{crawl.RobotsFetched, crawl.Fetched, crawl.Fetched, crawl.Refused,
		crawl.Fetched}; !slices.Equal(kinds, want) {
		t.Errorf("kinds %v, want %v", kinds, want)
	}
	if got := len(b.outcomes[1].Targets); got != 2 {
		t.Errorf("%d links on the page", got)
	}
	if o := b.outcomes[2]; o.Status != 302 || len(o.Targets) != 0 || o.Skipped[crawl.SkipScheme] != 1 {
		t.Errorf("redirect to a file: %+v", o)
	}
	if o := b.outcomes[4]; o.Truncated != "disconnect" || len(o.Targets) != 1 ||
		!strings.Contains(o.Reason, "ended the payload early") {
		t.Errorf("a broken page: %+v", o)
	}
	if len(b.captures) != 3 || b.captures[2].Truncated != "disconnect" ||
		!strings.HasPrefix(string(b.captures[0].RequestHead), "GET / HTTP/1.1\r\n") {
		t.Errorf("%d captures", len(b.captures))
	}
}

// TestBrokenRobots: a file that was cut or cannot be decoded never opens what it closed. What could
// be read of it is obeyed; without a rule in it the host counts as unreachable (RFC 9309, 2.3.1.4).
func TestBrokenRobots(t *testing.T) {
	t.Parallel()
	const rules = "user-agent: *\ndisallow: /private\n"
	zip := func(text string) string {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		io.WriteString(z, text)
		z.Close()
		return b.String()
	}
	var random strings.Builder // lines that do not compress, so that a cut leaves whole ones
	for i := range 2000 {
		sum := sha1.Sum([]byte{byte(i), byte(i >> 8)})
		fmt.Fprintf(&random, "disallow: /%x\n", sum)
	}
	long := zip(rules + random.String())
	for name, c := range map[string]struct {
		coding, payload string
		length          int // 0: that of the payload
		obeyed          bool
	}{
		"br over text":                {"br", rules, 0, true},
		"br over text, no line end":   {"br", "user-agent: *\ndisallow: /private", 0, true},
		"zstd over text":              {"zstd", rules, 0, true},
		"deflate over text":           {"deflate", rules, 0, true},
		"gzip over text":              {"gzip", rules, 0, true},
		"br over text without rules":  {"br", "<html>hello</html>", 0, false},
		"br over noise":               {"br", "\xff\xfe\x00\x01noise", 0, false},
		"gzip, cut":                   {"gzip", long[:len(long)/2], 0, true},
		"gzip, cut by the server":     {"gzip", long[:len(long)/2], len(long), true},
		"gzip, cut before a rule":     {"gzip", long[:12], 0, false},
		"gzip, cut, nothing readable": {"gzip", long[:12], len(long), false},
		"gzip, damaged":               {"gzip", long[:len(long)-8] + "12345678", 0, true},
		"bytes behind gzip":           {"gzip", zip(rules) + "abc", 0, true},
		"gzip, named once too few":    {"gzip", zip(zip(rules)), 0, true},
		"gzip under an unknown name":  {"x-pack", zip(rules), 0, true},
		"gzip without a name":         {"", zip(rules), 0, true},
		"gzip without a name, long":   {"", long, 0, true},
		"gzip without a name, cut":    {"", long[:len(long)/2], len(long), true},
		"the same, by the server":     {"", long[:len(long)/2], 0, true},
		"the same, before a rule":     {"", long[:12], 0, false},
		"gzip without a name, twice":  {"", zip(zip(rules)), 0, false},
		"gzip without a name, noise":  {"", zip("\x00\x01\x02"), 0, false},
		"gzip in name only":           {"", "\x1f\x8b\x08 no gzip", 0, false},
		"an unknown name over text":   {"x-pack", rules, 0, true},
		"six codings":                 {"gzip, gzip, gzip, gzip, gzip, gzip", zip(rules), 0, false},
		"text, cut":                   {"", rules + "disallow: /a", 999, true},
		"text, cut before a rule":     {"", "user-agent: *\ndisallow: /priv", 999, false},
		"text, whole":                 {"", "user-agent: *\ndisallow: /private", 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if c.coding != "" {
					w.Header().Set("Content-Encoding", c.coding)
				}
				w.Header().Set("Content-Length", strconv.Itoa(max(c.length, len(c.payload))))
				io.WriteString(w, c.payload)
			}))
			defer srv.Close()
			b := newBench(t, scope.Options{Mode: "any"})
			f := fetcher.New(fetcher.Options{Allowed: netip.Addr.IsLoopback})
			defer f.Close()
			b.visit(srv.URL+"/page", noRobots)
			if err := b.runWith(context.Background(), f); err != nil {
				t.Fatal(err)
			}
			o := b.outcomes[0]
			if !c.obeyed {
				if o.Kind != crawl.HostFailed || o.Robots != nil || !strings.Contains(o.Reason, "the file") ||
					o.Category == crawl.ErrOther {
					t.Errorf("%+v, want a host that is unreachable", o)
				}
				return
			}
			if o.Kind != crawl.RobotsFetched || o.Robots.Verdict != crawl.RobotsRules {
				t.Fatalf("%+v", o)
			}
			if robots.Parse(o.Robots.Body, crawl.DefaultAgent).Allowed(srv.URL + "/private") {
				t.Errorf("/private is open by %q", o.Robots.Body)
			}
		})
	}
}

// TestProxyFailsForRobots: a host whose proxies do not work waits for them, and nothing counts
// against it: neither for robots.txt nor for tdmrep.json, nor for another host's robots.txt.
func TestProxyFailsForRobots(t *testing.T) {
	t.Parallel()
	down := &fetcher.Error{
		Category:   fetcher.Proxy,
		RetryAfter: 10 * time.Second,
		Err:        errors.New("it is down"),
	}
	for name, change := range map[string]func(*crawl.Visit){
		"robots.txt":   noRobots,
		"another host": func(v *crawl.Visit) { v.Item.Via = crawl.ViaRobots },
		"a part":       func(v *crawl.Visit) { v.Item.Via = crawl.ViaPart },
	} {
		b := newBench(t, scope.Options{Mode: "any"})
		b.fail("http://a.test/robots.txt", down)
		b.visit("http://a.test/robots.txt", change)
		r, o := b.one()
		if r.Kind != crawl.Aborted || o.Kind != crawl.Aborted || o.Category != crawl.ErrProxy ||
			r.RetryAfter != 10*time.Second ||
			r.Requested || o.Robots != nil || !strings.HasPrefix(o.Reason, "proxy: ") {
			t.Errorf("%s: %+v, %+v", name, r, o)
		}
	}
}
