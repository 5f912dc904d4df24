package render

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"crawlnode/crawl"
	"crawlnode/peer"
	"crawlnode/pipeline"
	"crawlnode/render/browser"
	"crawlnode/web/scope"
	"crawlnode/web/urlnorm"
)

// rig is a Renderer by some rules, which never starts a browser.
func rig(t *testing.T, s crawl.Settings) *Renderer {
	t.Helper()
	rules := &pipeline.Rules{Settings: s}
	var err error
	if rules.Scope, err = scope.Compile(scope.Options{Mode: scope.Host}); err != nil {
		t.Fatal(err)
	}
	rules.Seeds = scope.NewSeeds([]string{rules.Scope.EntryOf(url(t, "http://a.test/")),
		rules.Scope.EntryOf(url(t, "http://b.test/"))})
	if len(s.RenderMatch) > 0 {
		if rules.RenderMatch, err = scope.Compile(scope.Options{
			Mode:    scope.Any,
			Include: s.RenderMatch,
		}); err != nil {
			t.Fatal(err)
		}
	}
	r, err := New(Options{
		Self:       "me",
		Dir:        t.TempDir() + "/browser",
		Renderers:  1,
		Fetchers:   8,
		CacheBytes: 1 << 20,
		Node:       &fakeNode{t: t, rules: rules},
	})
	if err != nil {
		t.Fatal(err)
	}
	r.browser = "/usr/bin/some-browser"
	t.Cleanup(r.Close)
	return r
}

// fakeNode is a node as its Renderer sees it.
type fakeNode struct {
	t     *testing.T
	rules *pipeline.Rules
	all   atomic.Pointer[crawl.NodeID] // who holds all partitions; nil: me does, but for your
	your  map[crawl.Partition]bool     // you hold them; not changed
	you   *Renderer                    // nil: you refuse all calls
	calls atomic.Int32
}

func nodeOf(r *Renderer) *fakeNode { return r.o.Node.(*fakeNode) }

// give has one node hold all partitions.
func (n *fakeNode) give(to crawl.NodeID) { n.all.Store(&to) }

func (n *fakeNode) Rules() *pipeline.Rules { return n.rules }
func (n *fakeNode) Partitions() int        { return 1024 }
func (n *fakeNode) Look()                  {}

func (n *fakeNode) Holder(p crawl.Partition) crawl.NodeID {
	if all := n.all.Load(); all != nil {
		return *all
	}
	if n.your[p] {
		return "you"
	}
	return "me"
}

func (n *fakeNode) Call(
	ctx context.Context,
	to crawl.NodeID,
	req *peer.PartRequest,
) (*peer.PartReply, error) {
	n.calls.Add(1)
	if to != "you" {
		n.t.Errorf("asks %s", to)
	}
	if n.you == nil {
		return nil, status.Error(codes.InvalidArgument, "refused")
	}
	return n.you.Serve(ctx, req)
}

func showing(t *testing.T, u string) *pipeline.Showing {
	return &pipeline.Showing{Visit: visit(url(t, u), 1), Status: 200, Body: []byte("<p>page")}
}

// TestPlacesAreBounded: without a place, hosts are asked to wait, and come back one after the
// other.
func TestPlacesAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := crawl.Settings{Render: crawl.RenderAll}
		r := rig(t, s)
		v := visit(url(t, "http://a.test/"), 1)
		var places []pipeline.RenderSlot
		for range r.places {
			p, wait := r.Reserve(v, &s)
			if p == nil || wait != 0 {
				t.Fatalf("no place beside %d", len(places))
			}
			places = append(places, p)
		}
		if len(places) != 4 || r.Late(v) != nil { // half of the fetchers
			t.Errorf("%d places", len(places))
		}
		before := time.Duration(0)
		for range 100 {
			p, wait := r.Reserve(v, &s)
			if p != nil || wait < shortPause || wait <= before || wait > shortPause+100*pace {
				t.Fatalf("a pause of %v after one of %v", wait, before)
			}
			before = wait
		}
		for range 2 { // once
			places[0].Release()
		}
		if p := r.Late(v); p == nil || r.Late(v) != nil {
			t.Error("not one place was free")
		}
	})
}

func TestDecide(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name             string
		s                crawl.Settings
		no               bool // browser
		reserves, render bool
	}{
		{"all", crawl.Settings{Render: crawl.RenderAll}, false, true, true},
		{"named", crawl.Settings{Render: crawl.RenderAll, RenderMatch: []string{"prefix:http://a.test/app"}}, false, true, true},
		{"not named", crawl.Settings{Render: crawl.RenderAll, RenderMatch: []string{"prefix:http://a.test/other"}}, false, false, false},
		{"no browser", crawl.Settings{Render: crawl.RenderAll}, true, false, false},
	} {
		r := rig(t, c.s)
		if c.no {
			r.browser = ""
		}
		p := showing(t, "http://a.test/app/1")
		place, wait := r.Reserve(p.Visit, &c.s)
		if d, known := r.Decide(p, nil, &c.s); wait != 0 || (place != nil) != c.reserves ||
			d.Rendered != c.render || !known || d.Reason == "" {
			t.Errorf("%s: %v, %+v", c.name, place, d)
		}
	}
}

// TestAsk judges the requests of pages before anything waits.
func TestAsk(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		s        crawl.Settings
		q        browser.Request
		elsewher bool // another node holds all hosts
		refused  bool
		ended    bool // the page is
	}{
		{name: "script", q: browser.Request{URL: "http://a.test/x.js", Method: "GET", Kind: "Script"}},
		{name: "of another host in scope", q: browser.Request{URL: "http://b.test/x.js", Method: "GET", Kind: "Script"}},
		{name: "of a stranger", q: browser.Request{URL: "http://cdn.test/x.js", Method: "GET", Kind: "Script"}, refused: true},
		{
			name: "of a stranger, with assets",
			s:    crawl.Settings{Assets: true},
			q:    browser.Request{URL: "http://cdn.test/x.js", Method: "GET", Kind: "Script"},
		},
		{name: "picture", q: browser.Request{URL: "http://a.test/x.png", Method: "GET", Kind: "Image"}, refused: true},
		{
			name: "picture of a picture",
			s:    crawl.Settings{RenderScreenshot: true},
			q:    browser.Request{URL: "http://a.test/x.png", Method: "GET", Kind: "Image"},
		},
		{
			name:    "film",
			s:       crawl.Settings{RenderScreenshot: true},
			q:       browser.Request{URL: "http://a.test/x.mp4", Method: "GET", Kind: "Media"},
			refused: true,
		},
		{name: "post", q: browser.Request{URL: "http://a.test/x", Method: "POST", Kind: "XHR"}, refused: true},
		{name: "head", q: browser.Request{URL: "http://a.test/x", Method: "HEAD", Kind: "XHR"}, refused: true},
		{name: "no URL", q: browser.Request{URL: "http://[/", Method: "GET", Kind: "XHR"}, refused: true},
		{name: "favicon", q: browser.Request{URL: "http://a.test/favicon.ico", Method: "GET", Kind: "Other"}, refused: true},
		{
			name:     "its host has moved",
			q:        browser.Request{URL: "http://a.test/x.js", Method: "GET", Kind: "Script"},
			elsewher: true,
			refused:  true,
			ended:    true,
		},
		{
			name:     "another's host, of another",
			q:        browser.Request{URL: "http://b.test/x.js", Method: "GET", Kind: "Script"},
			elsewher: true,
			refused:  true,
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := rig(t, c.s)
			if c.elsewher {
				nodeOf(r).give("you")
			}
			page, end := context.WithCancelCause(t.Context())
			a := &asker{
				r:     r,
				page:  showing(t, "http://a.test/"),
				s:     &c.s,
				rules: r.o.Node.Rules(),
				end:   end,
			}
			done := make(chan error, 1)
			go func() { _, err := a.Fetch(t.Context(), c.q); done <- err }()
			synctest.Wait()
			serve(r.Parts, func(_ urlnorm.URL, _ int) *crawl.Outcome { return ok("x") })
			if err := <-done; (err != nil) != c.refused {
				t.Errorf("%s: %v", c.name, err)
			}
			if moved := errors.Is(context.Cause(page), pipeline.ErrMoved); moved != c.ended {
				t.Errorf("%s: the page is ended: %v", c.name, moved)
			}
		})
	}
}

// TestAskForThePage: a page that asks for itself gets what was fetched.
func TestAskForThePage(t *testing.T) {
	t.Parallel()
	r := rig(t, crawl.Settings{})
	a := &asker{
		r:     r,
		page:  showing(t, "http://a.test/page"),
		s:     &crawl.Settings{},
		rules: r.o.Node.Rules(),
	}
	if got, err := a.Fetch(t.Context(), browser.Request{
		URL:    "http://a.test/page",
		Method: "GET",
		Kind:   "XHR",
	}); err != nil || string(got.Body) != "<p>page" {
		t.Errorf("%+v, %v", got, err)
	}
	// A refusal of the crawl, by robots.txt for example, is one of the request.
	p, _, _, _ := r.Parts.want(1, url(t, "http://a.test/no.js"), time.Now()) //nolint:errcheck // there is room
	r.Parts.Begin(p.errand.URL, 1)
	r.Parts.Ended(visit(p.errand.URL, 1),
		&crawl.Outcome{Kind: crawl.Refused, Reason: "robots.txt says no"})
	if _, err := a.Fetch(t.Context(), browser.Request{
		URL:    "http://a.test/no.js",
		Method: "GET",
		Kind:   "Script",
	}); err == nil || err.Error() != "robots.txt says no" {
		t.Error(err)
	}
}

// TestMissing says what to do.
func TestMissing(t *testing.T) {
	t.Parallel()
	r := rig(t, crawl.Settings{})
	if r.Missing() != nil || r.Block() != nil {
		t.Error("nothing is missing, and nothing is shown")
	}
	r.browser = ""
	if err := r.Missing(); !errors.Is(err, ErrNoBrowser) {
		t.Error(err)
	}
	r.o.Browser = "/nowhere"
	if err := r.Missing(); !errors.Is(err, ErrNoBrowser) {
		t.Error(err)
	}
	if b := rig(t, crawl.Settings{Render: crawl.RenderAuto}).Block(); b == nil || b.Max != 1 {
		t.Errorf("%+v", b)
	}
}

// TestRouteIsShown: without the browser a route would be the frame once more, so neither a pattern
// nor what was learnt leaves it out.
func TestRouteIsShown(t *testing.T) {
	t.Parallel()
	for _, s := range []crawl.Settings{{Render: crawl.RenderAuto},
		{Render: crawl.RenderAll, RenderMatch: []string{"prefix:http://a.test/other"}}} {
		r := rig(t, s)
		p := showing(t, "http://a.test/app/1")
		p.Visit.Item.URL = p.Visit.Item.URL.WithRoute("/guide")
		place, _ := r.Reserve(p.Visit, &s)
		if d, known := r.Decide(p, nil, &s); place == nil || !d.Rendered || !known {
			t.Errorf("%s: %v, %+v", s.Render, place, d)
		}
	}
}
