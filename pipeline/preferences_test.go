package pipeline

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"crawlnode/crawl"
	"crawlnode/web/fetcher"
	"crawlnode/web/preferences"
	"crawlnode/web/scope"
)

// said reads what was stored of a page's owner.
func said(t *testing.T, o *crawl.Outcome) string {
	t.Helper()
	r, err := preferences.Decode(o.Preferences)
	if err != nil {
		t.Fatal(err)
	}
	return r.Answers.String() + " | " + strings.Join(r.From(), "; ")
}

// ruled gives a visit the robots.txt and the tdmrep.json of its origin.
func ruled(robots, tdm string) func(*crawl.Visit) {
	return func(v *crawl.Visit) {
		v.Robots = &crawl.Robots{
			Origin:   "http://a.test",
			Verdict:  crawl.RobotsRules,
			Body:     []byte(robots),
			Fetched:  time.Now(),
			Expires:  time.Now().Add(time.Hour),
			TDM:      []byte(tdm),
			TDMAsked: tdm != "",
		}
	}
}

// TestPreferences: what an owner says at each level is stored with the visit and with the capture,
// and decides about the index and what is given away only when that is wanted.
func TestPreferences(t *testing.T) {
	t.Parallel()
	const robots, tdm = "User-agent: *\nContent-Signal: search=yes, ai-train=no\n",
		`[{"location":"/","tdm-reservation":1}]`
	for name, c := range map[string]struct {
		mode, purpose, header, head string
		want                        string
		out                         preferences.Purposes
	}{
		"ignored": {mode: "ignore", header: "X-Robots-Tag: noai", want: " | "},
		"marked": {header: "X-Robots-Tag: noarchive", head: `<meta name="robots" content="noai">`,
			want: "search=y, archive=n, ai-input=n, ai-train=n | robots.txt: Content-Signal: search=yes, " +
				"ai-train=no; " +
				"tdmrep.json: tdm-reservation: 1; header: X-Robots-Tag: noarchive; meta: robots: noai"},
		"obeyed": {mode: "obey", purpose: "archive,ai-input", header: "X-Robots-Tag: noarchive",
			want: "search=y, archive=n, ai-train=n | robots.txt: Content-Signal: search=yes, ai-train=no; " +
				"tdmrep.json: tdm-reservation: 1; header: X-Robots-Tag: noarchive",
			out: preferences.PurposesOf(preferences.Archive)},
	} {
		b := newBench(t, scope.Options{})
		b.rules.Settings.Archive, b.rules.Settings.Preferences, b.rules.Settings.Purpose = true, c.mode,
			c.purpose
		b.serve("http://a.test/", 200, c.header, "<head>"+c.head+"</head>")
		b.visit("http://a.test/", ruled(robots, tdm))
		_, o := b.one()
		if got := said(t, &o); got != c.want {
			t.Errorf("%s: got\n%s\nwant\n%s", name, got, c.want)
		}
		if o.LeftOut != c.out || b.captures[0].Preferences != o.Preferences {
			t.Errorf(
				"%s: left out for %v, want %v; the capture says %q",
				name,
				o.LeftOut,
				c.out,
				b.captures[0].Preferences,
			)
		}
	}
}

// TestPreferencesOfA304: the page's word stays, the site's is that of now.
func TestPreferencesOfA304(t *testing.T) {
	t.Parallel()
	b := newBench(t, scope.Options{})
	b.rules.Settings.Archive = true
	last := preferences.Of(
		preferences.Read(&preferences.Sources{Agent: "crawlnode", URL: "http://a.test/",
			Header: map[string][]string{
				"X-Robots-Tag":  {"noai"},
				"Content-Usage": {"search=y"},
			}}),
		"crawlnode",
	)
	b.read = map[string]crawl.Outcome{"http://a.test/": {Preferences: last.Encode()}}
	b.serveConditional("http://a.test/", "Content-Usage: search=n")
	b.visit(
		"http://a.test/",
		ruled("User-agent: *\nContent-Usage: train-ai=n\n", ""),
		func(v *crawl.Visit) { v.Item.ETag = `"1"` },
	)
	_, o := b.one()
	want := "search=n, ai-input=n, ai-train=n | robots.txt: Content-Usage: train-ai=n; header: " +
		"Content-Usage: search=n; " +
		"header: X-Robots-Tag: noai"
	if got := said(t, &o); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestTDMFile: a visit is spent on tdmrep.json when the crawl's purpose asks for it and robots.txt
// allows it. Whatever the server answers, the host's pages are visited afterwards.
func TestTDMFile(t *testing.T) {
	t.Parallel()
	const file = `[ {"location": "/a", "tdm-reservation": 1, "more": [1, 2]} ]`
	for name, c := range map[string]struct {
		purpose, robots string
		serve           func(*bench)
		asked           []string
		tdm             string
	}{
		"no such purpose": {purpose: "search", asked: []string{"/page"}},
		"forbidden": {
			purpose: "ai-train",
			robots:  "User-agent: *\nDisallow: /.well-known/\n",
			asked:   []string{"/page"},
		},
		"there": {purpose: "ai-input", serve: func(b *bench) {
			b.serve("http://a.test"+preferences.TDMPath, 200, "Content-Type: application/json", file)
		},
			asked: []string{preferences.TDMPath}, tdm: `[{"location":"/a","tdm-reservation":1}]`},
		"missing": {purpose: "ai-train", asked: []string{preferences.TDMPath}},
		"an error": {
			purpose: "ai-train",
			serve:   func(b *bench) { b.serve("http://a.test"+preferences.TDMPath, 500, "", "x") },
			asked:   []string{preferences.TDMPath},
		},
		"no answer": {purpose: "ai-train", serve: func(b *bench) {
			b.fail("http://a.test"+preferences.TDMPath,
				&fetcher.Error{Category: fetcher.Timeout, Contacted: true, Err: errors.New("late")})
		}, asked: []string{preferences.TDMPath}},
		"no JSON": {
			purpose: "ai-train",
			serve:   func(b *bench) { b.serve("http://a.test"+preferences.TDMPath, 200, "", "<html>") },
			asked:   []string{preferences.TDMPath},
		},
		"too long": {purpose: "ai-train", serve: func(b *bench) {
			b.serve("http://a.test"+preferences.TDMPath, 200, "",
				"["+strings.Repeat(" ", preferences.MaxTDMFile)+"]")
		}, asked: []string{preferences.TDMPath}},
	} {
		b := newBench(t, scope.Options{})
		b.rules.Settings.Purpose = c.purpose
		if c.serve != nil {
			c.serve(b)
		}
		b.visit("http://a.test/page", ruled(c.robots, ""))
		r, o := b.one()
		var asked []string
		for _, r := range b.asked {
			asked = append(asked, r.URL.String()[len("http://a.test"):])
		}
		if !slices.Equal(asked, c.asked) {
			t.Errorf("%s: %q were fetched, want %q", name, asked, c.asked)
		}
		if c.asked[0] == "/page" {
			continue
		}
		if r.Kind != crawl.RobotsFetched || o.Kind != crawl.RobotsFetched || o.Robots == nil ||
			r.Robots != o.Robots {
			t.Fatalf("%s: %+v, %+v", name, r, o)
		}
		if e := o.Robots; !e.TDMAsked || string(e.TDM) != c.tdm || string(e.Body) != c.robots ||
			e.Verdict != crawl.RobotsRules {
			t.Errorf("%s: stored %+v, %q, want %q", name, e, e.TDM, c.tdm)
		}
	}
}

// TestTDMRedirect: redirects of the file are followed within the host, after its gap.
func TestTDMRedirect(t *testing.T) {
	t.Parallel()
	b := newBench(t, scope.Options{})
	b.rules.Settings.Purpose, b.rules.Settings.Delay = "ai-train", time.Millisecond
	b.serve("http://a.test"+preferences.TDMPath, 301, "Location: /tdm.json", "")
	b.serve(
		"http://a.test/tdm.json",
		200,
		"Content-Type: application/json",
		`[{"location":"/","tdm-reservation":0}]`,
	)
	b.visit("http://a.test/page", ruled("", ""))
	_, o := b.one()
	if o.Robots == nil || string(o.Robots.TDM) != `[{"location":"/","tdm-reservation":0}]` {
		t.Errorf("%+v", o)
	}
}

// TestTDMTrouble: what goes wrong with the file leaves what is known of it, slows the host down as
// elsewhere, and leads nowhere but within the origin and robots.txt.
func TestTDMTrouble(t *testing.T) {
	t.Parallel()
	const known = `[{"location":"/","tdm-reservation":1}]`
	const at = "http://a.test" + preferences.TDMPath
	for name, c := range map[string]struct {
		serve func(*bench)
		kind  crawl.Kind // of the response
		tdm   string
		asked int
	}{
		"limited": {func(b *bench) { b.serve(at, 429, "Retry-After: 7", "") },
			crawl.RateLimited, known, 1},
		"unavailable": {func(b *bench) { b.serve(at, 503, "", "") }, crawl.RateLimited, known,
			1},
		"an error": {func(b *bench) { b.serve(at, 500, "", "") }, crawl.RobotsFetched,
			known, 1},
		"gone": {func(b *bench) { b.serve(at, 410, "", "") }, crawl.RobotsFetched, "",
			1},
		"another host": {func(b *bench) { b.serve(at, 302, "Location: http://b.test/x", "") },
			crawl.RobotsFetched, "", 1},
		"what robots.txt forbids": {func(b *bench) { b.serve(at, 302, "Location: /private/x", "") },
			crawl.RobotsFetched, "", 1},
		"a kept connection": {func(b *bench) {
			b.fail(at, &fetcher.Error{
				Category:  fetcher.Truncated,
				Contacted: true,
				Reused:    true,
				Err:       errors.New("EOF"),
			})
		}, crawl.Lost, known, 1},
	} {
		b := newBench(t, scope.Options{})
		b.rules.Settings.Purpose = "ai-train"
		c.serve(b)
		b.visit(
			"http://a.test/page",
			ruled("User-agent: *\nDisallow: /private/\n", ""),
			func(v *crawl.Visit) { v.Robots.TDM = []byte(known) },
		)
		r, o := b.one()
		if r.Kind != c.kind || len(b.asked) != c.asked {
			t.Errorf("%s: %v, %d requests", name, r.Kind, len(b.asked))
		}
		if c.kind == crawl.Lost {
			if o.Kind != crawl.Lost || o.Robots != nil {
				t.Errorf("%s: %+v", name, o)
			}
			continue
		}
		if o.Kind != crawl.RobotsFetched || o.Robots == nil || !o.Robots.TDMAsked ||
			string(o.Robots.TDM) != c.tdm {
			t.Errorf("%s: %v, %+v, want %q", name, o.Kind, o.Robots, c.tdm)
		}
	}
}

// TestUnreadPreferences: a 304 of a page whose own word nobody has read says so; one that was read
// and says nothing does not. A page that is refused to the index has no basis, so that it is read
// again.
func TestUnreadPreferences(t *testing.T) {
	t.Parallel()
	for last, want := range map[string]bool{"": true, preferences.Record{}.Encode(): false} {
		b := newBench(t, scope.Options{})
		b.read = map[string]crawl.Outcome{"http://a.test/": {Preferences: last}}
		b.serveConditional("http://a.test/", "")
		b.visit("http://a.test/", func(v *crawl.Visit) { v.Item.ETag = `"1"` })
		if _, o := b.one(); o.PreferencesUnread != want {
			t.Errorf("%q: unread %v, want %v", last, o.PreferencesUnread, want)
		}
	}
	for header, want := range map[string]bool{
		"Content-Usage: search=y": true,
		"Content-Usage: search=n": false,
	} {
		b := newBench(t, scope.Options{})
		b.rules.Basis, b.rules.Settings.Index, b.rules.Settings.Preferences = 7, true, "obey"
		b.serve("http://a.test/", 200, header, "<p>text")
		b.visit("http://a.test/")
		if _, o := b.one(); o.Basis != 0 != want {
			t.Errorf("%s: basis %v", header, o.Basis)
		}
	}
}
