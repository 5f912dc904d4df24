package pipeline

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"crawlnode/crawl"
	"crawlnode/web/fetcher"
	"crawlnode/web/scope"
	"crawlnode/web/urlnorm"
)

// again queues the same visit once more.
func again(b *bench) { b.visit("http://a.test/page", noRobots) }

// TestRobotsElsewhere follows a robots.txt to another host. The visit ends while the file is on its
// way, and the rules apply to the first host.
func TestRobotsElsewhere(t *testing.T) {
	t.Parallel()
	fetched := time.Now().Add(-5 * time.Minute)
	for name, c := range map[string]struct {
		answers map[string]crawl.RobotsAnswer
		kind    crawl.Kind
		verdict crawl.RobotsVerdict
		reason  string
		class   crawl.ErrCategory
	}{
		"rules": {answers: map[string]crawl.RobotsAnswer{
			"http://b.test/x.txt": {
				At:     fetched,
				Status: 200,
				Body:   []byte("user-agent: *\ndisallow: /page\ncrawl-delay: 7"),
			},
		}, kind: crawl.RobotsFetched, verdict: crawl.RobotsRules},
		"none": {answers: map[string]crawl.RobotsAnswer{
			"http://b.test/x.txt": {At: fetched, Status: 404},
		}, kind: crawl.RobotsFetched, verdict: crawl.RobotsAllowAll},
		"broken server": {answers: map[string]crawl.RobotsAnswer{
			"http://b.test/x.txt": {At: fetched, Status: 503},
		}, kind: crawl.HostFailed, reason: "answered 503", class: crawl.ErrOther},
		"no answer": {answers: map[string]crawl.RobotsAnswer{
			"http://b.test/x.txt": {At: fetched, Failure: "connect: refused"},
		}, kind: crawl.HostFailed, reason: "http://b.test/x.txt, where it redirects to: connect: refused",
			class: crawl.ErrConnect},
		"no address": {answers: map[string]crawl.RobotsAnswer{
			"http://b.test/x.txt": {At: fetched, Failure: "the host has no address: NXDOMAIN"},
		}, kind: crawl.HostFailed, reason: "the host has no address: NXDOMAIN", class: crawl.ErrDNS},
		"no address that may be asked": {answers: map[string]crawl.RobotsAnswer{
			"http://b.test/x.txt": {
				At:      fetched,
				Failure: "the host has no address that may be asked: 10.0.0.1",
			},
		}, kind: crawl.HostFailed, reason: "10.0.0.1", class: crawl.ErrBlockedAddress},
		"on to a third": {answers: map[string]crawl.RobotsAnswer{
			"http://b.test/x.txt":  {At: fetched, Status: 301, Location: "//c.test/y.txt"},
			"http://c.test/y.txt":  {At: fetched, Status: 307, Location: "/z.txt"},
			"http://c.test/z.txt":  {At: fetched, Status: 308, Location: "https://b.test/z.txt"},
			"https://b.test/z.txt": {At: fetched, Status: 200, Body: []byte("user-agent: *\ndisallow: /")},
		}, kind: crawl.RobotsFetched, verdict: crawl.RobotsRules},
		"six redirects": {answers: map[string]crawl.RobotsAnswer{
			"http://b.test/x.txt":  {At: fetched, Status: 302, Location: "/1"},
			"http://b.test/1":      {At: fetched, Status: 302, Location: "/2"},
			"http://b.test/2":      {At: fetched, Status: 302, Location: "/3"},
			"http://b.test/3":      {At: fetched, Status: 302, Location: "/4"},
			"http://b.test/4":      {At: fetched, Status: 302, Location: "/5"},
			"http://b.test/5":      {At: fetched, Status: 200, Body: []byte("user-agent: *\ndisallow: /")},
			"http://b.test/unused": {},
		}, kind: crawl.RobotsFetched, verdict: crawl.RobotsAllowAll},
		"to nowhere": {answers: map[string]crawl.RobotsAnswer{
			"http://b.test/x.txt": {At: fetched, Status: 302, Location: "gopher://c.test/"},
		}, kind: crawl.RobotsFetched, verdict: crawl.RobotsAllowAll},
	} {
		b := newBench(t, scope.Options{})
		b.serve("http://a.test/robots.txt", 302, "Location: http://b.test/x.txt", "")
		again(b)
		if r, o := b.one(); r.Kind != crawl.RobotsPending || o.Kind != crawl.RobotsPending ||
			!r.Requested || o.Status != 302 || r.Robots != nil {
			t.Fatalf("%s: first visit %+v, %+v", name, r, o)
		}
		b.elsewhere = c.answers
		again(b)
		if err := b.run(); err != nil {
			t.Fatal(err)
		}
		r, o := b.releases[1], b.outcomes[1]
		if r.Kind != c.kind || o.Kind != c.kind || r.Requested || !strings.Contains(o.Reason, c.reason) ||
			o.Category != c.class {
			t.Errorf("%s: %+v, %+v", name, r, o)
		}
		if got := len(b.asked); got != 1 {
			t.Errorf("%s: %d requests of the first host", name, got)
		}
		if len(b.p.robotsChains.byOrigin) != 0 {
			t.Errorf("%s: the trail is still there", name)
		}
		if c.kind != crawl.RobotsFetched {
			continue
		}
		if e := o.Robots; e.Origin != "http://a.test" || e.Verdict != c.verdict ||
			!e.Expires.Equal(fetched.Add(24*time.Hour)) {
			t.Errorf("%s: %+v", name, e)
		}
	}
}

// TestRobotsThereAndBack: the redirects come back to the host. Its own hops are requests in its
// turn, with its gap, and all redirects count together.
func TestRobotsThereAndBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, scope.Options{})
		b.serve("http://a.test/robots.txt", 302, "Location: http://b.test/1", "")
		b.elsewhere = map[string]crawl.RobotsAnswer{
			"http://b.test/1": {Status: 302, Location: "http://a.test/2"},
			"http://b.test/4": {Status: 302, Location: "http://a.test/5"},
		}
		b.serve("http://a.test/2", 302, "Location: /3", "")
		b.serve("http://a.test/3", 302, "Location: http://b.test/4", "")
		b.serve("http://a.test/5", 200, "", "user-agent: *\ndisallow: /")
		again(b)
		start := time.Now()
		_, o := b.one()
		if o.Kind != crawl.RobotsFetched || o.Robots.Verdict != crawl.RobotsRules {
			t.Errorf("%+v", o)
		}
		if got := time.Since(start); got != 3*time.Second {
			t.Errorf("four requests of one host in %v, with a gap of a second", got)
		}
		want := []string{"fetch http://a.test/robots.txt", "ask for http://b.test/1",
			"fetch http://a.test/2", "fetch http://a.test/3",
			"ask for http://b.test/4", "fetch http://a.test/5", "release robots_fetched",
			"complete robots_fetched"}
		if !slices.Equal(b.log, want) {
			t.Errorf("log %q", b.log)
		}
	})
}

// TestRobotsElsewhereTakesTooLong: the chain is given up, and starts again from the host's own
// file.
func TestRobotsElsewhereTakesTooLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, scope.Options{})
		b.serve("http://a.test/robots.txt", 302, "Location: http://b.test/x.txt", "")
		for range 4 {
			again(b)
			if err := b.run(); err != nil {
				t.Fatal(err)
			}
			time.Sleep(robotsChainLife/2 + time.Second)
		}
		var kinds []crawl.Kind
		for _, r := range b.releases {
			kinds = append(kinds, r.Kind)
		}
		if want := []crawl.Kind{crawl.RobotsPending, crawl.RobotsPending, crawl.HostFailed,
			crawl.RobotsPending}; !slices.Equal(kinds, want) {
			t.Errorf("kinds %v, want %v", kinds, want)
		}
		if got := b.outcomes[2].Category; got != crawl.ErrTimeout {
			t.Errorf("given up as %v", got)
		}
		if len(b.asked) != 2 {
			t.Errorf("%d requests of the first host", len(b.asked))
		}
	})
}

// TestRobotsFetchForAnother makes the request that another host's robots.txt needs.
func TestRobotsFetchForAnother(t *testing.T) {
	t.Parallel()
	elsewhere := func(v *crawl.Visit) { v.Robots, v.Item.Via = nil, crawl.ViaRobots }
	for name, c := range map[string]struct {
		status       int
		header, body string
		err          error
		kind         crawl.Kind
		want         crawl.RobotsAnswer
	}{
		"file": {
			status: 200,
			body:   "user-agent: *",
			kind:   crawl.RobotsFetched,
			want:   crawl.RobotsAnswer{Status: 200, Body: []byte("user-agent: *")},
		},
		"none": {
			status: 404,
			body:   "nothing",
			kind:   crawl.RobotsFetched,
			want:   crawl.RobotsAnswer{Status: 404},
		},
		"redirect": {
			status: 301,
			header: "Location: /y",
			kind:   crawl.RobotsFetched,
			want:   crawl.RobotsAnswer{Status: 301, Location: "/y"},
		},
		"busy": {
			status: 503,
			header: "Retry-After: 9",
			kind:   crawl.RateLimited,
			want:   crawl.RobotsAnswer{Status: 503},
		},
		"refused": {
			err:  &fetcher.Error{Category: fetcher.Connect, Err: errors.New("refused")},
			kind: crawl.HostFailed,
			want: crawl.RobotsAnswer{Failure: "connect: refused"},
		},
	} {
		b := newBench(t, scope.Options{})
		if c.err != nil {
			b.fail("http://a.test/x", c.err)
		} else {
			b.serve("http://a.test/x", c.status, c.header, c.body)
		}
		b.visit("http://a.test/x", elsewhere)
		r, o := b.one()
		if r.Kind != c.kind || o.Answer == nil || len(o.Targets) != 0 ||
			b.asked[0].MaxBody != maxRobotsBytes {
			t.Errorf("%s: %+v, %+v", name, r, o)
			continue
		}
		a := *o.Answer
		a.At = time.Time{}
		if fmt.Sprintf("%+v", a) != fmt.Sprintf("%+v", c.want) {
			t.Errorf("%s: %+v, want %+v", name, a, c.want)
		}
	}
}

func TestTrailsAreBounded(t *testing.T) {
	t.Parallel()
	var ts robotsChains
	now := time.Now()
	u, err := urlnorm.Parse("http://b.test/")
	if err != nil {
		t.Fatal(err)
	}
	for i := range maxRobotsChains {
		ts.put(fmt.Sprint("old", i), robotsChain{next: u, until: now}, now.Add(-2*robotsChainLife))
	}
	for i := range maxRobotsChains + 10 {
		ts.put(fmt.Sprint("new", i), robotsChain{next: u, hop: 3, until: now.Add(time.Second)}, now)
	}
	if n := len(ts.byOrigin); n > maxRobotsChains || n < maxRobotsChains/2 {
		t.Errorf("%d trails", n)
	}
	if _, ok := ts.get("old1", now); ok {
		t.Error("an old trail is followed")
	}
	if tr, ok := ts.get(fmt.Sprint("new", maxRobotsChains+9), now); !ok || tr.hop != 3 {
		t.Errorf("%+v, %v", tr, ok)
	}
}

// TestBigRobots cuts a file within a line; that line is ignored.
func TestBigRobots(t *testing.T) {
	t.Parallel()
	body := "user-agent: *\ndisallow: /first\n"
	body += strings.Repeat("#", maxRobotsBytes-1-len(body)-len("\ndisallow: /")) +
		"\ndisallow: /last\n"
	b := newBench(t, scope.Options{})
	b.serve("http://a.test/robots.txt", 200, "", body[:maxRobotsBytes]) // as the fetcher cuts it
	b.visit("http://a.test/page", noRobots)
	_, o := b.one()
	if string(o.Robots.Body) != "user-agent: *\ndisallow: /first\n" {
		t.Errorf("%q is kept", o.Robots.Body)
	}
}
