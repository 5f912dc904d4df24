package pipeline

import (
	"context"
	"crypto/sha1"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"crawlnode/crawl"
	"crawlnode/web/fetcher"
	"crawlnode/web/scope"
)

// TestOrder checks the package's guarantee: the host is released before the page is parsed and
// stored, and the page is stored before it is done.
func TestOrder(t *testing.T) {
	t.Parallel()
	b := newBench(t, scope.Options{})
	b.rules.Settings.Archive = true
	b.serve("http://a.test/", 200, "ETag: \"1\"\nLast-Modified: "+then, `<a href="/x">`)
	b.visit("http://a.test/")
	r, o := b.one()
	want := []string{"fetch http://a.test/", "release fetched", "archive http://a.test/",
		"complete fetched"}
	if !slices.Equal(b.log, want) {
		t.Errorf("order %q, want %q", b.log, want)
	}
	if !r.Requested || r.Took != 10*time.Millisecond {
		t.Errorf("response %+v", r)
	}
	if o.Status != 200 || o.ContentType != "text/html" || o.Archive.File != "f" || o.ETag != `"1"` ||
		o.LastMod != then ||
		o.Bytes != 13 || o.Digest != sha1.Sum([]byte(`<a href="/x">`)) || o.IsSitemap ||
		o.LinksFound != 1 || o.FetchedAt.IsZero() {
		t.Errorf("outcome %+v", o)
	}
	wantTargets(t, o.Targets, "http://a.test/x link d1 h0 b1")
	c := b.captures[0]
	if c.Status != 200 || string(c.Body) != `<a href="/x">` || string(c.RequestHead) != "GET" ||
		string(c.ResponseHead) != "HTTP" ||
		c.Digest != o.Digest || c.Truncated != "" || c.Addr != netip.MustParseAddr("127.0.0.1") ||
		c.ContentType != "text/html" {
		t.Errorf("capture %+v", c)
	}
}

func TestKinds(t *testing.T) {
	t.Parallel()
	failed := func(c fetcher.Category) error {
		return &fetcher.Error{
			Category:  c,
			Contacted: c != fetcher.BlockedAddress,
			Err:       errors.New("so it is"),
		}
	}
	for _, c := range []struct {
		name     string
		status   int
		header   string
		err      error
		kind     crawl.Kind
		category crawl.ErrCategory
		wait     time.Duration
		idle     bool // no request was started
	}{
		{name: "found", status: 200},
		{name: "missing", status: 404},
		{name: "server error", status: 500},
		{name: "not modified", status: 304},
		{name: "too many", status: 429, header: "Retry-After: 7", kind: crawl.RateLimited, wait: 7 * time.Second},
		{name: "unavailable", status: 503, kind: crawl.RateLimited},
		{name: "a page that asks to be left alone", status: 200, header: "Retry-After: 99999999999", kind: crawl.Fetched},
		{name: "connect", err: failed(fetcher.Connect), kind: crawl.HostFailed, category: crawl.ErrConnect},
		{name: "tls", err: failed(fetcher.TLS), kind: crawl.HostFailed, category: crawl.ErrTLS},
		{name: "blocked", err: failed(fetcher.BlockedAddress), kind: crawl.HostFailed, category: crawl.ErrBlockedAddress, idle: true},
		{name: "blocked port", err: &fetcher.Error{
			Category: fetcher.BlockedAddress,
			Err:      fmt.Errorf("%w: 22", fetcher.ErrPort),
		}, kind: crawl.Blocked, category: crawl.ErrBlockedAddress, idle: true},
		{name: "timeout", err: failed(fetcher.Timeout), kind: crawl.URLFailed, category: crawl.ErrTimeout},
		{name: "protocol", err: failed(fetcher.Protocol), kind: crawl.URLFailed, category: crawl.ErrProtocol},
		{name: "truncated", err: failed(fetcher.Truncated), kind: crawl.URLFailed, category: crawl.ErrTruncated},
		{name: "other", err: failed(fetcher.Other), kind: crawl.URLFailed, category: crawl.ErrOther},
		{name: "proxy", err: &fetcher.Error{Category: fetcher.Proxy, RetryAfter: 10 * time.Second, Err: errors.New("it is down")},
			kind: crawl.Aborted, category: crawl.ErrProxy, wait: 10 * time.Second, idle: true},
		{name: "proxy, no wait", err: failed(fetcher.Proxy), kind: crawl.Aborted, category: crawl.ErrProxy, wait: time.Second},
		{name: "taken back", err: &fetcher.Error{
			Category:  fetcher.Other,
			Contacted: true,
			Err:       fmt.Errorf("x: %w", context.Canceled),
		}, kind: crawl.Aborted, category: crawl.ErrOther},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, scope.Options{})
			b.rules.Settings.Archive = true
			if c.err != nil {
				b.fail("http://a.test/", c.err)
			} else {
				b.serve("http://a.test/", c.status, c.header, "text")
			}
			b.visit("http://a.test/",
				func(v *crawl.Visit) { v.Item.ETag, v.Item.LastModified = `"v"`, then })
			r, o := b.one()
			if r.Kind != c.kind || o.Kind != c.kind || o.Category != c.category || o.Status != c.status ||
				r.RetryAfter != c.wait || r.Requested == c.idle {
				t.Errorf("response %+v, outcome %+v", r, o)
			}
			if (o.Reason == "") != (c.kind == crawl.Fetched) {
				t.Errorf("reason %q", o.Reason)
			}
			if archived := len(b.captures) > 0; archived != (c.kind == crawl.Fetched) {
				t.Errorf("archived: %v", archived)
			}
			if b.asked[0].ETag != `"v"` || b.asked[0].UserAgent != "crawlnode/test" ||
				c.status == 304 && (o.ETag != `"v"` || o.LastMod != then) {
				t.Errorf("request %+v, outcome's tag %q %q", b.asked[0], o.ETag, o.LastMod)
			}
		})
	}
}

// A usable answer is archived, and its defects are noted.
func TestRemarks(t *testing.T) {
	t.Parallel()
	b := newBench(t, scope.Options{})
	b.rules.Settings.Archive = true
	b.web["http://a.test/"] = func(fetcher.Request) (*fetcher.Response, error) {
		r := answer(200, "", "text")
		r.DecodeErr = errors.New("bad bits")
		r.TLS = &fetcher.TLSInfo{Err: errors.New("it expired")}
		return r, nil
	}
	b.visit("http://a.test/")
	_, o := b.one()
	if o.Kind != crawl.Fetched || o.Category != crawl.ErrTLS ||
		o.Reason != "the payload could not be decoded whole: bad bits; "+
			"fetched in spite of its certificate: it expired" {
		t.Errorf("outcome %+v", o)
	}
	if len(b.captures) != 1 || b.captures[0].Certificate != "it expired" {
		t.Errorf("captures %+v", b.captures)
	}
}

// TestCutIsNoContent: the payload of a page that was cut is never taken for content that other
// pages may share, whatever has cut it, and the capture says why.
func TestCutIsNoContent(t *testing.T) {
	t.Parallel()
	for _, cut := range []fetcher.Cut{"", fetcher.CutLength, fetcher.CutTime, fetcher.CutDisconnect} {
		b := newBench(t, scope.Options{})
		b.rules.Settings.Archive = true
		b.web["http://a.test/"] = func(fetcher.Request) (*fetcher.Response, error) {
			r := answer(200, "", `<a href="/x">some text of the page</a>`)
			r.Truncated = cut
			return r, nil
		}
		b.visit("http://a.test/")
		_, o := b.one()
		if o.Kind != crawl.Fetched || o.Truncated != string(cut) || len(o.Targets) != 1 ||
			(o.Reason == "") != (cut == "") {
			t.Errorf("cut %q: %+v", cut, o)
		}
		if len(b.captures) != 1 || b.captures[0].Truncated != string(cut) {
			t.Errorf("cut %q: %d captures", cut, len(b.captures))
		}
		for _, q := range b.questions {
			if q.Countable != (cut == "") {
				t.Errorf("cut %q: countable %t", cut, q.Countable)
			}
		}
	}
}

// TestBlockedLiteral: a denied literal address is final, as DNS cannot change it.
func TestBlockedLiteral(t *testing.T) {
	t.Parallel()
	for url, blocked := range map[string]bool{
		"http://10.0.0.1/":  true,
		"http://[fd12::1]/": true,
		"http://a.test/":    false,
	} {
		want := crawl.HostFailed
		if blocked {
			want = crawl.Blocked
		}
		b := newBench(t, scope.Options{})
		b.visit(url, func(v *crawl.Visit) { v.Addr, v.NoAddr = netip.Addr{}, crawl.ErrRefused })
		if r, o := b.one(); r.Kind != want || o.Kind != want || o.Category != crawl.ErrBlockedAddress {
			t.Errorf("%s has no address that may be asked: %+v, %+v", url, r, o)
		}
		b = newBench(t, scope.Options{})
		b.fail(url, &fetcher.Error{Category: fetcher.BlockedAddress, Err: errors.New("denied")})
		b.visit(url)
		if r, o := b.one(); r.Kind != want || o.Kind != want || o.Category != crawl.ErrBlockedAddress ||
			r.Requested {
			t.Errorf("%s is denied: %+v, %+v", url, r, o)
		}
	}
}

func TestNoAddress(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		cause    error
		category crawl.ErrCategory
		reason   string
	}{
		{nil, crawl.ErrDNS, "the host has no address"},
		{errors.New("no such name"), crawl.ErrDNS, "the host has no address: no such name"},
		{fmt.Errorf("%w: no contact", crawl.ErrRefused), crawl.ErrBlockedAddress,
			"the host has no address that may be asked: refused: no contact"},
	} {
		b := newBench(t, scope.Options{})
		b.visit("http://a.test/", func(v *crawl.Visit) { v.Addr, v.NoAddr = netip.Addr{}, c.cause })
		r, o := b.one()
		if r.Kind != crawl.HostFailed || o.Category != c.category || o.Reason != c.reason ||
			r.Requested || len(b.asked) > 0 {
			t.Errorf("%v: response %+v, outcome %+v", c.cause, r, o)
		}
	}
}

func TestRobotsCheck(t *testing.T) {
	t.Parallel()
	rules := func(body string) func(*crawl.Visit) {
		return func(v *crawl.Visit) {
			v.Robots = &crawl.Robots{
				Origin:  "http://a.test",
				Body:    []byte(body),
				Fetched: time.Now(),
				Expires: time.Now().Add(time.Hour),
			}
		}
	}
	for _, c := range []struct {
		body    string
		refused bool
	}{
		{"", false}, {"user-agent: *\ndisallow: /p", true}, {"user-agent: crawlnode\nallow: /\n\nuser-agent: *\ndisallow: /", false},
	} {
		b := newBench(t, scope.Options{})
		b.visit("http://a.test/private", rules(c.body))
		r, o := b.one()
		if refused := o.Kind == crawl.Refused; refused != c.refused || len(b.asked) > 0 == c.refused ||
			r.Requested == c.refused {
			t.Errorf("%q: response %+v, outcome %+v", c.body, r, o)
		}
		if c.refused && (o.Skip != crawl.SkipRobots || !strings.Contains(o.Reason, "/p")) {
			t.Errorf("outcome %+v", o)
		}
	}

	b := newBench(t, scope.Options{})
	b.visit("http://a.test/", func(v *crawl.Visit) { v.Robots.Verdict = crawl.RobotsDenyAll })
	if r, o := b.one(); o.Kind != crawl.HostFailed || r.Requested {
		t.Errorf("with an unreachable robots.txt: %+v", o)
	}

	// robots.txt may be ignored only for addresses in AllowNet.
	for _, net := range []string{"127.0.0.0/8", "10.0.0.0/8"} {
		b := newBench(t, scope.Options{})
		b.rules.Settings.RobotsIgnore = true
		b.rules.Settings.AllowNet = []netip.Prefix{netip.MustParsePrefix(net)}
		b.visit("http://a.test/private", rules("user-agent: *\ndisallow: /"))
		if _, o := b.one(); (o.Kind == crawl.Refused) != (net == "10.0.0.0/8") {
			t.Errorf("ignoring robots.txt in %s: %+v", net, o)
		}
	}
}

// TestTakenBack checks that a cancelled fetch is completed as such.
func TestTakenBack(t *testing.T) {
	t.Parallel()
	gone, cancel := context.WithCancel(context.Background())
	cancel()
	for _, change := range []func(*crawl.Visit){func(*crawl.Visit) {},
		func(v *crawl.Visit) { v.Robots = nil }} {
		b := newBench(t, scope.Options{})
		b.visit("http://a.test/", change)
		b.contexts[1] = gone
		if r, o := b.one(); r.Kind != crawl.Aborted || o.Kind != crawl.Aborted {
			t.Errorf("response %+v, outcome %+v", r, o)
		}
	}
}

// TestExcludedVisit checks that a visit that is only to be refused makes no request, whatever the
// rules are by then.
func TestExcludedVisit(t *testing.T) {
	t.Parallel()
	for kind, exclude := range map[crawl.Kind][]string{
		crawl.Refused: {"host:a.test"},
		crawl.Aborted: nil,
	} {
		b := newBench(t, scope.Options{Exclude: exclude})
		b.rules.Rejudge = true
		b.visit("http://a.test/", func(v *crawl.Visit) { v.Excluded, v.Addr = true, netip.Addr{} })
		if r, o := b.one(); r.Kind != kind || o.Kind != kind || r.Requested || b.asks > 0 {
			t.Errorf("excluded by %v: response %+v, outcome %+v, %d requests", exclude, r, o, b.asks)
		}
	}
}

// TestRightLost checks that a request without the right to fetch is not sent, that its visit ends
// as aborted, and that the earlier requests of the visit count.
func TestRightLost(t *testing.T) {
	t.Parallel()
	noRobots := func(v *crawl.Visit) { v.Robots = nil }
	for name, c := range map[string]struct {
		lost      int
		change    func(*crawl.Visit)
		sent      int
		requested bool
	}{
		"a page":                   {lost: 1, change: func(*crawl.Visit) {}},
		"robots.txt":               {lost: 1, change: noRobots},
		"a redirect of robots.txt": {lost: 2, change: noRobots, sent: 1, requested: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, scope.Options{})
			b.rules.Settings.Delay = time.Millisecond
			b.serve("http://a.test/robots.txt", 301, "Location: /r.txt", "")
			b.lost = c.lost
			b.visit("http://a.test/", c.change)
			r, o := b.one()
			if r.Kind != crawl.Aborted || o.Kind != crawl.Aborted || r.Requested != c.requested ||
				len(b.asked) != c.sent {
				t.Errorf("response %+v, outcome %+v, %d requests sent", r, o, len(b.asked))
			}
		})
	}
}

// TestStop checks that the end of the pipeline aborts a fetch and completes its visit.
func TestStop(t *testing.T) {
	t.Parallel()
	b := newBench(t, scope.Options{})
	ctx, cancel := context.WithCancel(context.Background())
	b.visit("http://a.test/")
	if err := b.runWith(ctx,
		fetchFunc(func(c context.Context, _ fetcher.Request) (*fetcher.Response, error) {
			cancel()
			<-c.Done()
			return nil, &fetcher.Error{Category: fetcher.Other, Contacted: true, Err: c.Err()}
		})); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(b.log, []string{"release aborted", "complete aborted"}) {
		t.Errorf("log %q", b.log)
	}
}

type fetchFunc func(context.Context, fetcher.Request) (*fetcher.Response, error)

func (f fetchFunc) Do(ctx context.Context, r fetcher.Request) (*fetcher.Response, error) {
	return f(ctx, r)
}

// TestStorageFails checks that nothing is done without its record, and that a
// storage error ends the pipeline.
func TestStorageFails(t *testing.T) {
	t.Parallel()
	broken := errors.New("disk full")
	b := newBench(t, scope.Options{})
	b.rules.Settings.Archive = true
	b.archiveErr = broken
	b.serve("http://a.test/", 200, "", "x")
	b.visit("http://a.test/")
	if err := b.run(); !errors.Is(err, broken) {
		t.Errorf("error %v", err)
	}
	if len(b.outcomes) != 1 || b.outcomes[0].Kind != crawl.Aborted || len(b.releases) != 1 {
		t.Errorf("outcomes %+v", b.outcomes)
	}

	b = newBench(t, scope.Options{})
	b.completeErr = broken
	b.visit("http://a.test/")
	b.visit("http://a.test/2")
	if err := b.run(); !errors.Is(err, broken) || len(b.outcomes) != 1 {
		t.Errorf("error %v, %d outcomes", err, len(b.outcomes))
	}
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		"": 0, "0": 0, " 120 ": 2 * time.Minute, "1.5": 2 * time.Second, "1.0": time.Second, "-5": 0,
		"+5": 0, "5s": 0, "soon": 0, ".": 0, "1.": 0,
		"99999999999999999999999": maxRetryAfter, "9999999999": maxRetryAfter,
		"Sun, 01 Nov 2026 12:00:30 GMT": 30 * time.Second, "Sun, 01 Nov 2026 11:00:00 GMT": 0,
		"Sunday, 01-Nov-26 12:01:00 GMT": time.Minute, "Sun Nov  1 12:00:05 2026": 5 * time.Second,
		"Sun, 01 Nov 9999 12:00:30 GMT": maxRetryAfter,
	} {
		if got := retryAfter(value, now); got != want {
			t.Errorf("Retry-After %q = %v, want %v", value, got, want)
		}
	}
}

// A date in Retry-After gives the same wait on a node whose clock is two hours ahead or behind.
func TestAskedWaitGoesByTheServersClock(t *testing.T) {
	t.Parallel()
	server := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	for _, off := range []time.Duration{0, 2 * time.Hour, -2 * time.Hour} {
		h := http.Header{
			"Date":        {server.Format(http.TimeFormat)},
			"Retry-After": {server.Add(time.Minute).Format(http.TimeFormat)},
		}
		if got := askedWait(h, server.Add(off)); got != time.Minute {
			t.Errorf("a clock that is %v off: %v", off, got)
		}
		h.Set("Date", "today")
		if got, want := askedWait(h, server.Add(off)), max(time.Minute-off, 0); got != want {
			t.Errorf("a clock that is %v off, and a server that tells no time: %v, want %v", off, got, want)
		}
		h.Set("Retry-After", "90")
		if got := askedWait(h, server.Add(off)); got != 90*time.Second {
			t.Errorf("a clock that is %v off: %v for 90 s", off, got)
		}
	}
}

func FuzzRetryAfter(f *testing.F) {
	for _, s := range []string{"", "120", "1.5", "99999999999999999999",
		"Sun, 01 Nov 2026 12:00:30 GMT", "-1"} {
		f.Add(s, int64(1e9))
	}
	f.Fuzz(func(t *testing.T, s string, unix int64) {
		if d := retryAfter(s, time.Unix(unix%(1<<40), 0)); d < 0 || d > maxRetryAfter {
			t.Fatalf("Retry-After %q = %v", s, d)
		}
	})
}

// TestManyWorkers checks that each of many concurrent visits is released and completed once.
func TestManyWorkers(t *testing.T) {
	t.Parallel()
	const n = 300
	b := newBench(t, scope.Options{})
	for i := range n {
		b.serve(fmt.Sprintf("http://a.test/%d", i), 200, "", fmt.Sprintf(`<a href="/l%d">`, i))
		b.visit(fmt.Sprintf("http://a.test/%d", i))
	}
	p := New(Options{
		Workers: 8,
		Source:  b,
		Sink:    b,
		Archive: b,
		Fetcher: b,
		Rules:   func() *Rules { return &b.rules },
	})
	if err := p.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, o := range b.outcomes {
		for _, l := range o.Targets {
			found[l.URL.String()] = true
		}
	}
	if len(b.releases) != n || len(b.outcomes) != n || len(found) != n {
		t.Errorf("%d releases, %d outcomes, %d links of %d visits", len(b.releases), len(b.outcomes),
			len(found), n)
	}
}
