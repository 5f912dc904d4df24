package render

import (
	"strings"
	"testing"

	"crawlnode/crawl"
	"crawlnode/render/browser"
	"crawlnode/web/htmlparse"
	"crawlnode/web/urlnorm"
)

// TestAuto: a page is decided about when it is parsed, and what the browser adds to the first ones
// decides about the rest.
func TestAuto(t *testing.T) {
	t.Parallel()
	const app, static = `<div id="app"></div><script src="/app.js"></script>`, `<p>no script here`
	long := strings.Repeat("words of a page ", 50)
	for _, c := range []struct {
		name, html string
		text       string
		result     browser.Result
		shown      int // of 10 pages
		last       string
	}{
		{"static", static, "", browser.Result{}, 0, "no script"},
		{"long", "<script></script>" + long, long, browser.Result{}, 0, "without scripts"},
		{"application", app, "", browser.Result{Text: long}, 10, "#app"},
		{"application of links", app, "", browser.Result{Links: []string{"http://a.test/other"}}, 10, "#app"},
		{"nothing new", app, "", browser.Result{
			Text:  "Cookies?",
			Links: []string{"http://a.test/known", "http://a.test/p/1#top", "http://b.test/", "mailto:x"},
		}, 3, "neither text nor links"},
	} {
		s := crawl.Settings{Render: crawl.RenderAuto}
		r, shown, last := rig(t, s), 0, ""
		for range 10 {
			p := showing(t, "http://a.test/p/1")
			p.Body = []byte(c.html)
			place, wait := r.Reserve(p.Visit, &s)
			if wait != 0 ||
				(place != nil) != (shown > 0 && last != "" && strings.Contains(c.last, "#app")) &&
					c.name != "nothing new" {
				t.Errorf("%s: place %v after %d pages were shown", c.name, place, shown)
			}
			d, known := r.Decide(p, nil, &s)
			if !known {
				doc := &htmlparse.Document{
					Text:  []byte(c.text),
					Links: []htmlparse.Link{{URL: url(t, "http://a.test/known")}},
				}
				d, known = r.Decide(p, doc, &s)
			}
			if last = d.Reason; !known {
				t.Errorf("%s: not decided", c.name)
			}
			if d.Rendered {
				shown++
				r.learn(p, &c.result)
			}
			if place != nil {
				place.Release()
			}
		}
		if shown != c.shown || !strings.Contains(last, c.last) {
			t.Errorf("%s: %d shown, the last because of %q", c.name, shown, last)
		}
	}
}

// TestAutoOfAPageThatCannotBeParsed: it is taken as it is. One that a pattern names teaches
// nothing.
func TestAutoOfAPageThatCannotBeParsed(t *testing.T) {
	t.Parallel()
	s := crawl.Settings{Render: crawl.RenderAuto, RenderMatch: []string{"prefix:http://a.test/app"}}
	r := rig(t, s)
	p := showing(t, "http://a.test/x")
	p.Body = []byte("<script>")
	if d, known := r.Decide(p, nil, &s); known || d.Rendered || d.Reason == "" {
		t.Errorf("%+v, %v", d, known)
	}
	p = showing(t, "http://a.test/app/1")
	if d, known := r.Decide(p, nil, &s); !known || !d.Rendered || p.Note != nil {
		t.Errorf("%+v, %v", d, known)
	}
	r.learn(p, &browser.Result{})
}

// TestGained: white space is no text.
func TestGained(t *testing.T) {
	t.Parallel()
	s := &seen{text: 1000, links: map[urlnorm.URL]struct{}{}}
	for text, want := range map[string]bool{
		strings.Repeat("word ", 200) + strings.Repeat("\n \t", 1000): false,
		strings.Repeat("word ", 219):                                 false,
		strings.Repeat("word ", 221):                                 true,
	} {
		if got := s.gained(url(t, "http://a.test/"), &browser.Result{Text: text}); got != want {
			t.Errorf("%d bytes: %v", len(text), got)
		}
	}
}
